/**
 * The guard of a connection that speaks HTTP/1.1 in the clear: every request of it must be for the host that was asked
 * for, by one Host line, and with a listed method. A head passes when it is whole and right; a body passes as it comes.
 * Whatever two programs could read in two ways is reset: another line end than CRLF, folded lines, a space before a
 * colon, control characters, Content-Length twice or beside Transfer-Encoding, any other coding than `chunked`, sizes
 * that are no plain numbers. So is a request to a proxy (CONNECT, or a URI of another host).
 * `Upgrade` passes and changes nothing: a server may decline it, and then goes on with HTTP/1.1; where it does not, what
 * the client sends next is no request, and is reset. WebSockets need a port that is not read, or TLS.
 * Rules: RFC 9112, 2 to 7 and 11; RFC 9110, 5 and 7.2.
 * @module
 */

import { CHUNK_DIGITS, CHUNK_LINE_BYTES, HTTP_HEAD_BYTES, HTTP_HEAD_LINES, LENGTH_DIGITS } from '../limits.ts'
import { normalHostName } from '../names/host-name.ts'
import type { Guard, GuardReason, GuardStep } from './guard-step.ts'

export type HttpGuardPlan = {
  /** In normal form; undefined: every host. */
  readonly name: string | undefined
  readonly port: number
  /** Undefined: every method but CONNECT. */
  readonly methods: readonly string[] | undefined
}

type Body =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
type Head = Body | { readonly kind: 'refused'; readonly reason: GuardReason }

/** What the next bytes are. */
type State =
  | { readonly kind: 'head' }
  | { readonly kind: 'data'; left: number; readonly next: 'head' | 'chunk-end' }
  | { readonly kind: 'chunk-size' }
  | { readonly kind: 'chunk-end' }
  | { readonly kind: 'trailers'; bytes: number }

const CR = 0x0d
const LF = 0x0a
const REQUEST_LINE = /^([A-Z][A-Z0-9_-]*) ([\x21-\x7e\x80-\xff]+) HTTP\/1\.([01])$/
const ABSOLUTE = /^http:\/\/([^/?#]*)(?:[/?]|$)/i
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/
const CHUNK_SIZE = /^([0-9A-Fa-f]+)(?:[ \t]*;[\t\x20-\x7e]*)?$/
/** They say where a message ends or whom it is for: not behind it. */
const FRAMING: readonly string[] = Object.freeze(['host', 'content-length', 'transfer-encoding'])
const MALFORMED: GuardStep = Object.freeze({ kind: 'reset', reason: 'http_malformed' })

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes)
}

/** Where the line ends that begins at `from`: the place of its CR; -1: not yet. A lone LF is found when it is read. */
function lineEnd(bytes: Uint8Array, from: number): number {
  const at = bytes.indexOf(LF, from + 1)
  return at === -1 ? -1 : at - 1
}

/** Spaces and tabs alone: what else a language takes for white space is part of the value to a server. */
function trimmed(value: string): string {
  const isBlank = (at: number): boolean => value[at] === ' ' || value[at] === '\t'
  let [start, end] = [0, value.length]
  while (start < end && isBlank(start)) start++
  while (end > start && isBlank(end - 1)) end--
  return value.slice(start, end)
}

function isFor(authority: string, { name, port }: HttpGuardPlan): boolean {
  if (name === undefined) return true
  const [, host = '', given] = /^([^:]*)(?::([0-9]{1,5}))?$/.exec(authority) ?? []
  return normalHostName(host) === name && (given === undefined || Number(given) === port)
}

function readHead(text: string, plan: HttpGuardPlan): Head {
  const refused = (reason: GuardReason): Head => ({ kind: 'refused', reason })
  const [first = '', ...lines] = text.split('\r\n')
  const [, method, target = '', minor] = REQUEST_LINE.exec(first) ?? []
  if (method === undefined || lines.length > HTTP_HEAD_LINES) return refused('http_malformed')
  if (method === 'CONNECT' || plan.methods?.includes(method) === false) return refused('http_method')
  if (!target.startsWith('/') && !(target === '*' && method === 'OPTIONS')) {
    const [, authority] = ABSOLUTE.exec(target) ?? []
    if (authority === undefined) return refused('http_malformed')
    if (!isFor(authority, plan)) return refused('http_other_host')
  }
  const framing = new Map<string, string>()
  for (const line of lines) {
    const [, field = '', value = ''] = FIELD.exec(line) ?? []
    if (field === '') return refused('http_malformed')
    const lower = field.toLowerCase()
    if (!FRAMING.includes(lower)) continue
    if (framing.has(lower)) return refused(lower === 'host' ? 'http_other_host' : 'http_malformed')
    framing.set(lower, trimmed(value))
  }
  const host = framing.get('host')
  if (host === undefined || !isFor(host, plan)) return refused('http_other_host')
  const length = framing.get('content-length')
  const coding = framing.get('transfer-encoding')
  if (coding !== undefined)
    return length === undefined && minor === '1' && coding.toLowerCase() === 'chunked'
      ? { kind: 'chunked' }
      : refused('http_malformed')
  if (length === undefined) return { kind: 'none' }
  if (length.length > LENGTH_DIGITS || !/^[0-9]+$/.test(length)) return refused('http_malformed')
  return { kind: 'length', bytes: Number(length) }
}

/**
 * Length of the head that `bytes` begin with, its empty line included; 0: not whole; undefined: a line ends otherwise.
 * From `from` on it is unread.
 */
function headLength(bytes: Uint8Array, from: number): number | undefined {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] !== CR) return undefined
    if (bytes[at - 2] === LF) return at + 1
  }
  return 0
}

export function createHttpGuard(plan: HttpGuardPlan): Guard {
  let state: State = { kind: 'head' }
  /** Of a head that is not whole yet. */
  let seen = 0

  /** How many of `bytes` pass; 0: more is needed. */
  function takeHead(bytes: Uint8Array): GuardStep | number {
    const length = headLength(bytes, seen)
    if (length === undefined || (length || bytes.length) > HTTP_HEAD_BYTES) return MALFORMED
    seen = length === 0 ? bytes.length : 0
    if (length === 0) return 0
    const head = readHead(latin1(bytes.subarray(0, length - 4)), plan)
    switch (head.kind) {
      case 'refused':
        return { kind: 'reset', reason: head.reason }
      case 'chunked':
        state = { kind: 'chunk-size' }
        break
      case 'length':
        if (head.bytes > 0) state = { kind: 'data', left: head.bytes, next: 'head' }
        break
      case 'none':
        break
    }
    return length
  }

  /** A whole line without its end, where there is one. */
  function takeLine(bytes: Uint8Array, limit: number): string | GuardStep | undefined {
    const end = lineEnd(bytes, 0)
    if (end === -1) return bytes.length > limit ? MALFORMED : undefined
    return end > limit || bytes[end] !== CR ? MALFORMED : latin1(bytes.subarray(0, end))
  }

  function takeChunkSize(bytes: Uint8Array): GuardStep | number {
    const line = takeLine(bytes, CHUNK_LINE_BYTES)
    if (line === undefined) return 0
    if (typeof line !== 'string') return line
    const [, digits] = CHUNK_SIZE.exec(line) ?? []
    if (digits === undefined || digits.length > CHUNK_DIGITS) return MALFORMED
    const left = Number.parseInt(digits, 16)
    state = left === 0 ? { kind: 'trailers', bytes: 0 } : { kind: 'data', left, next: 'chunk-end' }
    return line.length + 2
  }

  function takeTrailer(bytes: Uint8Array, trailers: { bytes: number }): GuardStep | number {
    const line = takeLine(bytes, HTTP_HEAD_BYTES - trailers.bytes)
    if (line === undefined) return 0
    if (typeof line !== 'string') return line
    trailers.bytes += line.length + 2
    if (line === '') state = { kind: 'head' }
    else {
      const [, field] = FIELD.exec(line) ?? []
      if (field === undefined || FRAMING.includes(field.toLowerCase())) return MALFORMED
    }
    return line.length + 2
  }

  function takeNext(bytes: Uint8Array): GuardStep | number {
    switch (state.kind) {
      case 'head':
        return takeHead(bytes)
      case 'data': {
        const count = Math.min(state.left, bytes.length)
        state.left -= count
        if (state.left === 0) state = { kind: state.next }
        return count
      }
      case 'chunk-size':
        return takeChunkSize(bytes)
      case 'chunk-end':
        if (bytes[0] !== CR || (bytes[1] ?? LF) !== LF) return MALFORMED
        if (bytes.length < 2) return 0
        state = { kind: 'chunk-size' }
        return 2
      case 'trailers':
        return takeTrailer(bytes, state)
    }
  }

  return {
    take(bytes) {
      let passed = 0
      while (passed < bytes.length) {
        const step = takeNext(bytes.subarray(passed))
        if (typeof step !== 'number') return step
        if (step === 0) break
        passed += step
      }
      return { kind: 'pass', bytes: passed, isDone: false }
    },
  }
}
