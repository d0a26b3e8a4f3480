import { mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Daemon, PROGRAM, runProgram, sleep, until } from './daemon.node.ts'
import { drop, HELPER, installIntent, intentEvents, newId, signed, started } from './intent.node.ts'

t.test(
  'killed at any moment of taking in: each envelope is there once, and none is lost (SA-33, SA-36)',
  async (t) => {
    const world = await installIntent(t)
    const all = 60
    for (let count = 0; count < all; count++) drop(world, signed(world))
    let kills = 0
    for (const pause of [1, 4, 9, 15, 23]) {
      const daemon = await started(t, world)
      await sleep(pause)
      daemon.signal('SIGKILL')
      await daemon.ended
      kills++
    }
    const last = await started(t, world)
    await until('all are accepted', () => world.names('accepted', HELPER).length === all)
    await until(
      'nothing is left',
      () => world.names('quarantine').length + world.names('inbox', HELPER).length === 0,
    )
    t.equal(kills, 5)
    t.strictSame(intentEvents(last, 'rejected'), [])
    const ids = new Set(intentEvents(last, 'validated').map(({ envelope }) => envelope))
    t.equal(ids.size, all)
  },
)

t.test('SIGTERM in the middle loses nothing (SA-36)', async (t) => {
  const world = await installIntent(t)
  const first = await started(t, world)
  for (let count = 0; count < 40; count++) drop(world, signed(world))
  await until('some are accepted', () => world.names('accepted', HELPER).length > 0)
  t.match(await first.stop(), { code: 0 })
  const second = await started(t, world)
  await until('all are accepted', () => world.names('accepted', HELPER).length === 40)
  t.strictSame(intentEvents(second, 'rejected'), [])
})

t.test('an index that is damaged stops the start, with what to do', async (t) => {
  const world = await installIntent(t)
  const first = await started(t, world)
  for (let count = 0; count < 20; count++) drop(world, signed(world))
  await until('all are accepted', () => world.names('accepted', HELPER).length === 20)
  await first.stop()
  const path = world.at('index.sqlite')
  truncateSync(path, Math.floor(statSync(path).size / 2) + 100)
  const ended = await runProgram(PROGRAM, ['run'], { cwd: world.directory })
  t.not(ended.code, 0)
  t.match(ended.stderr, /index of envelopes .* is not sound/)
})

t.test(
  't1: another dispatcher’s key than the pinned one stops the start, before anything is read (FT-001, SA-22, SA-23, SA-44, SA-50)',
  async (t) => {
    const world = await installIntent(t, { intent: { dispatcher_pin: 'ab'.repeat(32) } })
    drop(world, signed(world))
    const ended = await runProgram(PROGRAM, ['run'], { cwd: world.directory })
    t.not(ended.code, 0)
    t.match(ended.stderr, /configuration pins another one/)
    t.equal(world.names('inbox', HELPER).length, 1)
  },
)

t.test('envelopes are taken from another file system, whatever their names', async (t) => {
  let stick: string
  try {
    stick = mkdtempSync('/dev/shm/sass-edge-stick-')
  } catch {
    return void t.comment('skipped: there is no other file system to write to')
  }
  t.teardown(() => rmSync(stick, { recursive: true, force: true }))
  const world = await installIntent(t, { intent: { drop_directories: [stick] } })
  const daemon: Daemon = await started(t, world)
  mkdirSync(join(stick, HELPER))
  const envelopeId = newId()
  writeFileSync(join(stick, HELPER, '.part'), signed(world, { envelopeId }))
  const name = Buffer.concat([
    Buffer.from(`${stick}/${HELPER}/`),
    Buffer.from([0xff, 0x0a, 0x27]),
    Buffer.from('.satl.json'),
  ])
  writeFileSync(name, signed(world))
  writeFileSync(join(stick, HELPER, `${'n'.repeat(245)}.satl.json`), signed(world, { envelopeId }))
  await until('both are accepted', () => world.names('accepted', HELPER).length === 2)
  t.match(intentEvents(daemon, 'validated'), [{ from: stick }, { from: stick }])
})
