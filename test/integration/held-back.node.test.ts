/**
 * A real program behind a link that stops: it is held back while its client is there, loses its oldest output while
 * nobody is, and the daemon reads no further than it may send.
 * @module
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { MAX_WINDOW_BYTES, PIPE_READ_BYTES, RING_BYTES } from '../../src/limits.ts'
import { startLab } from '../links/lab.node.ts'
import { ON_REAL_FILES, sleep, startNew, until } from './daemon.node.ts'

const daemon = await startNew(t, ON_REAL_FILES)

const enter = (port = daemon.port) =>
  connect({
    host: '127.0.0.1',
    port,
    agent: 'agent',
    privateKey: daemon.seed(),
    pin: daemon.fingerprint,
    compression: 'never',
  })

/** `state` of an execution. */
const FINISHED = 2
const LINES = 2_000_000
const ALL_BYTES = Array.from({ length: 7 }, (_, index) => index + 1).reduce(
  (sum, digits) => sum + (Math.min(10 ** digits - 1, LINES) - 10 ** (digits - 1) + 1) * (digits + 1),
  0,
)

/** Tells its process id first, and writes every number from 1 on. */
const COUNTER = ['-c', `echo $$ >&2; exec seq 1 ${LINES}`] as const

/** What it has written once it writes no more. */
async function settledBytes(pid: number): Promise<number> {
  const written = () => Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1])
  for (let last = -1; ; await sleep(250)) {
    const now = written()
    if (now === last) return now
    last = now
  }
}

t.test('while its client is there, a stopped link holds it back, and no byte is missing', async (t) => {
  const lab = await startLab({ target: { host: '127.0.0.1', port: daemon.port }, seed: 1 })
  const client = await enter(lab.port)
  let [text, pid, nextLine, received] = ['', 0, 1, 0]
  const running = client.stream('sh', COUNTER, {
    output(source, bytes) {
      if (source === 'stderr') {
        pid = Number(Buffer.from(bytes).toString())
        return
      }
      received += bytes.length
      text += Buffer.from(bytes).toString('latin1')
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines)
        if (line !== String(nextLine++)) throw new Error(`${line} after ${nextLine - 2}`)
    },
  })
  await until('some output', () => received > 1_000_000 && pid > 0)
  lab.link.stall()
  const written = await settledBytes(pid)
  const ahead = written - received
  t.ok(written < ALL_BYTES, `${written} bytes`)
  t.ok(ahead <= MAX_WINDOW_BYTES + PIPE_READ_BYTES, `${ahead} bytes are ahead`)
  lab.link.go()
  t.equal((await running.exit).exitCode, 0)
  t.equal(nextLine, LINES + 1)
  t.equal(received, ALL_BYTES)
  await client.close()
  await lab.close()
})

t.test('with nobody there it goes on to its end, and the last of its output is kept', async (t) => {
  const client = await enter()
  const running = client.stream('sh', COUNTER, { output() {} })
  await running.started
  running.detach()
  await until('its end', async () => (await client.executions()).every(({ state }) => state === FINISHED))
  let [from, bytes] = [-1, 0]
  const back = client.attach(running.id, {
    tail: 2 * RING_BYTES,
    output(source, data, offset) {
      if (source !== 'stdout') return
      if (from < 0) from = offset
      bytes += data.length
    },
  })
  t.equal((await back.exit).exitCode, 0)
  t.strictSame([from, bytes], [ALL_BYTES - RING_BYTES, RING_BYTES])
  await client.close()
})
