import { createServer } from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import t from 'tap'
import { createHttpGuard, type HttpGuardPlan } from '../../../src/egress/guards/http-guard.ts'

const PLAN: HttpGuardPlan = { name: 'a.example', port: 80, methods: undefined }

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0))
}

/** What passes of `text` when it comes in pieces of that size, and the reason of a reset. */
function passed(text: string, { plan = PLAN, pieceBytes = 1e9 } = {}): { passed: string; reset?: string } {
  const guard = createHttpGuard(plan)
  let held = ''
  let all = ''
  for (let at = 0; at < text.length; at += pieceBytes) {
    held += text.slice(at, at + pieceBytes)
    const step = guard.take(bytesOf(held))
    if (step.kind === 'reset') return { passed: all, reset: step.reason }
    all += held.slice(0, step.bytes)
    held = held.slice(step.bytes)
  }
  return { passed: all }
}

const GET = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'
const POST = 'POST /x?y HTTP/1.1\r\nhost: A.Example.:80\r\nContent-Length: 5\r\n\r\nhello'
const CHUNKED =
  'PUT /x HTTP/1.1\r\nHost:a.example \r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b\r\nhello\r\n00A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n'

t.test('requests one after the other pass, whatever they are cut into', (t) => {
  const text = GET + POST + CHUNKED + GET + CHUNKED + POST
  for (const pieceBytes of [1, 2, 3, 7, 64, 1e9])
    t.strictSame(passed(text, { pieceBytes }), { passed: text }, String(pieceBytes))
  for (const fine of [
    'GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n',
    'GET HTTP://A.example:80 HTTP/1.1\r\nHost: a.example\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n',
    'GET / HTTP/1.0\r\nHost: a.example\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\nX-Caf\xe9: 1\r\n\r\n'.replace('\xe9', ''),
    'GET /caf\xe9 HTTP/1.1\r\nHost: a.example\r\nReferer: caf\xe9\r\nEmpty:\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n',
  ])
    t.strictSame(passed(fine), { passed: fine }, fine)
  t.end()
})

t.test('a head that is not whole does not pass, and a body does as it comes', (t) => {
  t.strictSame(passed(GET.slice(0, -1)), { passed: '' })
  t.strictSame(passed(POST.slice(0, -2)), { passed: POST.slice(0, -2) })
  t.strictSame(passed(`${GET}GET / HT`), { passed: GET })
  t.end()
})

t.test('another host is reset, in the first request or a later one', (t) => {
  for (const request of [
    'GET / HTTP/1.1\r\nHost: b.example\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.0\r\n\r\n',
    'GET / HTTP/1.1\r\nHost:\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a.example\r\nhOST: b.example\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a.example:8080\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a.example:\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: b.example@a.example\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: xa.example\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a.example/b\r\n\r\n',
    'GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n',
    'GET http://a.example@b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n',
    'GET http://a.example:81/ HTTP/1.1\r\nHost: a.example\r\n\r\n',
  ]) {
    t.strictSame(passed(request), { passed: '', reset: 'http_other_host' }, request)
    t.equal(passed(GET + request, { pieceBytes: GET.length }).passed, GET)
    t.equal(passed(POST + request).reset, 'http_other_host')
    t.equal(passed(CHUNKED + request, { pieceBytes: 5 }).reset, 'http_other_host')
  }
  t.end()
})

t.test('a proxy is not asked for, and only listed methods pass', (t) => {
  t.equal(passed('CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n').reset, 'http_method')
  const plan = { ...PLAN, methods: ['GET', 'HEAD'] }
  t.equal(passed(GET, { plan }).passed, GET)
  t.equal(passed(POST, { plan }).reset, 'http_method')
  t.equal(passed(GET + POST, { plan, pieceBytes: GET.length }).passed, GET)
  t.end()
})

t.test('what can be read in two ways is reset', (t) => {
  const head = 'POST / HTTP/1.1\r\nHost: a.example\r\n'
  for (const request of [
    `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `${head}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
    `${head}Content-Length: 5, 5\r\n\r\nhello`,
    `${head}Content-Length: +5\r\n\r\nhello`,
    `${head}Content-Length: 0x5\r\n\r\nhello`,
    `${head}Content-Length: -1\r\n\r\n`,
    `${head}Content-Length:\r\n\r\n`,
    `${head}Content-Length: 999999999999999\r\n\r\n`,
    `${head}Transfer-Encoding: gzip, chunked\r\n\r\n`,
    `${head}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `${head}Transfer-Encoding: xchunked\r\n\r\n`,
    `${head}Transfer-Encoding:\x0bchunked\r\n\r\n`,
    `${head}Transfer-Encoding: chunked\xa0\r\n\r\n`,
    `${head}Transfer-Encoding: \x85chunked\r\n\r\n`,
    `${head}Content-Length: 5\xa0\r\n\r\nhello`,
    'POST / HTTP/1.0\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n',
    `${head}Content-Length : 5\r\n\r\nhello`,
    `${head} folded: 5\r\n\r\n`,
    `${head}\tfolded: 5\r\n\r\n`,
    `${head}No colon\r\n\r\n`,
    `${head}: empty\r\n\r\n`,
    `${head}X: a\0b\r\n\r\n`,
    `${head}X: a\rY: b\r\n\r\n`,
    `${head}X: a\nY: b\r\n\r\n`,
    'GET / HTTP/1.1\nHost: a.example\n\n',
    '\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n',
    'GET  / HTTP/1.1\r\nHost: a.example\r\n\r\n',
    'GET / HTTP/1.1 \r\nHost: a.example\r\n\r\n',
    'GET /\tx HTTP/1.1\r\nHost: a.example\r\n\r\n',
    'get / HTTP/1.1\r\nHost: a.example\r\n\r\n',
    'GET / HTTP/2.0\r\nHost: a.example\r\n\r\n',
    'GET /\r\n\r\n',
    'GET x HTTP/1.1\r\nHost: a.example\r\n\r\n',
    'GET * HTTP/1.1\r\nHost: a.example\r\n\r\n',
    'GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\x81\x85\x37\xfa\x21\x3d\r\n\r\n',
    `${head}${'X: y\r\n'.repeat(128)}\r\n`,
    `${head}X: ${'y'.repeat(16_384)}\r\n\r\n`,
    'G'.repeat(16_385),
  ])
    t.strictSame(passed(request), { passed: '', reset: 'http_malformed' }, request.slice(0, 80))
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`
  for (const body of [
    '\r\n',
    'x\r\n',
    '-1\r\n',
    '0x5\r\nhello\r\n',
    ' 5\r\nhello\r\n',
    '5 \r\nhello\r\n',
    '5\nhello\r\n',
    '5\r\nhelloX\r\n',
    '5\r\nhello\n',
    '1234567890123\r\n',
    `5;${'x'.repeat(256)}\r\n`,
    `5;${'x'.repeat(300)}`,
    '0\r\nHost: b.example\r\n\r\n',
    '0\r\nTransfer-Encoding: chunked\r\n\r\n',
    '0\r\nno colon\r\n\r\n',
    `0\r\n${'X: y\r\n'.repeat(4_000)}\r\n`,
  ])
    t.equal(passed(chunked + body).reset, 'http_malformed', body.slice(0, 40))
  t.end()
})

t.test('where an address is listed, every host is, and none is no request', (t) => {
  const plan: HttpGuardPlan = { name: undefined, port: 80, methods: ['GET'] }
  t.equal(passed('GET / HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n', { plan }).reset, undefined)
  t.equal(passed('GET / HTTP/1.1\r\n\r\n', { plan }).reset, 'http_other_host')
  t.equal(passed('POST / HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n', { plan }).reset, 'http_method')
  t.end()
})

t.test('cuts change nothing, and what is held back is bounded', (t) => {
  const piece = fc.constantFrom(
    ...[GET, POST, CHUNKED, 'GET /', ' HTTP/1.1\r\n', '\r\n', 'Host: a.example\r\n', 'Host: b.example\r\n'],
    ...[
      'Content-Length: 3\r\n',
      'Transfer-Encoding: chunked\r\n',
      '3\r\nabc\r\n',
      '0\r\n\r\n',
      'x'.repeat(9_000),
    ],
  )
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 12 }),
      fc.integer({ min: 16, max: 200 }),
      (pieces, pieceBytes) => {
        const text = pieces.join('')
        const whole = passed(text)
        const cut = passed(text, { pieceBytes })
        if (whole.reset !== cut.reset) throw new Error(`${whole.reset} ${cut.reset}`)
        if (whole.reset === undefined && whole.passed !== cut.passed) throw new Error('passed')
        if (whole.reset === undefined && text.length - whole.passed.length > 16_384) throw new Error('held')
      },
    ),
    { numRuns: 50 },
  )
  t.end()
})

/** The Host of each request that Node's server reads in `text`. */
async function hostsRead(text: string): Promise<string[]> {
  const hosts: string[] = []
  const server = createServer({ insecureHTTPParser: true, requireHostHeader: false }, (request, response) => {
    hosts.push(request.headersDistinct['host']?.join() ?? '')
    request.resume()
    response.end()
  })
  server.on('clientError', () => {})
  const socket = new Duplex({ read() {}, write: (_bytes, _encoding, done) => done() })
  server.emit('connection', socket)
  socket.push(Buffer.from(text, 'latin1'))
  await new Promise((resolve) => setTimeout(resolve, 5))
  socket.destroy()
  return hosts
}

t.test('in what passes another program, however lenient, reads no other host', async (t) => {
  t.strictSame(await hostsRead(GET + CHUNKED), ['a.example', 'a.example'])
  const piece = fc.constantFrom(
    ...[
      GET,
      POST,
      CHUNKED,
      'GET / HTTP/1.1\r\n',
      'POST / HTTP/1.1\r\n',
      '\r\n',
      '\n',
      '\r',
      ' ',
      '\t',
      '\0',
      '\xa0',
      ':',
    ],
    ...[
      'Host: a.example\r\n',
      'Host: b.example\r\n',
      'GET / HTTP/1.1\r\nHost: b.example\r\n\r\n',
      'Content-Length: 3',
    ],
    ...[
      'Content-Length: 0',
      'Transfer-Encoding: chunked',
      'Transfer-Encoding:',
      'chunked',
      'identity',
      ',',
      '3\r\nabc\r\n',
    ],
    ...['0\r\n\r\n', '0\r\n', 'abc', ';', 'Connection: upgrade\r\n', 'Upgrade: h2c\r\n', 'HTTP/1.0'],
  )
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 14 }), async (pieces) => {
      const text = pieces.join('')
      const { passed: through } = passed(text)
      const others = (await hostsRead(through)).filter((host) => !/^a\.example\.?(?::80)?$/i.test(host))
      if (others.length > 0) throw new Error(`${others}`)
    }),
    { numRuns: 300 },
  )
})
