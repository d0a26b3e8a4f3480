/**
 * A branch is saved when nothing runs in it any more, once, and what comes in between says so.
 * @module
 */
import t from 'tap'
import type { AuditEvent } from '../../../src/ports.ts'
import { createPreserver } from '../../../src/session/common/preserver.ts'

const CAUSE = { level: 'CHECKPOINT', why: 'a rule', instance: 'bot-1' } as const
const settled = () => new Promise((resolve) => setImmediate(resolve))

function stage() {
  const [records, saved]: [AuditEvent[], string[]] = [[], []]
  const now = { isFree: false, isThere: true, isEmpty: false, isFull: false }
  const preserver = createPreserver({
    work: {
      find: () => (now.isThere ? ({} as never) : undefined),
      isEmpty: () => now.isEmpty,
      async checkpoint(branch, label) {
        if (now.isFull) throw new TypeError('no room')
        saved.push(`${branch} ${label}`)
        return { number: 3, label, madeAtMs: 0, files: 2, sizeBytes: 10 } as never
      },
    },
    isFree: () => now.isFree,
    alone: (_branch, deed) => deed(),
    clock: { wallMs: () => 0 },
    log: { write() {} },
    record: (event) => void records.push(event),
  })
  return { preserver, now, records, saved }
}

t.test('it waits until nothing runs, is done once, and is in the record', async (t) => {
  const { preserver, now, records, saved } = stage()
  preserver.want('b1', CAUSE)
  preserver.tick()
  t.strictSame(saved, [])
  now.isFree = true
  preserver.want('b1', { ...CAUSE, level: 'CONTAIN', why: 'x'.repeat(100) })
  preserver.tick()
  preserver.tick()
  await settled()
  t.strictSame(saved, [`b1 CONTAIN: ${'x'.repeat(55)}`])
  t.strictSame(records, [
    {
      type: 'branch',
      branch: 'b1',
      by: null,
      instance: 'bot-1',
      what: 'preserved',
      number: 3,
      files: 2,
      bytes: 10,
    },
  ])
})

t.test('what is gone or was never changed is not waited for, and what cannot be saved is told', async (t) => {
  const { preserver, now, records, saved } = stage()
  for (const state of [{ isThere: false }, { isEmpty: true }]) {
    Object.assign(now, { isThere: true, isEmpty: false }, state)
    preserver.want('b1', CAUSE)
    preserver.tick()
    Object.assign(now, { isThere: true, isEmpty: false, isFree: true })
    preserver.tick()
    await settled()
  }
  t.strictSame([saved, records], [[], []])
  now.isFull = true
  preserver.want('b1', CAUSE)
  preserver.tick()
  await settled()
  t.match(records, [{ what: 'preserve_failed', reason: 'TypeError', branch: 'b1' }])
})
