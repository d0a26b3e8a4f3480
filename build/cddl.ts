/**
 * The grammar of the protocol as CDDL (RFC 8610), from the messages, methods and frames that the code itself uses.
 * Pure: the text only; cddl.node.ts writes it.
 * @module
 */

import * as egressMessages from '../src/wire/egress-messages.ts'
import * as fileMessages from '../src/wire/file-messages.ts'
import { KIND } from '../src/wire/frame.ts'
import * as handoffMessages from '../src/wire/handoff-messages.ts'
import * as identityMessages from '../src/wire/identity-messages.ts'
import * as intentMessages from '../src/wire/intent-messages.ts'
import * as messages from '../src/wire/messages.ts'
import { METHODS, type Method } from '../src/wire/methods.ts'
import * as planMessages from '../src/wire/plan-messages.ts'
import * as proposalMessages from '../src/wire/proposal-messages.ts'
import type { AnyMessage } from '../src/wire/schema.ts'
import * as statusMessages from '../src/wire/status-messages.ts'

type FieldFacts = {
  readonly key: number
  readonly type: { readonly cddl: string }
  readonly presence: 'required' | 'optional' | 'defaulted'
  readonly fallback: unknown
  readonly says: string
}

/** Every message of the protocol, in the order of their names. */
export function allMessages(): readonly AnyMessage[] {
  const all = [
    messages,
    egressMessages,
    fileMessages,
    handoffMessages,
    planMessages,
    intentMessages,
    identityMessages,
    proposalMessages,
    statusMessages,
  ].flatMap((room) => Object.values(room))
  return (all as AnyMessage[]).sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The fields of a message in the order of their keys. */
export function fieldsOf(message: AnyMessage): readonly (readonly [name: string, field: FieldFacts])[] {
  return Object.entries(message.fields as Readonly<Record<string, FieldFacts>>).sort(
    ([, a], [, b]) => a.key - b.key,
  )
}

/** `false`, `0` or `empty`: what a field is when it is absent. */
export function fallbackText(fallback: unknown): string {
  if (typeof fallback === 'boolean' || typeof fallback === 'number') return String(fallback)
  if (Array.isArray(fallback) && fallback.length > 0) return JSON.stringify(fallback)
  return typeof fallback === 'string' && fallback !== '' ? fallback : 'empty'
}

function messageRule(message: AnyMessage): string {
  const fields = fieldsOf(message).map(([name, { key, type, presence, fallback, says }]) => {
    const absent = presence === 'defaulted' ? `default ${fallbackText(fallback)}` : ''
    const comment = [name, absent, says].filter((part) => part !== '').join('; ')
    return `  ${presence === 'required' ? '' : '? '}${key} => ${type.cddl}, ; ${comment}`
  })
  return fields.length === 0 ? `${message.name} = {}` : `${message.name} = {\n${fields.join('\n')}\n}`
}

function openRule({ name, number, request }: Method): string {
  return `open-${name} = [stream, ${KIND.OPEN}, ${number}, ${request.name}]`
}

/** The messages of a place, each once, as a choice; undefined entries are places without one. */
function choice(types: readonly (AnyMessage | undefined)[]): string {
  return [...new Set(types.flatMap((type) => (type === undefined ? [] : [type.name])))].sort().join(' / ')
}

/** The text of docs/sass.cddl. */
export function renderCddl(): string {
  return `; The messages of the sass-edge protocol, as docs/protocol.md explains them (RFC 8610).
; Made by \`node build/cddl.node.ts\` from src/wire; a test says when it is not current.
;
; Beyond this grammar: the encoding is deterministic (RFC 8949, 4.2.1), nothing is nested deeper than 8, text has no
; NUL and does not begin with U+FEFF, stream ids are odd and increase. A client skips keys that are not here; the daemon refuses them.

; Each direction of a connection is a sequence (RFC 8742) of these.
frame = bstr .cbor body
body = from-client / from-daemon

from-client = open / client-msg / client-end / credit / reset / ping / pong
from-daemon = daemon-msg / daemon-end / status / credit / reset / ping / pong / goaway

stream = 1..9007199254740991
count = 0..9007199254740991

open = ${METHODS.map(({ name }) => `open-${name}`).join(' /\n  ')}
${METHODS.map(openRule).join('\n')}

client-msg = [stream, ${KIND.MSG}, more-from-client]
client-end = [stream, ${KIND.END}, ? more-from-client]
daemon-msg = [stream, ${KIND.MSG}, more-from-daemon]
daemon-end = [stream, ${KIND.END}, answer]
status = [stream, ${KIND.STATUS}, Status]
credit = [stream, ${KIND.CREDIT}, count]
reset = [stream, ${KIND.RESET}]
ping = [0, ${KIND.PING}, count]
pong = [0, ${KIND.PONG}, count]
goaway = [0, ${KIND.GOAWAY}, Status]

more-from-client = ${choice(METHODS.map(({ requestMore }) => requestMore))}
more-from-daemon = ${choice(METHODS.map(({ responseMore }) => responseMore))}
answer = ${choice(METHODS.map(({ response }) => response))}

${allMessages().map(messageRule).join('\n\n')}
`
}
