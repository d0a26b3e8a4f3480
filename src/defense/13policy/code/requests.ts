/**
 * Calls that ask a server for something, and that send it something: `fetch(x, { body: y })`, `client.post(address)`.
 * From the references of Python's urllib and requests, and of fetch.
 * @module
 */
import { ARGUMENT_TOKENS, addCall, mark, nameAt, type Reading } from './reading.ts'
import { readValue } from './values.ts'

/** Calls that ask a server for something, or send it something where they are given a body. */
const ASKERS = /(?:^|\.)(?:urlopen|Request|fetch)$/
const BODY_CALL = 'request:body'

/** Methods of a session by which a server is sent something, where the address stands first. */
const SENDING = /(?:^|\.)(?:post|put|patch|delete)$/

/** Takes down a call that sends something, by whatever client. */
export function noteSending(reading: Reading, name: string, open: number): void {
  if (!SENDING.test(name)) return
  const { value } = readValue(reading, open + 1)
  if (value.kind === 'text' && /^(?:https?|wss?):/.test(value.text)) addCall(reading, BODY_CALL)
}

/** Whether `data=`, `body:` or a method that changes something stands among the arguments. */
function givesBody(reading: Reading, open: number): boolean {
  const limit = Math.min(reading.tokens.length, open + ARGUMENT_TOKENS)
  let depth = 0
  for (let at = open; at < limit; at++) {
    const text = mark(reading, at)
    if (text === '(') depth += 1
    else if (text === ')' && --depth === 0) return false
    const isGiven = mark(reading, at + 1) === '=' || mark(reading, at + 1) === ':'
    if (!isGiven) continue
    if (BODIES.has(nameAt(reading, at))) return true
    if (nameAt(reading, at) === 'method' && CHANGING.has(reading.tokens[at + 2]?.text ?? '')) return true
  }
  return false
}

const BODIES: ReadonlySet<string> = new Set(['data', 'body', 'json', 'files'])
/** Methods of HTTP that change what the server has. */
const CHANGING: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** Takes down that a call which asks a server gives it a body. */
export function noteBody(reading: Reading, name: string, open: number): void {
  if (ASKERS.test(name) && givesBody(reading, open)) addCall(reading, BODY_CALL)
}
