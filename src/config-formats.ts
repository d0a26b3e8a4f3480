/**
 * The text formats of the configuration: for each the check with its sentence, and where one exists the equivalent
 * pattern for the published schema. A check sees one string that is already known to be short enough.
 * Sources: RFC 8032 (keys), RFC 4291 and RFC 4632 (addresses and ranges), POSIX.1 chapter 8 (environment names).
 * @module
 */
import { decodeBase64Url } from './base/base64.ts'
import { checkKeyEncoding } from './base/ed25519-encoding.ts'
import { parseIpAddress, parseIpRange } from './base/ip-address.ts'
import { isName, NAME_PATTERN } from './base/name.ts'
import { nearest } from './base/suggest.ts'
import { ALL_TOOLS, isTool, TOOLS } from './base/tool-name.ts'
import { KEY_FILE_BYTES } from './limits.ts'

/** What is wrong with a value, as the end of a sentence that begins with its path; the hint says what to write. */
export type Fault = { readonly problem: string; readonly hint?: string }
export type TextFormat = {
  readonly check: (text: string) => Fault | undefined
  /** ECMA-262, for the `pattern` of the schema; exact or wider than the check, never narrower. */
  readonly pattern?: string
}

const VARIABLE = /^(?:\*|[A-Za-z_][A-Za-z0-9_]*\*?)$/

const DIGEST = /^[0-9a-f]{64}$/
const RULE = /^[a-z0-9][a-z0-9.-]{0,126}[a-z0-9]$/

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
  const verdict = checkKeyEncoding(key)
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

function checkTool(text: string): Fault | undefined {
  if (text === ALL_TOOLS || isTool(text)) return undefined
  const meant = nearest(text, TOOLS)
  const hint = meant === undefined ? `use * or some of ${TOOLS.join(', ')}` : `did you mean "${meant}"?`
  return { problem: 'is not the name of a tool', hint }
}

function checkDigest(text: string): Fault | undefined {
  if (DIGEST.test(text)) return undefined
  return {
    problem: 'is not a SHA-256',
    hint: 'write its 64 lower-case hexadecimal digits, as sha256sum prints them',
  }
}

/** The draft's and the sources' own blocked commands are no programs alone: anything that can be seen. */
function checkBlocked(text: string): Fault | undefined {
  if (text.trim() === text && text !== '' && !UNPRINTABLE.test(text)) return undefined
  return { problem: 'is empty, has blanks at an end or holds a control character', hint: 'write "rm -rf"' }
}

/** Without a user: secrets do not belong into a configuration that is shown. */
const WEB_ADDRESS = /^https?:\/\/(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:\/[\x21-\x7e]*)?$/

function checkUrl(text: string): Fault | undefined {
  if (WEB_ADDRESS.test(text)) return undefined
  return { problem: 'is not the address of a web service', hint: 'write it as https://tsa.example.org/tsr' }
}

function checkRule(text: string): Fault | undefined {
  if (RULE.test(text)) return undefined
  return {
    problem: 'is not the id of a rule',
    hint: 'write it as sass-edge policy lint prints it, like disk.overwrite',
  }
}

/** Every format by its name in the field table. */
export const TEXT_FORMATS = Object.freeze({
  name: { check: checkName, pattern: NAME_PATTERN },
  address: { check: checkAddress },
  range: { check: checkRange },
  'public-key': { check: checkKey, pattern: '^[A-Za-z0-9_-]{43}$' },
  command: { check: checkCommand, pattern: '^\\S(?:.*\\S)?$' },
  variable: { check: checkVariable, pattern: '^(?:\\*|[A-Za-z_][A-Za-z0-9_]*\\*?)$' },
  tool: { check: checkTool },
  digest: { check: checkDigest, pattern: '^[0-9a-f]{64}$' },
  blocked: { check: checkBlocked, pattern: '^\\S(?:.*\\S)?$' },
  url: { check: checkUrl, pattern: '^https?://\\S+$' },
  rule: { check: checkRule, pattern: '^[a-z0-9][a-z0-9.-]{0,126}[a-z0-9]$' },
  path: { check: checkPath },
} as const satisfies Record<string, TextFormat>)

export type TextFormatName = keyof typeof TEXT_FORMATS
