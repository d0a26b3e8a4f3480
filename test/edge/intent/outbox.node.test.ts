import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openOutbox } from '../../../src/edge/intent/outbox.node.ts'
import { INBOX_CROWDED, OUTBOX_FILES } from '../../../src/intent/spool/limits.ts'
import type { AuditEvent } from '../../../src/ports.ts'

const BYTES = Buffer.from('{}')

function stand(t: Test, away: () => string | null = () => null) {
  let now = 0
  const events: AuditEvent[] = []
  const kept: number[] = []
  const directory = mkdtempSync(join(tmpdir(), 'outbox-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const open = () =>
    openOutbox({
      directory,
      away,
      isReceiver: (name) => name === 'helper',
      clock: { monotonicMs: () => now, wallMs: () => now, after: () => () => {} },
      log: { write() {} },
      note: (event) => events.push(event),
      kept: () => kept.push(now),
    })
  return {
    directory,
    kept,
    events,
    open,
    pass: (ms: number) => {
      now += ms
    },
  }
}

t.test(
  'what the device sends to a receiver here is moved into its inbox, after a restart too (SA-35)',
  async (t) => {
    const { directory, events, kept, open } = stand(t)
    open().send('helper', 'e1', BYTES)
    t.strictSame(kept, [0], 'whoever delivers is told once')
    const outbox = open()
    t.equal(outbox.size, 1)
    outbox.deliver()
    t.strictSame(readdirSync(join(directory, 'inbox/helper')), ['e1.satl.json'])
    t.strictSame([outbox.size, outbox.counts], [0, { delivered: 1, retries: 0 }])
    t.match(events, [{ type: 'intent', what: 'sent', envelope: 'e1', receiver: 'helper' }])
  },
)

t.test('what is for elsewhere waits for its directory, longer each time, and is not lost', async (t) => {
  const stick = join(t.testdir({ file: '' }), 'file')
  let away: string | null = null
  const { open, pass } = stand(t, () => away)
  const outbox = open()
  outbox.send('far', 'e1', BYTES)
  outbox.deliver()
  away = join(stick, 'no directory')
  pass(1_000)
  outbox.deliver()
  pass(1_000)
  outbox.deliver()
  t.strictSame([outbox.size, outbox.counts.retries], [1, 2], 'the second wait is longer')
  away = join(t.testdirName, 'stick')
  pass(1_000)
  outbox.deliver()
  t.strictSame(readFileSync(join(away, 'far/e1.satl.json')), BYTES)
  t.strictSame([outbox.size, outbox.counts.delivered], [0, 1])
})

t.test('of an id that waits there is one', async (t) => {
  const { directory, open } = stand(t)
  const outbox = open()
  outbox.send('helper', 'e1', BYTES)
  outbox.send('helper', 'e1', Buffer.from('[]'))
  t.equal(outbox.size, 1)
  outbox.deliver()
  t.strictSame(readFileSync(join(directory, 'inbox/helper/e1.satl.json')), BYTES)
})

t.test('a full outbox takes nothing, and names of files are names of files', async (t) => {
  const { open } = stand(t)
  const outbox = open()
  for (let count = 0; count < OUTBOX_FILES; count++) outbox.send('far', `e${count}`, BYTES)
  t.throws(() => outbox.send('far', 'more', BYTES), { code: 'STATE_UNWRITABLE' })
  t.throws(() => outbox.send('../far', 'e1', BYTES), { code: 'USAGE' })
  outbox.deliver()
  t.equal(outbox.size, OUTBOX_FILES)
  t.equal(outbox.counts.retries, OUTBOX_FILES)
  outbox.deliver()
  t.equal(outbox.counts.retries, OUTBOX_FILES)
})

t.test('what an inbox that nobody empties does not take waits where it is bounded', async (t) => {
  const { directory, open } = stand(t)
  const outbox = open()
  const inbox = join(directory, 'inbox/helper')
  mkdirSync(inbox, { recursive: true })
  for (let at = 1; at < INBOX_CROWDED; at++) writeFileSync(join(inbox, `f${at}.satl.json`), BYTES)
  writeFileSync(join(inbox, 'no envelope'), BYTES)
  for (const id of ['e1', 'e2', 'e3']) outbox.send('helper', id, BYTES)
  outbox.deliver()
  outbox.deliver()
  const lying = () => readdirSync(inbox).filter((name) => name.startsWith('e'))
  t.strictSame([lying(), outbox.size, outbox.free], [['e1.satl.json'], 2, OUTBOX_FILES - 2])
  t.equal(outbox.counts.retries, 0, 'it is no failure, and is not put off')
  rmSync(join(inbox, 'f1.satl.json'))
  outbox.deliver()
  t.strictSame([lying(), outbox.size], [['e1.satl.json', 'e2.satl.json'], 1])
})
