/**
 * What is fuzzed: every parser that reads a peer's or a user's bytes, each with what must hold whatever it is given.
 * @module
 */
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { encodeBase64 } from '../../src/base/encoding/base64.ts'
import { type CborValue, encodeCbor, openCbor } from '../../src/base/encoding/cbor.ts'
import { checkCbor } from '../../src/base/encoding/cbor-check.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { parseStrictJson } from '../../src/base/encoding/strict-json.ts'
import { formatIpAddress, parseIpRange } from '../../src/base/ip-address.ts'
import type { OptionSpec } from '../../src/cli/words/arguments.ts'
import { COMMON_OPTIONS, parseArguments } from '../../src/cli/words/arguments.ts'
import { parseTarget, targetAddress } from '../../src/cli/words/target.ts'
import { FRAME_BYTES, PAYLOAD_PLAIN_BYTES, STREAMS_PER_CONNECTION } from '../../src/limits.ts'
import { createConnection } from '../../src/wire/connection.ts'
import { createDeframer } from '../../src/wire/deframer.ts'
import { fileChunk } from '../../src/wire/file-messages.ts'
import { encodeFrame, readFrame } from '../../src/wire/frame.ts'
import { executeRequest, status, stdinChunk, streamResponse } from '../../src/wire/messages.ts'
import { methodNamed } from '../../src/wire/methods.ts'
import { framedPayload, readArguments } from '../../src/wire/payload-gate.ts'
import type { Role } from '../../src/wire/phases.ts'
import { checkZstdFrame } from '../../src/wire/zstd-gate.ts'
import { EXAMPLES } from '../wire/message-examples.ts'
import { COMMAND_TARGETS } from './command-targets.ts'
import { DECISION_TARGETS } from './decision-targets.ts'
import { EGRESS_TARGETS } from './egress-targets.ts'
import type { FuzzTarget, Random } from './engine.ts'
import { latin, must, text } from './inputs.ts'
import { INTENT_TARGETS } from './intent-targets.ts'
import { RECORD_TARGETS } from './record-targets.node.ts'
import { workTarget } from './work-target.ts'

const LIMITS = { depth: 8, items: 4_096 }

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts))
}

const messages = EXAMPLES.map(([type, value]) => type.encode(value))
const withStdin = executeRequest.encode({ command: 'cat', stdin: true })
const run = executeRequest.encode({ command: 'ls', args: ['-l'] })
const data = new Uint8Array(20).fill(0x2a)

const cbor: FuzzTarget = {
  name: 'cbor',
  seeds: [
    ...messages.map((message) => encodeCbor(message)),
    encodeCbor([1, -1, 2n ** 64n - 1n, 'x\ufeff', data, [[], new Map()], null]),
  ],
  run(input) {
    const opened = openCbor(input, LIMITS)
    must(opened.ok === (checkCbor(input, LIMITS) === undefined), 'the check and the opening disagree')
    if (!opened.ok) return opened.problem
    // The least integer of CBOR is one that can be read and not be written: cbor-x would put a tag on it.
    const hex = encodeHex(input)
    if (hex.includes('3bffffffffffffffff')) return 'least'
    must(encodeHex(encodeCbor(opened.value as CborValue)) === hex, 'another encoding of the same value')
    return typeof opened.value
  },
}

const frame: FuzzTarget = {
  name: 'frame',
  seeds: messages.map((message, index) =>
    encodeCbor(index % 2 === 0 ? [1, 0, index, message] : [1, 1, message]),
  ),
  run(input) {
    const read = readFrame(input)
    if (!read.ok) return read.problem.replace(/\d+/g, 'n')
    const { stream, kind, method, payload } = read.frame
    const written = encodeFrame(stream, kind, payload as CborValue | undefined, method)
    const head = written.length - input.length
    must(encodeHex(written.subarray(head)) === encodeHex(input), 'another encoding of the same frame')
    return kind
  },
}

/** Feeds `bytes` in pieces of random sizes. */
function feed(bytes: Uint8Array, random: Random, push: (piece: Uint8Array) => void): void {
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random.below(random.below(2) === 0 ? 4 : 400)
    push(bytes.subarray(at, at + size))
    at += size
  }
}

const deframer: FuzzTarget = {
  name: 'deframer',
  seeds: [joined(messages.map((message) => encodeFrame(1, 'MSG', message))), encodeFrame(0, 'PING', 1)],
  run(input, random) {
    const cut = (push: (deframer: { push(chunk: Uint8Array): void }) => void): string[] => {
      const told: string[] = []
      const made = createDeframer(
        () => FRAME_BYTES,
        (event) => {
          must(told.at(-1)?.startsWith('!') !== true, 'something after the failure')
          told.push(event.kind === 'body' ? encodeHex(event.body) : `! ${event.problem}`)
        },
      )
      push(made)
      return told
    }
    const whole = cut((made) => made.push(input))
    const pieces = cut((made) => feed(input, random, (piece) => made.push(piece)))
    must(whole.join() === pieces.join(), 'the same bytes in pieces are other frames')
    const last = whole.at(-1) ?? 'nothing'
    return last.startsWith('!') ? last : `${Math.min(whole.length, 9)} frames`
  },
}

function connection(role: Role, isOpen: boolean, seeds: readonly Uint8Array[]): FuzzTarget {
  return {
    name: `${role}${isOpen ? '' : '-before-authentication'}`,
    seeds,
    pieces: seeds,
    run(input, random) {
      const told: string[] = []
      const engine = createConnection(
        role,
        (sent, taken) => {
          taken?.()
          must(engine.phase !== 'dead', 'it sends after its end')
          must(
            readFrame(sent.subarray(sent.length < 25 ? 1 : sent.length < 258 ? 2 : 3)).ok,
            'it sends no frame',
          )
        },
        (event) => {
          must(!told.includes('fatal'), 'it tells something after its end')
          told.push(event.kind)
          if (!('stream' in event) || typeof event.stream === 'number') return
          const { receivedBytes, receiveLimitBytes } = event.stream
          must(receivedBytes <= receiveLimitBytes, 'data past the credit was taken')
          if (event.kind === 'message' && random.below(4) === 0)
            engine.grant(event.stream.id, random.below(100))
          if (event.kind === 'message' && random.below(8) === 0) engine.reset(event.stream.id)
        },
      )
      if (isOpen) engine.becomeOpen(4_096)
      if (role === 'client') {
        engine.open(methodNamed('ExecuteStream'), withStdin, true)
        engine.open(methodNamed('ExecuteStream'), run, false)
        engine.ping()
      }
      feed(input, random, (piece) => engine.receive(piece))
      must([...engine.streams()].length <= STREAMS_PER_CONNECTION, 'too many streams')
      must((engine.phase === 'dead') === told.includes('fatal'), 'dead without a word')
      return [...new Set(told)].sort().join()
    },
  }
}

const STATUS = status.encode({ code: 106, text: 'no' })

const fromClient: readonly Uint8Array[] = [
  joined([
    encodeFrame(1, 'OPEN', withStdin, 2),
    encodeFrame(1, 'MSG', stdinChunk.encode({ data })),
    encodeFrame(1, 'END'),
  ]),
  joined([encodeFrame(3, 'OPEN', run, 1), encodeFrame(3, 'CREDIT', 70_000)]),
  encodeFrame(5, 'OPEN', fileChunk.encode({ data }), 5),
  encodeFrame(7, 'OPEN', new Map(), 11),
  joined([encodeFrame(9, 'OPEN', withStdin, 2), encodeFrame(9, 'RESET')]),
  encodeFrame(0, 'PING', 5),
  encodeFrame(0, 'PONG', 1),
  encodeFrame(11, 'OPEN', new Map(), 99),
]
const fromDaemon: readonly Uint8Array[] = [
  encodeFrame(1, 'MSG', streamResponse.encode({ data, offset: 0 })),
  encodeFrame(1, 'END', streamResponse.encode({ exit_code: 0 })),
  encodeFrame(3, 'STATUS', STATUS),
  encodeFrame(1, 'CREDIT', 5_000),
  encodeFrame(3, 'RESET'),
  encodeFrame(0, 'PING', 5),
  encodeFrame(0, 'PONG', 1),
  encodeFrame(0, 'GOAWAY', STATUS),
]

const packed = (plain: Uint8Array | string) => text(encodeBase64(new Uint8Array(zstdCompressSync(plain))))
/**
 * What libzstd makes of what the gate has measured, in one turn; `createZstdDecoder` has several. It says nothing where
 * the blocks give less than the head declares: whoever decodes counts. No more than the first quarter MiB: how long a
 * frame of megabytes may take is the decoder's to bound, by its clock.
 */
const FUZZED_BYTES = 262_144
function decoded(frame: Uint8Array, plainBytes: number): Uint8Array | undefined {
  let plain: Uint8Array
  try {
    plain = zstdDecompressSync(frame, { maxOutputLength: Math.max(1, Math.min(plainBytes, FUZZED_BYTES)) })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const isRefusal = code?.startsWith('ZSTD_error_') === true || code === 'ERR_BUFFER_TOO_LARGE'
    must(isRefusal, `a frame that libzstd refuses with ${code}`)
    return undefined
  }
  must(plain.length <= plainBytes, 'a frame that gives more than it says')
  return plain.length === plainBytes ? plain : undefined
}

const payload: FuzzTarget = {
  name: 'payload',
  seeds: [
    packed(JSON.stringify(['ls', '-l', '/tmp'])),
    packed(encodeCbor(['ls', '-l', 'é'])),
    packed(JSON.stringify(['sh', '-c', 'echo hello '.repeat(200)])),
    packed(encodeCbor(['x', ...Array.from({ length: 300 }, (_, index) => `argument ${index}`)])),
    packed(new Uint8Array(5_242_880)),
    packed(new Uint8Array(5_242_881)),
  ],
  run(input) {
    const framed = framedPayload(input)
    if (!framed.ok) return framed.problem.replace(/\d+/g, 'n')
    const measured = checkZstdFrame(framed.frame, PAYLOAD_PLAIN_BYTES)
    if (!measured.ok) return measured.problem.replace(/\d+/g, 'n')
    const plain = decoded(framed.frame, measured.plainBytes)
    if (plain === undefined) return 'corrupt'
    const opened = readArguments(plain)
    if (!opened.ok) return opened.problem.replace(/\d+/g, 'n')
    must(opened.argv.length > 0 && opened.argv[0] !== '', 'an argv without a command')
    must(
      opened.argv.every((argument) => !argument.includes('\0')),
      'an argument with a NUL',
    )
    return 'argv'
  },
}

/** The payload behind its base64, so that mutations reach the decoder. */
const zstd: FuzzTarget = {
  name: 'zstd',
  seeds: payload.seeds.map((seed) => new Uint8Array(Buffer.from(latin(seed), 'base64'))),
  run: (input, random) => payload.run(text(encodeBase64(input)), random),
}

const json: FuzzTarget = {
  name: 'json',
  seeds: [
    text('{"a":[1,-2.5e3,true,null,"\\u00e9\\n"],"__proto__":{"b":{}}}'),
    text('[[[["x"]]],"",0,-0,1e400]'),
    text('{"listen":{"port":19284},"agents":[{"name":"ci"}]}'),
  ],
  pieces: ['{"a":', '"\\ud800"', '1e9', '\\u0000', '],[', '"__proto__":', '9007199254740993', 'null'].map(
    text,
  ),
  run(input) {
    const parsed = parseStrictJson(input, { size: 4_096, depth: 16, items: 500 })
    let native: unknown
    try {
      native = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(input))
    } catch {
      must(!parsed.ok, 'what is no JSON was taken')
    }
    if (!parsed.ok)
      return parsed.problem
        .replace(/\d+/g, 'n')
        .replace(/"[^"]*"/g, '"…"')
        .slice(0, 40)
    must(JSON.stringify(parsed.value) === JSON.stringify(native), 'another value than JSON.parse has')
    return typeof parsed.value
  },
}

const SPECS: readonly OptionSpec[] = COMMON_OPTIONS

const commandLine: FuzzTarget = {
  name: 'arguments',
  seeds: [text('exec\0--json\0edge7\0--\0ls\0-l'), text('--config=x\0-h'), text('--help')],
  pieces: ['--', '\0', '-', '=', '--json', '--config', '--help=', '--no-'].map(text),
  run(input) {
    const argv = latin(input).split('\0')
    const parsed = parseArguments(SPECS, argv)
    if (!parsed.ok) {
      must(parsed.problem.length > 0 && parsed.hint.length > 0, 'a refusal without words')
      return parsed.problem.replace(/[^a-z ]+\S*/gi, '').slice(0, 40)
    }
    const words = parsed.positionals.length + (parsed.rest?.length ?? 0)
    must(words <= argv.length, 'more words than were given')
    must(
      [...parsed.options.keys()].every((name) => SPECS.some((spec) => spec.name === name)),
      'an option that nobody knows',
    )
    return `${[...parsed.options.keys()].sort().join()} ${parsed.rest === undefined ? '' : '--'}`
  },
}

const range: FuzzTarget = {
  name: 'ip-range',
  seeds: ['192.0.2.0/24', '::ffff:192.0.2.7', '2001:db8::/32', '::1', '10.0.0.0/8', 'fe80::1%eth0'].map(text),
  pieces: ['::', ':', '/', '.', '0', '255', '128', 'ffff'].map(text),
  run(input) {
    const parsed = parseIpRange(latin(input))
    if (!parsed.ok) return parsed.problem.slice(0, 40)
    const { address, prefixBits } = parsed.range
    must(address.bytes.length === (address.family === 4 ? 4 : 16), 'an address of no family')
    must(
      prefixBits >= 0 && prefixBits <= address.bytes.length * 8,
      'a prefix that is longer than its address',
    )
    const again = parseIpRange(`${formatIpAddress(address)}/${prefixBits}`)
    must(JSON.stringify(again) === JSON.stringify(parsed), 'written and read it is another range')
    return `IPv${address.family}`
  },
}

const target: FuzzTarget = {
  name: 'target',
  seeds: ['ci@edge7.example:22', '[2001:db8::1]:19284', 'edge7', 'ops@[fe80::1]:7', '192.0.2.7:1'].map(text),
  pieces: ['@', ':', '[', ']', '.', '-', '65536', '::'].map(text),
  run(input) {
    const parsed = parseTarget(latin(input))
    if (!parsed.ok) {
      must(parsed.problem.length > 0, 'a refusal without words')
      return parsed.problem.replace(/[^a-z ]+/gi, '').slice(0, 40)
    }
    const { agent, host, port } = parsed.target
    must(
      host !== '' && Number.isInteger(port) && port > 0 && port < 65_536,
      'a target that cannot be dialled',
    )
    const address = targetAddress(parsed.target)
    const again = parseTarget(`${agent === undefined ? '' : `${agent}@`}${address}`)
    must(again.ok && again.target.agent === agent, 'its address is no target, or one of another agent')
    must(again.ok && targetAddress(again.target) === address, 'its address is the address of another target')
    return `${agent === undefined ? '' : 'agent'} ${host.includes(':') ? 'IPv6' : 'host'}`
  },
}

export const TARGETS: readonly FuzzTarget[] = Object.freeze([
  cbor,
  frame,
  deframer,
  connection('daemon', true, fromClient),
  connection('daemon', false, fromClient),
  connection('client', true, fromDaemon),
  payload,
  zstd,
  json,
  commandLine,
  range,
  target,
  ...COMMAND_TARGETS,
  workTarget,
  ...DECISION_TARGETS,
  ...RECORD_TARGETS,
  ...EGRESS_TARGETS,
  ...INTENT_TARGETS,
])
