import { existsSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startDaemon, until } from './daemon.node.ts'
import { drop, HELPER, installIntent, intentEvents, newId, signed, started } from './intent.node.ts'

t.test(
  'a valid envelope goes through quarantine to its receiver and is on the record (SA-32, SA-34, JF-R29)',
  async (t) => {
    const world = await installIntent(t)
    const daemon = await started(t, world)
    const envelopeId = newId()
    const bytes = signed(world, { envelopeId })
    drop(world, bytes)
    await until('it is accepted', () => world.names('accepted', HELPER).length === 1)
    t.strictSame(world.names('accepted', HELPER), [envelopeId])
    t.strictSame([world.names('inbox', HELPER), world.names('quarantine')], [[], []])
    t.match(intentEvents(daemon, 'validated'), [
      { envelope: envelopeId, sender: 'agent', receiver: HELPER, template: 'blog_article_intent v1' },
    ])
  },
)

t.test(
  'FT-002: the same envelope a second time is a replay, over a restart too (SA-20, SA-51)',
  async (t) => {
    const world = await installIntent(t)
    const bytes = signed(world)
    const first = await started(t, world)
    drop(world, bytes)
    await until('it is accepted', () => world.names('accepted', HELPER).length === 1)
    drop(world, bytes)
    await until('it is refused', () => intentEvents(first, 'rejected').length === 1)
    t.match(intentEvents(first, 'rejected'), [{ step: 12, code: 'REPLAY', ticket: 'FT-002' }])
    await first.stop()
    const second = await startDaemon(t, world.directory)
    drop(world, bytes)
    await until('it is refused again', () => world.names('quarantine').length === 4)
    t.equal(intentEvents(second, 'rejected').length, 2)
    t.equal(intentEvents(second, 'validated').length, 1)
  },
)

t.test(
  'FT-003, FT-007: a file is moved before it is read, and what is no plain file is refused (SA-33, SA-52, SA-56)',
  async (t) => {
    const world = await installIntent(t)
    const inbox = world.at('inbox', HELPER)
    mkdirSync(inbox, { recursive: true })
    const secret = join(world.directory, 'secret')
    writeFileSync(secret, signed(world))
    symlinkSync(secret, join(inbox, 'link.satl.json'))
    symlinkSync('/nowhere/at/all', join(inbox, 'dangling.satl.json'))
    linkSync(secret, join(inbox, 'hard.satl.json'))
    mkdirSync(join(inbox, 'directory.satl.json'))
    writeFileSync(join(inbox, 'other.txt'), 'left where it is')
    const daemon = await started(t, world)
    await until('three are refused', () => intentEvents(daemon, 'rejected').length === 3)
    t.strictSame(
      intentEvents(daemon, 'rejected').map(({ step, code, ticket }) => [step, code, ticket]),
      Array.from({ length: 3 }, () => [0, 'NOT_A_FILE', 'FT-007']),
    )
    t.strictSame(world.names('inbox', HELPER).sort(), ['directory.satl.json', 'other.txt'])
    t.ok(existsSync(secret))
    t.equal(world.names('quarantine').filter((name) => name.endsWith('.reason.json')).length, 3)
  },
)

t.test('FT-009: a full quarantine takes nothing further, and says so once (SA-37, SA-58)', async (t) => {
  const world = await installIntent(t, { intent: { quarantine_max: 3 } })
  const daemon = await started(t, world)
  for (let count = 0; count < 5; count++) drop(world, Buffer.from('{"a":1,"a":2}'))
  await until('the quarantine is full', () => intentEvents(daemon, 'quarantine_full').length === 1)
  drop(world, signed(world))
  await new Promise((resolve) => setTimeout(resolve, 400))
  t.equal(world.names('inbox', HELPER).length, 3)
  t.equal(intentEvents(daemon, 'quarantine_full').length, 1)
  t.match(intentEvents(daemon, 'rejected')[0], { step: 2, code: 'DUPLICATE_KEY', ticket: 'FT-004' })
  t.equal(intentEvents(daemon, 'validated').length, 0)
})
