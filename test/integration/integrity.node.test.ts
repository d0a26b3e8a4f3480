/**
 * A start that finds its record, its keys, its policies or its pinned rules changed: it halts with an exit record, and
 * goes on only with the incident named; nothing of the evidence is lost.
 * @module
 */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { canonicalize } from '../../src/base/encoding/canonical-json.ts'
import { CONSTITUTION_VERSION } from '../../src/intent/proposals/constitution.ts'
import { integrityExit } from '../../src/intent/proposals/decide.ts'
import { systemEvent } from '../../src/intent/proposals/observations.ts'
import { auditEvents, changeConfig, install, sassEdge, startDaemon } from './daemon.node.ts'

const stateOf = (directory: string) => join(directory, '.sass-edge/state')

/** An installation whose daemon has worked and was stopped. */
async function worked(t: Parameters<typeof install>[0], change: Parameters<typeof install>[1] = {}) {
  const directory = await install(t, change)
  const daemon = await startDaemon(t, directory)
  await daemon.cli(['exec', '--', 'true'])
  await daemon.stop()
  return directory
}

/** The start is refused; gives the incident that it names. */
async function refused(directory: string): Promise<string> {
  const { code, stderr } = await sassEdge(['run'], { cwd: directory })
  if (code !== 125) throw new Error(`ended with ${code}: ${stderr}`)
  return /--ack-incident ([0-9a-f]{64})\.$/m.exec(stderr)?.[1] ?? `no incident: ${stderr}`
}

/** The hash of a record that begins a chain. */
const hashOf = ({ event, timestamp }: { readonly event: object; readonly timestamp: string }) =>
  createHash('sha256')
    .update(`SASS_GENESIS_BLOCK${canonicalize(event as never)}${timestamp}`)
    .digest('hex')

const verified = async (directory: string) =>
  JSON.parse((await sassEdge(['audit', 'verify', '--json'], { cwd: directory })).stdout.toString())

t.test(
  'a chain or key that was changed halts the start; with the incident named a new chain begins beside it (RX-29)',
  async (t) => {
    const damage: Record<string, (state: string) => void> = {
      'the last record is altered': (state) => {
        const path = join(state, 'audit/audit.jsonl')
        const text = readFileSync(path, 'utf8')
        writeFileSync(path, text.replace('"what":"stopped"', '"what":"started"'))
      },
      'the chain is gone': (state) => rmSync(join(state, 'audit/audit.jsonl')),
      'the key is another': (state) => writeFileSync(join(state, 'audit-0.key'), Buffer.alloc(32, 7)),
    }
    for (const [name, damaged] of Object.entries(damage)) {
      const directory = await worked(t)
      const state = stateOf(directory)
      damaged(state)
      const before = existsSync(join(state, 'audit/audit.jsonl'))
        ? readFileSync(join(state, 'audit/audit.jsonl'), 'utf8')
        : ''
      const incident = await refused(directory)
      t.match(incident, /^[0-9a-f]{64}$/, name)
      const exit = JSON.parse(readFileSync(join(state, 'exit-record.json'), 'utf8'))
      t.strictSame(
        exit.event,
        {
          ...{ type: 'exit', reason: 'INTEGRITY_RISK', why: exit.event.why, by: 'start', instance: null },
          exit_record: byTheKernel(exit.event.why, exit.event.exit_record.created_at),
        },
        'no warrant and no request is in it',
      )
      t.equal(exit.chain_hash, incident, 'it is the one that is named')
      t.equal(hashOf(exit), incident, 'and its hash is of what it says')
      t.equal(await refused(directory), incident, 'again and again')
      const { code } = await sassEdge(['run', '--ack-incident', 'ab'.repeat(32)], { cwd: directory })
      t.equal(code, 125, 'another incident is none')
      const daemon = await startDaemon(t, directory, ['--ack-incident', incident])
      t.equal((await daemon.cli(['exec', '--', 'true'])).code, 0, `${name}: it works again`)
      t.match(daemon.audit()[0], { type: 'epoch', epoch: 0, follows: incident })
      await daemon.stop()
      t.match(await verified(directory), { ok: true, pinned: true })
      const aside = join(state, 'audit', incident.slice(0, 16))
      t.equal(readFileSync(join(aside, 'audit.jsonl'), 'utf8'), before, 'the evidence is as it was')
      t.ok(readdirSync(join(aside, 'keys')).includes('audit.pub'))
    }
  },
)

t.test(
  'a record on a disk of its own is set aside there, also where the start that did it was cut off',
  async (t) => {
    const directory = await install(t)
    const [state, disk] = [stateOf(directory), join(directory, 'disk')]
    mkdirSync(disk)
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=700', 'tmpfs', disk]).status !== 0)
      return t.comment('skipped: no disk can be mounted here')
    t.teardown(() => spawnSync('umount', ['-l', disk]))
    changeConfig(directory, { audit: { directory: disk } })
    const path = join(disk, 'audit.jsonl')
    const alteredBy = async (args: readonly string[]) => {
      const daemon = await startDaemon(t, directory, args)
      await daemon.stop()
      t.match(await verified(directory), { ok: true, pinned: true })
      const altered = readFileSync(path, 'utf8').replace('"what":"stopped"', '"what":"started"')
      writeFileSync(path, altered)
      const incident = await refused(directory)
      return { altered, incident, aside: join(disk, incident.slice(0, 16)) }
    }
    const first = await alteredBy([])
    const second = await alteredBy(['--ack-incident', first.incident])
    // As a crash leaves it: the record was moved, of the keys one is, and the next start has made a file.
    mkdirSync(join(second.aside, 'keys'), { recursive: true, mode: 0o700 })
    for (const name of ['policies', 'audit.jsonl']) renameSync(join(disk, name), join(second.aside, name))
    writeFileSync(path, '', { mode: 0o600 })
    const key = join(state, 'audit-0.key')
    writeFileSync(join(second.aside, 'keys', 'audit-0.key'), readFileSync(key), { mode: 0o600 })
    rmSync(key)
    await alteredBy(['--ack-incident', second.incident])
    for (const { aside, altered } of [first, second]) {
      t.equal(readFileSync(join(aside, 'audit.jsonl'), 'utf8'), altered, 'the evidence is as it was')
      t.strictSame(readdirSync(join(aside, 'keys')).sort(), ['audit-0.key', 'audit.pub'])
      t.strictSame(readdirSync(aside).sort(), ['audit.jsonl', 'keys', 'policies'])
    }
  },
)

t.test('a policy that was kept and changed halts the start, on the record', async (t) => {
  const directory = await worked(t)
  const state = stateOf(directory)
  const place = join(state, 'audit/policies')
  const document = readdirSync(place).find((name) => name.endsWith('.json')) ?? ''
  writeFileSync(join(place, document), '{}')
  const incident = await refused(directory)
  t.match(incident, /^[0-9a-f]{64}$/)
  t.match(await verified(directory), { ok: true })
  const tail = JSON.parse(
    (await sassEdge(['audit', 'tail', '-n', '1', '--json'], { cwd: directory })).stdout.toString(),
  )
  t.match(tail.records[0], { event: { type: 'exit', reason: 'INTEGRITY_RISK' }, chain_hash: incident })
  const daemon = await startDaemon(t, directory, ['--ack-incident', incident])
  await daemon.stop()
  t.equal(readFileSync(join(place, `${document}.altered`), 'utf8'), '{}')
  t.match(await verified(directory), { ok: true }, 'the chain goes on')
})

t.test('rules that are not the pinned ones halt the start, and are not taken over by a reload', async (t) => {
  const rules = JSON.stringify({ rules: [] })
  const sha256 = createHash('sha256').update(rules).digest('hex')
  const directory = await install(t, { policy: { rules_file: 'rules.json' } })
  const path = join(directory, '.sass-edge/rules.json')
  writeFileSync(path, rules)
  changeConfig(directory, { policy: { rules_file: 'rules.json', rules_sha256: sha256 } })
  const daemon = await startDaemon(t, directory)
  writeFileSync(path, `${rules}\n`)
  const reloaded = await daemon.cli(['reload'])
  t.not(reloaded.code, 0)
  t.match(reloaded.stderr, /not the ones that policy.rules_sha256 pins/)
  await daemon.stop()
  const incident = await refused(directory)
  t.match(incident, /^[0-9a-f]{64}$/)
  writeFileSync(`${path}.new`, rules)
  renameSync(`${path}.new`, path)
  t.equal(await refused(directory), incident, 'what was found stays to be looked into')
  const again = await startDaemon(t, directory, ['--ack-incident', incident])
  t.equal((await again.cli(['exec', '--', 'true'])).code, 0)
})

t.test(
  'a device that shows less of its record than before, or another one, is told on by whoever was there',
  async (t) => {
    const directory = await install(t)
    const state = stateOf(directory)
    const daemon = await startDaemon(t, directory)
    const home = join(directory, 'elsewhere')
    const key = join(directory, '.sass-edge/keys/agent.key')
    const there = (port: number) => ['exec', `agent@127.0.0.1:${port}`, '--key', key, '--', 'true']
    const options = { env: { XDG_CONFIG_HOME: home } }
    await sassEdge(['trust', '--yes', `127.0.0.1:${daemon.port}`], { cwd: directory, ...options })
    t.match(await sassEdge(there(daemon.port), { cwd: directory, ...options }), { code: 0, stderr: '' })
    await daemon.stop()
    const early = readFileSync(join(state, 'audit/audit.jsonl'))
    const keys = readdirSync(state).filter((name) => name.startsWith('audit-'))
    const kept = keys.map((name) => [name, readFileSync(join(state, name))] as const)
    changeConfig(directory, { listen: { port: daemon.port } })
    const second = await startDaemon(t, directory)
    for (let index = 0; index < 3; index++)
      t.match(await sassEdge(there(daemon.port), { cwd: directory, ...options }), { code: 0, stderr: '' })
    await second.stop()
    // Whoever has the disk puts yesterday's record back, keys and all: by itself it is whole.
    for (const name of readdirSync(state)) if (/^audit-\d+\.key$/.test(name)) rmSync(join(state, name))
    for (const [name, bytes] of kept) writeFileSync(join(state, name), bytes, { mode: 0o600 })
    writeFileSync(join(state, 'audit/audit.jsonl'), early)
    t.match(await verified(directory), { ok: true })
    await startDaemon(t, directory)
    const told = await sassEdge(there(daemon.port), { cwd: directory, ...options })
    t.equal(told.code, 0)
    t.match(told.stderr, /^sass-edge: The record of this device ends at \d+, and record \d+ was seen before/)
    const head = /--head (\d+:[0-9a-f]{64})/.exec(told.stderr)?.[1] ?? ''
    const checked = await sassEdge(['audit', 'verify', '--head', head, '--json'], { cwd: directory })
    t.match(JSON.parse(checked.stdout.toString()), { ok: false, reason: /its end was cut off/ })
  },
)

/** What the kernel makes of a start that failed. */
function byTheKernel(why: string, at: string) {
  const { id: observation } = systemEvent('startup_integrity_fail', why)
  const { id } = integrityExit(CONSTITUTION_VERSION, { observationIds: [observation], detail: why, at })
  return { created_at: at, id, observation, reason_code: 'INTEGRITY_RISK' }
}

t.test('a start that fails leaves an exit record behind, whatever it failed of (RX-35)', async (t) => {
  const exits = (directory: string) => auditEvents(directory).filter(({ type }) => type === 'exit')
  const fileOf = (directory: string) => join(stateOf(directory), 'failed-start.json')
  const start = async (directory: string) => {
    const { code, stderr } = await sassEdge(['run'], { cwd: directory })
    t.equal(code, 125)
    return stderr
  }
  // Behind the chain: another program has the port.
  const busy = await worked(t)
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  changeConfig(busy, { listen: { port: (server.address() as AddressInfo).port } })
  const said = await start(busy)
  const [exit, ...more] = exits(busy)
  t.match(exit, {
    reason: 'ADDRESS_IN_USE',
    by: 'start',
    instance: null,
    severity: 'critical',
    stream: 'execution',
  })
  t.ok(said.includes(String(exit?.['why'])), 'with the sentence that was said')
  t.same(more, [])
  t.match(await verified(busy), { ok: true })
  t.notOk(existsSync(fileOf(busy)))

  // Before there is one.
  const damage: Record<string, (state: string, directory: string) => void> = {
    'a key that is none': (state) => writeFileSync(join(state, 'tls.key'), 'no key'),
    'levels that cannot be read': (state) => writeFileSync(join(state, 'levels.json'), '{'),
    'own rules that are wrong': (_state, directory) => {
      writeFileSync(join(directory, 'rules.json'), '{"rules": 7}')
      changeConfig(directory, { policy: { rules_file: join(directory, 'rules.json') } })
    },
  }
  for (const [name, damaged] of Object.entries(damage)) {
    const directory = await worked(t)
    const before = readFileSync(join(stateOf(directory), 'audit/audit.jsonl'), 'utf8')
    damaged(stateOf(directory), directory)
    const sentence = await start(directory)
    const record = JSON.parse(readFileSync(fileOf(directory), 'utf8'))
    const { event, timestamp, chain_hash } = record
    t.match(event, { type: 'exit', reason: /^[A-Z_]+$/, by: 'start' }, name)
    t.strictSame(event.exit_record, byTheKernel(event.why, event.exit_record.created_at), name)
    t.ok(sentence.includes(event.why), `${name}: ${event.why}`)
    t.equal(hashOf({ event, timestamp }), chain_hash)
    t.equal(readFileSync(join(stateOf(directory), 'audit/audit.jsonl'), 'utf8'), before)
  }
})
