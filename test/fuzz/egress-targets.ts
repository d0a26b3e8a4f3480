/**
 * What a session's programs say to the gate to the network: questions for names, the first message of TLS, requests.
 * @module
 */

import { createGuard, type GuardPlan } from '../../src/egress/guards/guard.ts'
import { answerBytes, RCODE, readQuestion } from '../../src/egress/names/dns-message.ts'
import { normalHostName } from '../../src/egress/names/host-name.ts'
import { helloMessage, records } from '../egress/hello.ts'
import type { FuzzTarget } from './engine.ts'
import { must, text } from './inputs.ts'

/** No guard holds back more: a ClientHello or a head, and the heads of its records. */
const HELD_BYTES = 16_384 + 16 * 5

const dns: FuzzTarget = {
  name: 'dns',
  seeds: [
    new Uint8Array([
      0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 97, 7, 101, 120, 97, 109, 112, 108, 101, 0, 0, 1, 0, 1,
    ]),
    new Uint8Array([
      0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 97, 0, 0, 28, 0, 1, 0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0,
    ]),
  ],
  run(input) {
    const read = readQuestion(input)
    if (read.kind === 'dropped') return read.kind
    const head = read.kind === 'refused' ? read.head : read.question.head
    must(head.length <= input.length, 'an answer repeats what was not asked')
    const answer = answerBytes(head, RCODE.noName)
    must(answer.length === head.length && readQuestion(answer).kind === 'dropped', 'an answer is a question')
    if (read.kind === 'refused') return `rcode ${read.rcode}`
    const { name } = read.question
    must(name === undefined || normalHostName(name) === name, 'a name that is not in its form')
    return name === undefined ? 'no name' : 'name'
  },
}

/** Whole, or a byte at a time: the same passes, and no more than so much is held back. */
function guard(
  name: string,
  plan: GuardPlan,
  seeds: readonly Uint8Array[],
  pieces?: readonly Uint8Array[],
): FuzzTarget {
  return {
    name,
    seeds,
    ...(pieces === undefined ? {} : { pieces }),
    run(input) {
      const whole = createGuard(plan)?.take(input)
      const cut = createGuard(plan)
      let passed = 0
      for (let end = 1; end <= input.length; end++) {
        const step = cut?.take(input.subarray(passed, end))
        if (step?.kind === 'reset') {
          must(whole?.kind === 'reset', 'cut it is refused, and whole it is not')
          return step.reason
        }
        passed += step?.bytes ?? 0
        must(passed <= end, 'more passes than there is')
        must(end - passed <= HELD_BYTES, 'too much is held back')
        if (step?.isDone === true) break
      }
      // Cut, it may be known only with more of it.
      must(whole?.kind === 'pass' || passed < input.length, 'whole it is refused, and cut it passes')
      must(whole?.kind !== 'pass' || whole.isDone || whole.bytes === passed, 'a cut changes what passes')
      return passed === 0 ? 'waits' : 'passes'
    },
  }
}

const hello = new Uint8Array(records(helloMessage()))
const cutHello = new Uint8Array(records(helloMessage({ extensions: [[42, []]] }), 20))
const GET = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'
const CHUNKED =
  'PUT / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nA: b\r\n\r\n'
const POST = 'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n\r\nabc'

export const EGRESS_TARGETS: readonly FuzzTarget[] = Object.freeze([
  dns,
  guard('tls-guard', { kind: 'tls', name: 'a.example' }, [
    hello,
    new Uint8Array([...hello, 0x14, 3, 3, 0, 1, 1, ...hello, 0x17, 3, 3, 0, 1, 9]),
    new Uint8Array([...cutHello, 0x17, 3, 3, 0, 2, 9, 9, ...hello]),
  ]),
  guard(
    'http-guard',
    { kind: 'http', name: 'a.example', port: 80, methods: undefined },
    [GET, CHUNKED + GET, POST + CHUNKED + POST].map(text),
    [
      '\r\n',
      '\n',
      'Host: b.example\r\n',
      'Content-Length: 3\r\n',
      'Transfer-Encoding: chunked\r\n',
      '0\r\n\r\n',
      ':',
    ].map(text),
  ),
])
