/**
 * Strangers of this host: harmless reads are played along with, slowly, masked and bounded; all else is noise.
 * @module
 */
import t from 'tap'
import { fileDownloadRequest } from '../../../src/wire/file-messages.ts'
import { executeRequest } from '../../../src/wire/messages.ts'
import {
  type Client,
  connect,
  type Stage,
  type StagedChild,
  type StageOptions,
  stageRooms,
} from '../stage.ts'

const LOCAL = { remoteAddress: '127.0.0.1' } as const
const turn = () => new Promise((resolve) => setImmediate(resolve))

type Strange = Stage & { readonly client: Client; ask(command: string, ...args: string[]): number }

function stage(options: StageOptions = {}, address: string = LOCAL.remoteAddress): Strange {
  const staged = stageRooms({ penalties: { enabled: false }, ...options })
  const client = connect(staged, { remoteAddress: address })
  return {
    ...staged,
    client,
    ask: (command, ...args) => client.open('ExecuteStream', executeRequest.encode({ command, args })),
  }
}

/** Lets the delay pass and the confined spawner be there. */
async function begin({ clock, confined }: Strange): Promise<StagedChild> {
  clock.pass(1_500)
  await turn()
  const child = confined.children.at(-1)
  if (child === undefined) throw new Error('nothing was started')
  return child
}

const noise = ({ client }: Strange) =>
  client.transport.deeds[0] === 'pause' && client.transport.writes.length === 1
const text = (client: Client, stream: number, source = 0) =>
  client
    .on(stream)
    .filter(({ value }) => value?.['source'] === source && value?.['data'] !== undefined)
    .map(({ value }) => value?.['data'])
    .join('')

t.test(
  'a harmless read really runs, confined, and what it prints keeps its shape and loses its meaning',
  async (t) => {
    const staged = stage()
    const { client, confined, spawner, rooms } = staged
    const stream = staged.ask('cat', '/etc/hostname')
    staged.clock.pass(199)
    await turn()
    t.strictSame([confined.children.length, client.on(stream).length], [0, 0], 'never at once')
    const child = await begin(staged)
    t.match(child.plan, {
      file: '/bin/cat',
      argv: ['cat', '/etc/hostname'],
      environment: [],
      cwd: '/',
      stdin: 'none',
    })
    t.equal(spawner.children.length, 0, 'not where commands of callers run')
    child.events.spawned(1)
    child.events.output(0, Buffer.from('Edge-07 is 42\n'))
    child.events.output(1, Buffer.from('warn\n'))
    child.events.exited({ kind: 'exited', code: 3 })
    t.match(text(client, stream), /^[A-Z][a-z]{3}-\d\d [a-z]{2} \d\d\n$/)
    t.not(text(client, stream), 'Edge-07 is 42\n')
    t.match(text(client, stream, 1), /^[a-z]{4}\n$/)
    t.match(client.on(stream)[0]?.value, { source: 2, execution_id: String })
    t.match(client.on(stream).at(-1), { kind: 'ended', value: { exit_code: 3 } })
    t.strictSame([rooms.deceptions.free, staged.clock.timers], [2, 0])
    t.strictSame(client.transport.deeds, [])
    t.end()
  },
)

t.test('it is answered on every method that reads', async (t) => {
  for (const method of ['Execute', 'ExecuteStream', 'FileDownload'] as const) {
    const staged = stage()
    const request =
      method === 'FileDownload'
        ? fileDownloadRequest.encode({ remote_path: '/etc/hostname' })
        : executeRequest.encode({ command: 'cat', args: ['/etc/hostname'] })
    const stream = staged.client.open(method, request)
    const child = await begin(staged)
    t.equal(child.plan.argv.at(-1), '/etc/hostname')
    child.events.output(0, Buffer.from('abc'))
    child.events.exited({ kind: 'exited', code: 0 })
    const last = staged.client.on(stream).at(-1)
    t.equal(last?.kind, 'ended', method)
    if (method === 'Execute') t.match(last?.value, { exit_code: 0, stdout: /^[a-z]{3}$/ })
    if (method === 'FileDownload') t.match(last?.value, { total_size: 3 })
  }
  t.end()
})

t.test('figures of disk and memory are made up, and nothing runs for them', async (t) => {
  const staged = stage()
  for (const command of ['df', 'free']) {
    const stream = staged.ask(command)
    staged.clock.pass(1_500)
    await turn()
    t.ok(text(staged.client, stream).length > 50, command)
    t.match(staged.client.on(stream).at(-1), { kind: 'ended', value: { exit_code: 0 } })
  }
  t.equal(staged.confined.children.length, 0)
  t.equal(staged.rooms.deceptions.free, 2)
  t.end()
})

t.test('what only writes, or is not plain, gets noise; so does every other method', (t) => {
  for (const request of [
    { command: 'rm', args: ['-rf', '/'] },
    { command: 'sh', args: ['-c', 'id'] },
    { command: 'cat', args: ['/dev/sda'] },
    { command: 'cat', args: ['/etc/hostname'], pty: { rows: 24, cols: 80 } },
    { command: 'cat', args: ['/etc/hostname'], is_reattach: true },
    { command: '', raw_payload: 'AAAA' },
  ]) {
    const staged = stage()
    staged.client.open('ExecuteStream', executeRequest.encode(request))
    t.ok(noise(staged), JSON.stringify(request))
    t.strictSame([staged.rooms.deceptions.free, staged.rooms.responses.get(5)], [2, 1])
  }
  for (const method of ['Ping', 'SecurityStatus', 'FileUpload', 'ListExecutions'] as const) {
    const staged = stage()
    staged.client.open(method, new Map())
    t.ok(noise(staged), method)
  }
  const incomplete = stage()
  incomplete.client.open('Execute', new Map([[1, 7]]))
  t.ok(noise(incomplete), 'and is never told what is wrong with it')
  t.end()
})

t.test(
  'a stranger from anywhere else gets noise, whatever it asks, and so does everybody where it is off',
  (t) => {
    for (const staged of [stage({}, '192.0.2.7'), stage({}, '2001:db8::1'), stage({ deceives: false })]) {
      staged.ask('cat', '/etc/hostname')
      t.ok(noise(staged))
      t.equal(staged.confined.children.length, 0)
    }
    const mapped = stage({}, '::ffff:127.0.0.1')
    mapped.ask('cat', '/etc/hostname')
    t.notOk(noise(mapped), 'loopback in another form is loopback')
    t.end()
  },
)

t.test('two at a time; the third gets noise, and a place is free again after', async (t) => {
  const staged = stage()
  const [first, second, third] = [staged, ...[1, 2].map(() => connect(staged, LOCAL))].map((one) =>
    'client' in one ? one.client : one,
  )
  const ask = (client: Client | undefined) =>
    client?.open('ExecuteStream', executeRequest.encode({ command: 'id' }))
  ask(first)
  ask(second)
  t.equal(staged.rooms.deceptions.free, 0)
  ask(third)
  t.equal(third?.transport.deeds[0], 'pause')
  first?.events.closed()
  t.equal(staged.rooms.deceptions.free, 1)
  t.match(staged.audit.events, [
    { code: 'SPOOFED_RESPONSE', rule: 'localhost.deception', agent: null },
    { code: 'SPOOFED_RESPONSE' },
  ])
  t.match(staged.logged.findLast(({ event }) => event === 'refused')?.fields, {
    rule: 'localhost.unauthorized',
  })
  t.end()
})

t.test('a connection that goes ends what runs and gives its place back, at every moment', async (t) => {
  for (const moment of ['before the delay', 'before the spawner', 'while it runs'] as const) {
    const staged = stage()
    staged.ask('cat', '/etc/hostname')
    if (moment !== 'before the delay') staged.clock.pass(1_500)
    if (moment === 'while it runs') await turn()
    staged.client.events.closed()
    await turn()
    t.strictSame([staged.rooms.deceptions.free, staged.clock.timers], [2, 0], moment)
    t.strictSame(
      staged.confined.children.map(({ deeds }) => deeds),
      moment === 'while it runs' ? [['killTree']] : [],
    )
  }
  const reset = stage()
  const stream = reset.ask('cat', '/etc/hostname')
  const child = await begin(reset)
  reset.client.connection.reset(stream)
  t.strictSame([child.deeds, reset.rooms.deceptions.free], [['killTree'], 2])
  t.doesNotThrow(() => child.events.exited({ kind: 'signalled', signal: 9 }), 'its end is heard by nobody')
  t.end()
})

t.test('it ends when its time is over, with what there was until then', async (t) => {
  const staged = stage({ deceptions: { milliseconds: 5_000 } })
  const stream = staged.ask('find', '/etc')
  const child = await begin(staged)
  child.events.output(0, Buffer.from('/etc\n'))
  staged.clock.pass(3_500)
  t.strictSame(child.deeds, ['killTree'])
  t.match(text(staged.client, stream), /^\/[a-z]{3}\n$/)
  t.equal(staged.client.on(stream).at(-1)?.kind, 'ended')
  t.equal(staged.rooms.deceptions.free, 2)
  t.end()
})

t.test('no more than its bytes leave, cut where they are used up', async (t) => {
  const staged = stage({ deceptions: { bytes: 10 } })
  const stream = staged.ask('cat', '/etc/services')
  const child = await begin(staged)
  child.events.output(0, Buffer.from('abcdef'))
  child.events.output(0, Buffer.from('ghijklmnop'))
  t.match(text(staged.client, stream), /^[a-z]{10}$/)
  t.strictSame(child.deeds, ['killTree'])

  const wide = stage({ deceptions: { bytes: 1_000_000 } })
  const large = wide.ask('cat', '/etc/services')
  const loud = await begin(wide)
  for (let index = 0; index < 10; index++)
    loud.events.output(index % 2 === 0 ? 0 : 1, new Uint8Array(20_000).fill(97))
  const sent = text(wide.client, large).length + text(wide.client, large, 1).length
  t.ok(sent > 60_000 && sent <= 65_536, `${sent} bytes: one window`)
  t.end()
})

t.test('a device that cannot confine it answers as if the program were not there', async (t) => {
  const staged = stage({ confines: false })
  const stream = staged.ask('cat', '/etc/hostname')
  staged.clock.pass(1_500)
  await turn()
  t.match(staged.client.on(stream).at(-1), { kind: 'ended', value: { exit_code: 127 } })
  t.equal(staged.spawner.children.length, 0, 'and runs it nowhere else')
  t.equal(staged.rooms.deceptions.free, 2)
  const missing = stage({ finder: { find: () => undefined } })
  const none = missing.ask('cat', '/etc/hostname')
  missing.clock.pass(1_500)
  await turn()
  t.match(missing.client.on(none).at(-1), { kind: 'ended', value: { exit_code: 127 } })
  t.end()
})

t.test('what fails inside is the end of it, and of nothing else', async (t) => {
  const staged = stage()
  staged.confined.refusal = new Error('no thread')
  const stream = staged.ask('cat', '/etc/hostname')
  staged.clock.pass(1_500)
  await turn()
  t.match(staged.client.on(stream).at(-1), { kind: 'ended', value: { exit_code: 1 } })
  t.match(staged.logged.at(-1), { event: 'deception_failed', fields: { reason: 'no thread' } })
  t.equal(staged.rooms.deceptions.free, 2)
  const failed = stage()
  const other = failed.ask('cat', '/etc/hostname')
  const child = await begin(failed)
  child.events.failed(2)
  t.match(failed.client.on(other).at(-1), { kind: 'ended', value: { exit_code: 127 } })
  t.end()
})

t.test('a daemon that has halted answers nobody', (t) => {
  const staged = stage()
  staged.rooms.levels.set('daemon', '', 'HALT', 'stop', '')
  staged.ask('cat', '/etc/hostname')
  t.strictSame([staged.client.transport.deeds, staged.client.transport.writes.length], [['reset'], 0])
  t.equal(staged.rooms.deceptions.free, 2)
  t.end()
})

t.test('a screen of it is nothing that the end of the daemon waits for', async (t) => {
  const staged = stage()
  staged.ask('cat', '/etc/hostname')
  await begin(staged)
  t.notOk(staged.peers.openStreams)
  staged.peers.drain(9)
  t.strictSame(staged.client.transport.deeds, ['reset'])
  t.strictSame([staged.rooms.deceptions.free, staged.clock.timers], [2, 0])
  t.end()
})
