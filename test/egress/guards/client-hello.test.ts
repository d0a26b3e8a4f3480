import { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import fc from 'fast-check'
import t from 'tap'
import { readClientHello } from '../../../src/egress/guards/client-hello.ts'
import { type HelloParts, helloMessage, records, serverName } from '../hello.ts'

function read(parts: HelloParts) {
  return readClientHello(Uint8Array.from(records(helloMessage(parts))))
}

/** What OpenSSL sends first. */
function realHello(options: { servername?: string; maxVersion?: 'TLSv1.2' }): Promise<Uint8Array> {
  return new Promise((resolve) => {
    const socket = new Duplex({
      read() {},
      write(chunk: Uint8Array, _encoding, done) {
        resolve(chunk)
        done()
      },
    })
    connect({ socket, ...options }).on('error', () => {})
  })
}

t.test('the name of a real client is read, of both versions', async (t) => {
  for (const options of [{}, { maxVersion: 'TLSv1.2' }] as const) {
    const bytes = await realHello({ servername: 'A.example', ...options })
    t.match(readClientHello(bytes), { kind: 'read', name: 'a.example', end: bytes.length })
  }
  t.strictSame(readClientHello(await realHello({})), { kind: 'refused', reason: 'hello_without_name' })
})

t.test('a message may come in records, and those in pieces', (t) => {
  const message = helloMessage({ extensions: [[21, new Array(2_000).fill(0)]] })
  for (const recordBytes of [16_384, 1_000, 150]) {
    const bytes = Uint8Array.from(records(message, recordBytes))
    for (let length = 0; length < bytes.length; length++) {
      const step = readClientHello(bytes.subarray(0, length))
      if (step.kind !== 'more' || step.bytes <= length || step.bytes > bytes.length)
        throw new Error(`${length} of ${recordBytes}: ${JSON.stringify(step)}`)
    }
    t.match(readClientHello(bytes), {
      kind: 'read',
      name: 'a.example',
      hasEarlyData: false,
      end: bytes.length,
    })
  }
  t.end()
})

t.test('what hides or leaves out the name is refused', (t) => {
  const refused = (reason: string) => ({ kind: 'refused', reason })
  for (const type of [0xfe0d, 0xfe0a, 0xfe09, 0xfe08, 0xffce])
    t.strictSame(read({ extensions: [[type, [0, 1, 2]]] }), refused('hello_encrypted'))
  t.strictSame(read({ names: [] }), refused('hello_without_name'))
  t.strictSame(read({ hasExtensions: false }), refused('hello_without_name'))
  t.strictSame(read({ names: ['a.example', 'b.example'] }), refused('hello_malformed'), 'an extension twice')
  for (const name of ['', '127.0.0.1', 'evil.com\0.google.com', 'b\u00fc.example', 'a'.repeat(300)])
    t.strictSame(read({ names: [name] }), refused('hello_malformed'), name)
  const [, one] = serverName('a.example')
  const two = [0, one.length * 2 - 2, ...one.slice(2), ...one.slice(2)]
  t.strictSame(read({ names: [], extensions: [[0, two]] }), refused('hello_malformed'), 'two names in one')
  t.strictSame(read({ names: [], extensions: [[0, []]] }), refused('hello_malformed'))
  t.strictSame(
    read({ names: [], extensions: [[0, [0, 4, 1, 0, 1, 97]]] }),
    refused('hello_malformed'),
    'another kind',
  )
  t.match(read({ names: ['A.EXAMPLE.'] }), { kind: 'read', name: 'a.example' })
  t.match(read({ extensions: [[42, []]] }), { kind: 'read', hasEarlyData: true })
  t.end()
})

t.test('what is no TLS, does not fit or is too long is refused', (t) => {
  const given = (bytes: readonly number[]) => readClientHello(Uint8Array.from(bytes))
  const message = helloMessage()
  const notTls = { kind: 'refused', reason: 'not_tls' }
  const malformed = { kind: 'refused', reason: 'hello_malformed' }
  t.strictSame(given([0x47]), notTls, 'HTTP')
  t.strictSame(given([0x80, 0x2e, 1]), notTls, 'SSL 2')
  t.strictSame(given([0x16, 2]), notTls)
  t.strictSame(given(records([2, ...message.slice(1)])), notTls, 'a ServerHello')
  t.strictSame(given(records([...message, 0])), malformed, 'something behind it')
  t.strictSame(given([0x16, 3, 1, 0, 0]), malformed, 'an empty record')
  t.strictSame(given(records(message, 3)), malformed, 'too many records')
  t.strictSame(given(records([1, 0, 0x40, 0, ...new Array(100).fill(0)])), malformed, 'too long')
  t.strictSame(given([0x16, 3, 1, 0x40, 1, 1]), malformed, 'a record too long')
  t.strictSame(
    given([...records(message.slice(0, 20)), ...records([0x40, 0], 2, 0x17)]),
    notTls,
    'a record between',
  )
  for (let at = 4; at < message.length; at++) {
    const cut = message.slice(0, at)
    const step = given(records([1, 0, (cut.length - 4) >> 8, (cut.length - 4) & 0xff, ...cut.slice(4)]))
    if (step.kind === 'read') t.fail(`read at ${at}`)
  }
  t.end()
})

t.test('any bytes are read without an error, and what is waited for is bounded', (t) => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 300 }), fc.nat(200), (noise, at) => {
      const message = helloMessage()
      message.splice(at % message.length, noise.length % 5, ...noise)
      const step = readClientHello(Uint8Array.from(records(message, 1 + (at % 60))))
      if (step.kind === 'more' && step.bytes > 16_384 + 16 * 5) throw new Error(String(step.bytes))
    }),
  )
  t.end()
})
