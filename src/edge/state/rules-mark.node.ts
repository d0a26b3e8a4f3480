/**
 * The digest of what is denied on this device, as it was when the daemon ran last: so that its start can say whether
 * somebody has changed the rules meanwhile. A file beside the record, which has the same digest for good; where it cannot
 * be read the start says that it is the first.
 * Rules: JF-040, JF-R41; docs/operations.md (reload).
 * @module
 */
import { join } from 'node:path'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { replaceFile } from '../../base/files.node.ts'
import { bytesAt } from '../../base/small-file.node.ts'

const NAME = 'rules.sha256'
const MODE = 0o600
const DIGEST = /^[0-9a-f]{64}\n$/
const FILE_BYTES = 65

/** How the rules of a start are to those of the run before. */
export type RulesMark = {
  readonly configuration: 'FIRST' | 'VALID' | 'DRIFT_DETECTED'
  /** Hexadecimal; undefined: there was none. */
  readonly before: string | undefined
}

function markIn(stateDirectory: string): string | undefined {
  const text = bytesAt(join(stateDirectory, NAME), FILE_BYTES, true)?.toString('latin1')
  return text !== undefined && DIGEST.test(text) ? text.trim() : undefined
}

/** @param digest SHA-256 of what is denied now, hexadecimal */
export function compareRules(stateDirectory: string, digest: string): RulesMark {
  const before = markIn(stateDirectory)
  const configuration = before === undefined ? 'FIRST' : before === digest ? 'VALID' : 'DRIFT_DETECTED'
  return { configuration, before }
}

/** For the next start. Where it cannot be written, that one compares with what is there. */
export function keepRulesMark(stateDirectory: string, digest: string): void {
  try {
    replaceFile(join(stateDirectory, NAME), encodeUtf8(`${digest}\n`), MODE)
  } catch {
    // The record has it.
  }
}
