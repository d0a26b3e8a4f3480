/**
 * The text formats of the configuration: for each the check with its sentence, and where one exists the equivalent
 * pattern for the published schema. A check sees one string that is already known to be short enough.
 * Sources: RFC 8032 (keys), RFC 4291 and RFC 4632 (addresses and ranges), POSIX.1 chapter 8 (environment names).
 * @module
 */

import { checkKeyEncoding } from '../base/crypto/ed25519-encoding.ts'
import { decodeBase64Url, encodeBase64Url } from '../base/encoding/base64.ts'
import { decodeHex } from '../base/encoding/hex.ts'
import { parseIpAddress, parseIpRange } from '../base/ip-address.ts'
import { isPermission, PERMISSION_NAMES } from '../base/permission-name.ts'
import { isName, NAME_PATTERN } from '../base/text/name.ts'
import { nearest } from '../base/text/suggest.ts'
import { ALL_TOOLS, isTool, TOOLS } from '../base/tool-name.ts'
import { TOXIC_PROPERTIES } from '../base/toxic-property.ts'
import { KEY_FILE_BYTES } from '../limits.ts'

/** What is wrong with a value, as the end of a sentence that begins with its path; the hint says what to write. */
export type Fault = { readonly problem: string; readonly hint: string }
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

const UNPRINTABLE_FAULT: Fault = {
  problem: 'holds a control character or half a surrogate pair',
  hint: 'type it again without that',
}

function checkName(text: string): Fault | undefined {
  if (text === '.' || text === '..' || text === '__proto__' || text.startsWith('-'))
    return { problem: 'is a name that means something else elsewhere', hint: 'begin it with a letter' }
  if (isName(text)) return undefined
  return { problem: 'is not a valid name', hint: 'use 1 to 64 of the characters A-Z a-z 0-9 . _ -' }
}

/** What was meant by something that is nearly an address. */
function addressHint(text: string): string | undefined {
  if (text === '*' || text === 'any') return 'write "0.0.0.0" for every IPv4 address, "::" for every one'
  if (text.toLowerCase() === 'localhost') return 'write "127.0.0.1"; names are not resolved'
  const bare = text.replace(/^\[(.*)\](?::[0-9]+)?$/, '$1').replace(/%.*$|\/.*$/, '')
  const plain = [bare, bare.replace(/:[0-9]+$/, ''), bare.replace(/(^|\.)0+(?=[0-9])/g, '$1')]
  const meant = plain.find((one) => parseIpAddress(one) !== undefined)
  return meant === undefined ? undefined : `write "${meant}"`
}

function checkPermission(text: string): Fault | undefined {
  if (isPermission(text)) return undefined
  const meant = nearest(text, PERMISSION_NAMES)
  return {
    problem: 'is no permission of a tool',
    hint: meant === undefined ? `write one of ${PERMISSION_NAMES.join(', ')}` : `did you mean "${meant}"?`,
  }
}

function checkAddress(text: string): Fault | undefined {
  if (parseIpAddress(text) !== undefined) return undefined
  return {
    problem: 'is not an IP address',
    hint: addressHint(text) ?? 'write 127.0.0.1, 0.0.0.0, ::1 or ::; names are not resolved',
  }
}

/** The prefix length of a mask like 255.255.255.0. */
function bitsOfMask(mask: string): number | undefined {
  const bytes = parseIpAddress(mask)
  if (bytes?.family !== 4) return undefined
  const bits = bytes.bytes.map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return /^1*0*$/.test(bits) ? bits.lastIndexOf('1') + 1 : undefined
}

/** What was meant by something that is nearly a range. */
function rangeHint(text: string): string | undefined {
  const [base = '', mask] = text.split('/', 2)
  if (mask === undefined) return addressHint(base)
  const bits = bitsOfMask(mask)
  if (bits === undefined) return undefined
  const result = parseIpRange(`${base}/${bits}`)
  return result.ok ? `write "${base}/${bits}"` : result.hint
}

function checkRange(text: string): Fault | undefined {
  if (text === '*') return undefined
  const result = parseIpRange(text)
  if (result.ok) return undefined
  return {
    problem: result.problem,
    hint: rangeHint(text) ?? result.hint ?? 'write it like 192.0.2.0/24 or 2001:db8::/32',
  }
}

const HEX_KEY = /^[0-9a-fA-F]{64}$/
/** The 12 bytes before the key in an SPKI, and the 19 before it in what ssh-keygen writes, in base64. */
const WRAPPED_KEY = /(?:MCowBQYDK2VwAyEA|AAAAC3NzaC1lZDI1NTE5AAAA)([A-Za-z0-9+/]{43,44})/

/** The public key that was written in another form; undefined where it is none. */
function keyInOtherForm(text: string): string | undefined {
  if (HEX_KEY.test(text)) return encodeBase64Url(decodeHex(text.toLowerCase()) ?? new Uint8Array())
  const wrapped = WRAPPED_KEY.exec(text)?.[1] ?? text
  const url = wrapped.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  const bytes = decodeBase64Url(url, KEY_FILE_BYTES + 1)
  // What ssh-keygen writes has one byte of the length before the key.
  const key = bytes?.length === KEY_FILE_BYTES + 1 && bytes[0] === KEY_FILE_BYTES ? bytes.subarray(1) : bytes
  return key?.length === KEY_FILE_BYTES && checkKeyEncoding(key).ok ? encodeBase64Url(key) : undefined
}

function keyHint(text: string): string {
  if (text.includes('PRIVATE KEY'))
    return 'take it out and make a new pair with sass-edge keygen: a private key that stood here is no secret any more'
  const other = keyInOtherForm(text)
  if (other !== undefined) return `write "${other}"`
  if (/[/.]/.test(text)) return 'sass-edge agent add NAME --key FILE reads it from a file'
  return 'write its 32 bytes in base64url without padding: 43 characters, as sass-edge keygen prints them'
}

function checkKey(text: string): Fault | undefined {
  const key = decodeBase64Url(text, KEY_FILE_BYTES)
  if (key === undefined || key.length !== KEY_FILE_BYTES) {
    return { problem: 'is not a public key', hint: keyHint(text) }
  }
  const verdict = checkKeyEncoding(key)
  if (verdict.ok) return undefined
  return {
    problem: `is not a usable Ed25519 public key: ${verdict.problem}`,
    hint: 'make a new one with sass-edge keygen, and see that it is not the private one',
  }
}

function checkCommand(text: string): Fault | undefined {
  if (UNPRINTABLE.test(text)) return UNPRINTABLE_FAULT
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
  if (UNPRINTABLE.test(text)) return UNPRINTABLE_FAULT
  if (text === '~' || text.startsWith('~/'))
    return { problem: 'begins with ~, which is not expanded', hint: 'write the whole path' }
  if (text.startsWith('$') && text !== '$WORKSPACE' && text !== '$SECRETS') {
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

const PORT_MAX = 65_535
/** Without a user: secrets do not belong into a configuration that is shown. */
const WEB_ADDRESS = /^https?:\/\/(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:\/[\x21-\x7e]*)?$/

function checkUrl(text: string): Fault | undefined {
  if (WEB_ADDRESS.test(text) && Number(/:([0-9]+)(?:\/|$)/.exec(text)?.[1] ?? 1) <= PORT_MAX) return undefined
  if (/\/\/[^/]*@/.test(text))
    return {
      problem: 'holds a user, and is shown to whoever may see this file',
      hint: 'take out what stands before the @',
    }
  return { problem: 'is not the address of a web service', hint: 'write it as https://tsa.example.org/tsr' }
}

function checkRule(text: string): Fault | undefined {
  if (RULE.test(text)) return undefined
  return {
    problem: 'is not the id of a rule',
    hint: 'write it as sass-edge policy lint prints it, like disk.overwrite',
  }
}

const LABEL = '[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?'
const DOMAIN = new RegExp(`^(?:\\*|(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*)$`)

function checkDomain(text: string): Fault | undefined {
  if (DOMAIN.test(text) || parseIpAddress(text) !== undefined) return undefined
  return {
    problem: 'is not the name of a host',
    hint: 'write "example.com", "*.example.com" for all beneath it, or an address, without scheme, port and path',
  }
}

/** Names, addresses and ranges with ports; what it means is read with the whole list. */
const EGRESS = /^[A-Za-z0-9._:/*[\]-]+$/

function checkEgress(text: string): Fault | undefined {
  if (text.includes('://'))
    return { problem: 'is an address of a page', hint: 'write the host alone, like "example.com"' }
  if (EGRESS.test(text)) return undefined
  return {
    problem: 'is no host, address or range with a port',
    hint: 'write "example.com", "*.example.com", "example.com:8443", "10.1.0.0/16:1883" or "*"; names are in ASCII (xn--…)',
  }
}

function checkMethod(text: string): Fault | undefined {
  if (/^[A-Z][A-Z-]*$/.test(text)) return undefined
  return { problem: 'is no method of HTTP in upper case', hint: `write "${text.toUpperCase().slice(0, 16)}"` }
}

const COMBINATION = new RegExp(`^(?:${TOXIC_PROPERTIES.join('|')})(?:\\+(?:${TOXIC_PROPERTIES.join('|')}))+$`)

function checkCombination(text: string): Fault | undefined {
  const parts = text.split('+')
  if (COMBINATION.test(text) && new Set(parts).size === parts.length) return undefined
  return {
    problem: 'is not a combination of two properties or more',
    hint: `join some of ${TOXIC_PROPERTIES.join(', ')} by +, each once`,
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
  permission: { check: checkPermission },
  digest: { check: checkDigest, pattern: '^[0-9a-f]{64}$' },
  domain: { check: checkDomain },
  egress: { check: checkEgress, pattern: EGRESS.source },
  method: { check: checkMethod, pattern: '^[A-Z][A-Z-]*$' },
  combination: { check: checkCombination, pattern: COMBINATION.source },
  blocked: { check: checkBlocked, pattern: '^\\S(?:.*\\S)?$' },
  url: { check: checkUrl, pattern: '^https?://\\S+$' },
  rule: { check: checkRule, pattern: '^[a-z0-9][a-z0-9.-]{0,126}[a-z0-9]$' },
  path: { check: checkPath },
} as const satisfies Record<string, TextFormat>)

export type TextFormatName = keyof typeof TEXT_FORMATS
