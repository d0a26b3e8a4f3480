/**
 * Strangers: what a process of the device gets that asks without authenticating, and what an address gets that fails
 * too often. After each attack the test looks at the host.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fileDownloadRequest } from '../../src/wire/file-messages.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { executeRequest } from '../../src/wire/messages.ts'
import { authenticateFrame, framesIn, isServed, tls } from './connections.node.ts'
import { type Daemon, startNew, until } from './daemon.node.ts'

const TARPIT = { chunk_bytes: 64, total_bytes: 128, delay_ms: 50 }
type Fields = ReadonlyMap<number, unknown>

type Heard =
  | { readonly kind: 'answer'; readonly code: unknown; readonly text: string }
  | { readonly kind: 'noise' }

/** What somebody gets who has not authenticated. */
async function unproven(daemon: Daemon, command: string, ...args: string[]): Promise<Heard> {
  const wire = await tls(daemon.port)
  wire.socket.write(encodeFrame(1, 'OPEN', executeRequest.encode({ command, args }), 1))
  let last: ReturnType<typeof framesIn>[number] | undefined
  await until('an answer or an end', async () => {
    last = framesIn(wire.received()).at(-1)
    return last !== undefined || wire.socket.destroyed
  })
  wire.socket.destroy()
  if (last?.kind !== 'END') return { kind: 'noise' }
  const fields = last.payload as Fields
  const output = fields.get(2) as Uint8Array | undefined
  return { kind: 'answer', code: fields.get(1), text: Buffer.from(output ?? []).toString() }
}

/** Letters as a, digits as 9, everything else as it is. */
const shapeOf = (text: string): string =>
  text.replace(/[a-z]/g, 'a').replace(/[A-Z]/g, 'A').replace(/[0-9]/g, '9')

function answered(t: Test, heard: Heard, what: string): string {
  if (heard.kind === 'noise') throw new Error(`noise for ${what}`)
  t.equal(heard.code, 0, what)
  return heard.text
}

t.test(
  'a process of the device that only asks to read gets an answer of the right shape that is not true (SS-45)',
  async (t) => {
    const daemon = await startNew(t, { defense: { tarpit: TARPIT } })
    const begin = performance.now()
    const hostname = answered(t, await unproven(daemon, 'cat', '/etc/hostname'), 'cat')
    t.ok(performance.now() - begin > 200, 'slowly')
    const real = readFileSync('/etc/hostname', 'utf8')
    t.equal(shapeOf(hostname), shapeOf(real))
    t.not(hostname, real)

    const id = answered(t, await unproven(daemon, 'id'), 'id')
    t.match(shapeOf(id), /^aaa=9+(\([\w-]+\))? aaa=9+(\([\w-]+\))? aaaaaa=9+/)
    t.notMatch(id, execFileSync('id', { encoding: 'utf8' }).trim())

    const df = answered(t, await unproven(daemon, 'df'), 'df')
    t.match(df.split('\n')[0], /^Filesystem +1K-blocks +Used +Available +Use% +Mounted on$/)
    t.ok(df.split('\n').length > 2)
    const sizes = (text: string) => text.split('\n').flatMap((line) => line.match(/\b\d{5,}\b/g) ?? [])
    const realSizes = new Set(sizes(execFileSync('df', { encoding: 'utf8' })))
    t.ok(sizes(df).length > 0)
    t.notOk(
      sizes(df).every((size) => realSizes.has(size)),
      'another disk',
    )
    const memory = answered(t, await unproven(daemon, 'cat', '/proc/meminfo'), 'meminfo')
    const total = /^MemTotal: +\d+ kB$/m
    t.match(memory, total)
    t.not(total.exec(memory)?.[0], total.exec(readFileSync('/proc/meminfo', 'utf8'))?.[0], 'another memory')
    const passwd = answered(t, await unproven(daemon, 'cat', '/etc/passwd'), 'cat')
    t.equal(passwd.split('\n').length, readFileSync('/etc/passwd', 'utf8').split('\n').length)
    t.notMatch(passwd, 'root:')

    const records = daemon.audit().filter(({ action }) => action === 'deceive')
    t.ok(records.length >= 4)
    t.match(records[0], { response: 'R1', code: 'SPOOFED_RESPONSE', agent: null })
    t.notMatch(JSON.stringify(records), 'hostname')
    await isServed(t, daemon)
  },
)

t.test('a file asked for without authentication comes masked too', async (t) => {
  const daemon = await startNew(t)
  const wire = await tls(daemon.port)
  const request = fileDownloadRequest.encode({ remote_path: '/etc/hostname' })
  wire.socket.write(encodeFrame(1, 'OPEN', request, 6))
  await until('the end', () => framesIn(wire.received()).some(({ kind }) => kind === 'END'))
  const chunk = framesIn(wire.received())[0]?.payload as Fields
  const text = Buffer.from(chunk.get(2) as Uint8Array).toString()
  t.equal(shapeOf(text), shapeOf(readFileSync('/etc/hostname', 'utf8')))
  t.not(text, readFileSync('/etc/hostname', 'utf8'))
  wire.socket.destroy()
})

t.test(
  'what would change something, start something or read too much is noise, and nothing happens',
  async (t) => {
    const daemon = await startNew(t, { defense: { tarpit: TARPIT } })
    const victim = join(daemon.directory, 'victim')
    writeFileSync(victim, 'as it was')
    const before = readdirSync(daemon.directory).sort()
    for (const [command, ...args] of [
      ['rm', victim],
      ['rm', 'x'],
      ['sh', '-c', `touch ${daemon.directory}/new`],
      ['find', daemon.directory, '-delete'],
      ['find', daemon.directory, '-exec', 'rm', '{}', ';'],
      ['env', 'touch', join(daemon.directory, 'new')],
      ['cp', victim, `${victim}2`],
      ['reboot'],
    ] as const) {
      t.same(await unproven(daemon, command, ...args), { kind: 'noise' }, `${command} ${args.join(' ')}`)
    }
    t.equal(readFileSync(victim, 'utf8'), 'as it was')
    t.same(readdirSync(daemon.directory).sort(), before)
    t.ok(daemon.log().some((line) => line.includes('localhost.unauthorized')))
    await isServed(t, daemon)
  },
)

t.test('the daemon’s own keys and state are not read for a stranger, not even masked', async (t) => {
  const daemon = await startNew(t, { defense: { tarpit: TARPIT } })
  for (const name of ['keys/operator.key', 'state/audit/audit.jsonl', 'sass.edge.json']) {
    const path = join(daemon.directory, '.sass-edge', name)
    const heard = await unproven(daemon, 'cat', path)
    if (heard.kind === 'noise') continue
    t.equal(heard.text, '', `${name} is not there for it`)
  }
  t.ok(existsSync(join(daemon.directory, '.sass-edge/keys/operator.key')))
})

t.test('with localhost.enabled false everything is noise', async (t) => {
  const daemon = await startNew(t, { defense: { tarpit: TARPIT, localhost: { enabled: false } } })
  t.same(await unproven(daemon, 'cat', '/etc/hostname'), { kind: 'noise' })
})

t.test('only so many are answered at a time; one more gets noise', async (t) => {
  const daemon = await startNew(t, { defense: { tarpit: TARPIT, localhost: { max_concurrent: 1 } } })
  const both = await Promise.all([unproven(daemon, 'id'), unproven(daemon, 'id'), unproven(daemon, 'id')])
  t.same(both.map(({ kind }) => kind).sort(), ['answer', 'noise', 'noise'])
  t.equal((await unproven(daemon, 'id')).kind, 'answer', 'and then the next one again')
})

t.test('an address that fails too often is reset before TLS, until its penalty is cleared', async (t) => {
  const daemon = await startNew(t, {
    acl: { penalties: { exempt: [] } },
    defense: { tarpit: TARPIT },
  })
  const fail = async () => {
    const wire = await tls(daemon.port)
    wire.socket.write(authenticateFrame(wire.socket, 'agent', daemon.seed('operator')))
    return wire.closed
  }
  // Three of them reach the minimum, were it not for the time between them.
  for (let count = 0; count < 4; count++) t.equal(await fail(), 'fin', 'noise, and its end')
  const next = await tls(daemon.port)
  t.equal(await next.closed, 'reset')
  t.equal(next.received().length, 0)
  const list = async () =>
    JSON.parse((await daemon.cli(['penalties', 'list', '--json'])).stdout.toString()).penalties
  t.match(await list(), [{ source: '127.0.0.1', active: true, reason: 'auth_failed' }])
  const cleared = await daemon.cli(['penalties', 'clear', '127.0.0.1'])
  t.match(cleared, { code: 0, stdout: /1 penalty was lifted/ })
  t.same(await list(), [])
  await isServed(t, daemon)
  t.ok(daemon.audit().some(({ action, agent }) => action === 'clear_penalties' && agent !== null))
})
