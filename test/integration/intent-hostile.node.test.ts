/**
 * Envelopes that must not come in, drawn by a seed: bytes that are none, valid ones with something changed, signed by
 * somebody else, for somebody else, too old, too large, too deep, said before, and what is no file at all.
 * `npm run intent-hostile -- 10000` draws more of them.
 */
import { execFileSync } from 'node:child_process'
import { linkSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isAlive, sleep, until } from './daemon.node.ts'
import {
  drop,
  HELPER,
  type IntentWorld,
  installIntent,
  intentEvents,
  newId,
  signed,
  started,
} from './intent.node.ts'

const COUNT = Number(process.argv[2] ?? 240)

/** Marsaglia's xorshift, so that a run can be had again. */
function drawing(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

type Draw = (below: number) => number
type Make = (world: IntentWorld, draw: Draw, valid: Uint8Array) => Uint8Array

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8')
const OTHER_KEY = new Uint8Array(32).fill(9)

const KINDS: readonly Make[] = [
  (_world, draw) => Buffer.from(Array.from({ length: draw(2_000) }, () => draw(256))),
  (_world, draw, valid) => valid.slice(0, draw(valid.length)),
  (_world, draw, valid) => {
    const changed = Uint8Array.from(valid)
    changed[draw(changed.length)] = draw(256)
    return changed
  },
  (world) => Buffer.from(text(signed(world)).replace('"version"', '"version":"1.0","version"')),
  (world) => Buffer.from(text(signed(world)).replace('{', '{"more":1,')),
  (world) => Buffer.from(text(signed(world)).replace('Hello SAOE', 'Hello')),
  (world) => Buffer.from(text(signed(world)).replace('café', 'cafe')),
  (world) => signed({ ...world, seed: () => OTHER_KEY }),
  (world) => signed(world, { senderId: 'nobody' }),
  (world) => signed(world, { senderId: HELPER }),
  (world) => signed(world, { receiverId: 'device' }),
  (world) => signed(world, { timestampUtc: '2020-01-01T00:00:00+00:00' }),
  (world) => signed(world, { timestampUtc: '2096-01-01T00:00:00+00:00' }),
  (world) => signed(world, { envelopeId: '../../../etc/passwd' }),
  (world) => signed(world, { payload: { title: 'x', body_markdown: 'x', image_present: 1 } }),
  (world) => signed(world, { payload: { title: 'x', body_markdown: 'x', image_present: true, run: 'rm' } }),
  (_world, draw) => Buffer.from('['.repeat(1 + draw(100_000))),
  (_world, _draw, valid) => valid,
  (_world, _draw, valid) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), valid]),
  (_world, _draw, valid) => Buffer.concat([valid, valid]),
  () => Buffer.alloc(1_048_577, 0x20),
  () => Buffer.alloc(0),
]

/** What is no file of one name. */
function oddFile(world: IntentWorld, draw: Draw): void {
  const inbox = world.at('inbox', HELPER)
  const path = join(inbox, `${newId()}.satl.json`)
  const kind = draw(3)
  if (kind === 0) return symlinkSync('/etc/passwd', path)
  if (kind === 1) return void execFileSync('mkfifo', [path])
  const held = join(inbox, `.${newId()}.held`)
  writeFileSync(held, signed(world))
  linkSync(held, `${held}.2`)
  renameSync(`${held}.2`, path)
}

t.test('none of the hostile ones comes in, and the daemon goes on (t30)', async (t) => {
  t.setTimeout(3_600_000)
  const world = await installIntent(t, { intent: { quarantine_max: 100_000, envelopes_per_hour: 1_000_000 } })
  const daemon = await started(t, world)
  const valid = signed(world)
  drop(world, valid)
  await until('the valid one is in', () => world.names('accepted', HELPER).length === 1)
  const draw = drawing(20_261_129)
  for (let count = 0; count < COUNT; count++) {
    const make = KINDS[count % (KINDS.length + 1)]
    if (make === undefined) oddFile(world, draw)
    else drop(world, make(world, draw, valid))
    if (count % 64 === 63) await sleep(1)
  }
  const refused = () => world.names('quarantine').filter((name) => name.endsWith('.reason.json')).length
  await until('all are refused', () => refused() === COUNT, 600_000)
  t.ok(isAlive(daemon.pid))
  t.equal(intentEvents(daemon, 'validated').length, 1)
  t.equal(intentEvents(daemon, 'rejected').length, COUNT)
  t.strictSame(world.names('inbox', HELPER), [])
  t.equal(world.names('accepted', HELPER).length, 1)
  drop(world, signed(world))
  await until('a valid one comes in after all that', () => world.names('accepted', HELPER).length === 2)
  t.strictSame(
    daemon.audit().filter(({ type }) => String(type).startsWith('execution')),
    [],
  )
})
