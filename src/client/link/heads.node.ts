/**
 * The heads of devices' audit chains that this user has seen, as `{"sha256:<fingerprint>": "SEQ:HASH"}` in
 * `known_heads.json` (mode 0600) of the user's configuration directory. A device that shows less than it has shown
 * before, or something else in its place, has lost records or had them written anew; nobody can make it look otherwise
 * without this file.
 * Losing the file loses that memory and nothing else, so one that cannot be read is told and written anew.
 * Rules: docs/protocol.md, section 4 (16 and 17 of AuthResponse); docs/responses.md, section 7 (heads).
 * @module
 */
import { renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { formatJson } from '../../base/encoding/json-text.ts'
import { parseStrictJson } from '../../base/encoding/strict-json.ts'
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { makeDirectories, readBounded } from '../../base/files.node.ts'
import { type Environment, userConfigDirectory } from '../../base/user-directory.ts'
import { PIN_FILE_BYTES } from '../../limits.ts'

export type Head = { readonly sequence: number; readonly hash: string }

/** Where heads are remembered between connections. */
export type HeadStore = {
  load(fingerprint: string): Head | undefined
  /** Where a later one is remembered already, that stays. */
  save(fingerprint: string, head: Head): void
}

/**
 * What a head says beside the one that was seen before: one sentence where records are gone or were replaced.
 * A later head is believed: only the chain itself can show that it leads there.
 */
export function contradiction(known: Head | undefined, seen: Head): string | undefined {
  if (known === undefined || known.sequence < seen.sequence) return undefined
  const head = `${known.sequence}:${known.hash}`
  if (known.sequence > seen.sequence)
    return `The record of this device ends at ${seen.sequence}, and record ${known.sequence} was seen before: its end was cut off, or it was begun anew. Ask for sass-edge audit verify --head ${head} on the device.`
  return known.hash === seen.hash
    ? undefined
    : `Record ${seen.sequence} of this device is another one than was seen before: its record was written anew. Ask for sass-edge audit verify --head ${head} on the device.`
}

const FORM = /^([1-9][0-9]{0,15}):([0-9a-f]{64})$/

function readAll(path: string): Map<string, Head> {
  const heads = new Map<string, Head>()
  try {
    const read = readBounded(path, PIN_FILE_BYTES)
    const text = read.ok ? decodeUtf8(read.bytes) : undefined
    const parsed = text === undefined ? undefined : parseStrictJson(text, { size: PIN_FILE_BYTES, depth: 1 })
    if (parsed?.ok !== true || typeof parsed.value !== 'object' || parsed.value === null) return heads
    for (const [fingerprint, value] of Object.entries(parsed.value)) {
      const [, sequence, hash] = FORM.exec(String(value)) ?? []
      if (sequence !== undefined && hash !== undefined)
        heads.set(fingerprint, { sequence: Number(sequence), hash })
    }
  } catch {
    // Not there yet, or not to be read: nothing is remembered.
  }
  return heads
}

/** Heads in a file of the user; undefined without a configuration directory. What cannot be written is not remembered. */
export function fileHeads(environment: Environment): HeadStore | undefined {
  const directory = userConfigDirectory(environment)
  if (directory === undefined) return undefined
  const path = `${directory}/known_heads.json`
  return {
    load: (fingerprint) => readAll(path).get(fingerprint),
    save(fingerprint, { sequence, hash }) {
      const heads = readAll(path)
      if ((heads.get(fingerprint)?.sequence ?? 0) > sequence) return
      heads.set(fingerprint, { sequence, hash })
      const lines = [...heads].map(([name, head]) => [name, `${head.sequence}:${head.hash}`])
      const temporary = `${path}.${process.pid}`
      try {
        makeDirectories(dirname(path), 0o700)
        writeFileSync(temporary, `${formatJson(Object.fromEntries(lines))}\n`, { mode: 0o600 })
        // No sync: after a loss of power an older head is as true, and every connection would wait for it.
        renameSync(temporary, path)
      } catch {
        // The next connection compares with what was remembered before.
      }
    },
  }
}
