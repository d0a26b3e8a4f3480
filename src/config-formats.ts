/**
 * The text formats of the configuration: for each the check with its sentence, and where one exists the equivalent
 * pattern for the published schema. A check sees one string that is already known to be short enough.
 * Sources: RFC 8032 (keys), RFC 4291 and RFC 4632 (addresses and ranges), POSIX.1 chapter 8 (environment names).
 * @module
 */
import { decodeBase64Url } from './base/base64.ts'
import { checkPublicKey } from './base/ed25519-key.ts'
import { parseIpAddress, parseIpRange } from './base/ip-address.ts'
import { isName, NAME_PATTERN } from './base/name.ts'
import { KEY_FILE_BYTES } from './limits.ts'

/** What is wrong with a value, as the end of a sentence that begins with its path; the hint says what to write. */
export type Fault = { readonly problem: string; readonly hint?: string }
export type TextFormat = {
  readonly check: (text: string) => Fault | undefined
  /** ECMA-262, for the `pattern` of the schema; exact or wider than the check, never narrower. */
  readonly pattern?: string
}

const VARIABLE = /^(?:\*|[A-Za-z_][A-Za-z0-9_]*\*?)$/

/** Control characters, and halves of surrogate pairs, which have no UTF-8 form. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u

function checkName(text: string): Fault | undefined {
  if (isName(text)) return undefined
  return { problem: 'is not a valid name', hint: 'use 1 to 64 of the characters A-Z a-z 0-9 . _ -' }
}

function checkAddress(text: string): Fault | undefined {
  if (parseIpAddress(text) !== undefined) return undefined
  return {
    problem: 'is not an IP address',
    hint: 'write 127.0.0.1, 0.0.0.0, ::1 or ::; names are not resolved',
  }
}

function checkRange(text: string): Fault | undefined {
  if (text === '*') return undefined
  const result = parseIpRange(text)
  if (result.ok) return undefined
  return result.hint === undefined
    ? { problem: result.problem }
    : { problem: result.problem, hint: result.hint }
}

function checkKey(text: string): Fault | undefined {
  const key = decodeBase64Url(text, KEY_FILE_BYTES)
  if (key === undefined || key.length !== KEY_FILE_BYTES) {
    return {
      problem: 'is not a public key',
      hint: 'write its 32 bytes in base64url without padding: 43 characters',
    }
  }
  const verdict = checkPublicKey(key)
  if (verdict.ok) return undefined
  return {
    problem: `is not a usable Ed25519 public key: ${verdict.problem}`,
    hint: 'make a new one with sass-edge keygen',
  }
}

function checkCommand(text: string): Fault | undefined {
  if (UNPRINTABLE.test(text)) return { problem: 'holds a control character or half a surrogate pair' }
  if (text.trim() !== text || text === '')
    return { problem: 'is empty or has blanks at an end', hint: 'write "ls" or "git status"' }
  const program = text.split(' ', 1)[0] ?? ''
  if (program.includes('/') && !program.startsWith('/') && !program.startsWith('*')) {
    return {
      problem: 'names a program by a relative path, which would never match',
      hint: 'write its base name or its absolute path',
    }
  }
  return undefined
}

function checkVariable(text: string): Fault | undefined {
  if (VARIABLE.test(text)) return undefined
  return { problem: 'is not the name of an environment variable', hint: 'write LANG, LC_* or *' }
}

function checkPath(text: string): Fault | undefined {
  if (text === '')
    return { problem: 'is empty', hint: 'write an absolute path, or one relative to this file' }
  if (UNPRINTABLE.test(text)) return { problem: 'holds a control character or half a surrogate pair' }
  if (text === '~' || text.startsWith('~/'))
    return { problem: 'begins with ~, which is not expanded', hint: 'write the whole path' }
  if (text.startsWith('$') && text !== '$WORKSPACE') {
    return { problem: 'begins with a variable, which is not expanded', hint: 'write the whole path' }
  }
  return undefined
}

/** Every format by its name in the field table. */
export const TEXT_FORMATS = Object.freeze({
  name: { check: checkName, pattern: NAME_PATTERN },
  address: { check: checkAddress },
  range: { check: checkRange },
  'public-key': { check: checkKey, pattern: '^[A-Za-z0-9_-]{43}$' },
  command: { check: checkCommand, pattern: '^\\S(?:.*\\S)?$' },
  variable: { check: checkVariable, pattern: '^(?:\\*|[A-Za-z_][A-Za-z0-9_]*\\*?)$' },
  path: { check: checkPath },
} as const satisfies Record<string, TextFormat>)

export type TextFormatName = keyof typeof TEXT_FORMATS
