import { execFileSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { openQuarantine } from '../../../src/edge/intent/quarantine.node.ts'
import {
  INBOX_ENTRIES,
  INTENT_BATCH_FILES,
  REFUSED_KEPT_MS,
  SUBMITTED_REFUSED,
  TAKEN_KEPT_MS,
  WAITING_BYTES,
} from '../../../src/intent/spool/limits.ts'
import { idText, judge, makeSpool, NOW } from './spool.node.ts'

/** A directory of another file system; undefined where there is none. */
function otherFileSystem(t: Test): string | undefined {
  try {
    const path = mkdtempSync('/dev/shm/sass-edge-spool-')
    t.teardown(() => rmSync(path, { recursive: true, force: true }))
    return path
  } catch {
    t.comment('skipped: there is no other file system to write to')
    return undefined
  }
}

t.test('files that cannot be taken are left for a minute, and what stands behind has its turn', async (t) => {
  // A name in quarantine that is a directory: no file can be moved there.
  let failures = 2 * INTENT_BATCH_FILES
  let count = 0
  const isBlocked = () => failures > 0 && failures-- > 0
  const bytes = (length: number) => new Uint8Array(length).fill(isBlocked() ? 0 : ++count)
  const { spool, directory, put, drain, arrived, logged, time } = await makeSpool(t, {
    random: { bytes } as never,
  })
  mkdirSync(join(directory, 'quarantine', `helper.${'00'.repeat(16)}.satl.json`, 'full'), { recursive: true })
  const all = 2 * INTENT_BATCH_FILES + 3
  for (let at = 0; at < all; at++) put(`f${at}`, idText(`e${at}`))
  t.equal(spool.poll(), false, 'nothing was taken: there is nothing to do at once')
  spool.poll()
  t.equal(arrived.length, 0)
  drain()
  t.equal(arrived.length, 3)
  drain()
  t.equal(readdirSync(join(directory, 'inbox/helper')).length, 2 * INTENT_BATCH_FILES)
  t.strictSame(logged, ['intent_not_taken'], 'it is said once')
  time.monotonic += 60_000
  drain()
  t.equal(arrived.length, all)
})

t.test('what is no plain file is refused from another file system too, without opening it', async (t) => {
  const stick = otherFileSystem(t)
  if (stick === undefined) return
  const { drain, events, put, arrived } = await makeSpool(t, {}, [stick])
  const path = put('held', idText('e1'), 'helper', stick)
  execFileSync('ln', [path, join(stick, 'second-name')])
  execFileSync('mkfifo', [join(stick, 'helper', 'fifo.satl.json')])
  const server = createServer().listen(join(stick, 'helper', 'socket.satl.json'))
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  drain()
  t.strictSame(
    events.map(({ what, step, code }) => [what, step, code]),
    Array.from({ length: 3 }, () => ['rejected', 0, 'NOT_A_FILE']),
  )
  t.strictSame([arrived, readdirSync(join(stick, 'helper'))], [[], []])
})

t.test('of a file that cannot be removed no copy is kept, and none made where that shows before', (t) => {
  const directory = t.testdir()
  let drawn = 0
  const bytes = () => {
    drawn++
    return new Uint8Array(16)
  }
  const quarantine = openQuarantine(directory, { bytes } as never, () => NOW)
  // Files of another file system that nobody can remove, root neither; in the second directory nobody can write.
  t.throws(() => quarantine.moveIn(Buffer.from('/proc/version'), 'helper', '/proc'))
  t.strictSame([quarantine.size, readdirSync(directory)], [0, []])
  drawn = 0
  t.throws(() => quarantine.moveIn(Buffer.from('/proc/sys/kernel/ostype'), 'helper', '/proc'))
  t.strictSame([drawn, readdirSync(directory)], [1, []], 'a name for the rename, and none for a copy')
  t.ok(existsSync('/proc/version'))
  t.end()
})

t.test(
  'a file that cannot be read is refused, and one that cannot be judged keeps no other out',
  async (t) => {
    let isBroken = true
    const directory = t.testdir({ quarantine: {} })
    const left = (digits: string) => join(directory, 'quarantine', `helper.${digits.repeat(16)}.satl.json`)
    writeFileSync(left('aa'), idText('gone'))
    writeFileSync(left('bb'), idText('e1'))
    for (let at = 0; at < INTENT_BATCH_FILES; at++)
      writeFileSync(left(at.toString(16).padStart(2, '0')), 'poison')
    const { spool, put, drain, events, arrived, logged } = await makeSpool(t, {
      directory,
      judge(bytes, receiver) {
        if (isBroken && Buffer.from(bytes).toString() === 'poison') throw new Error('It cannot be judged.')
        return judge(bytes, receiver)
      },
    })
    rmSync(left('aa'))
    put('new', idText('e2'))
    drain()
    drain()
    t.strictSame(arrived.map(({ id }) => id).sort(), ['e1', 'e2'])
    t.match(
      events.filter(({ what }) => what === 'rejected'),
      [{ step: 0, code: 'UNREADABLE' }],
    )
    t.equal(logged.filter((event) => event === 'intent_not_judged').length, INTENT_BATCH_FILES)
    isBroken = false
    drain()
    t.equal(spool.quarantine().filter(({ refusal }) => refusal === undefined).length, 0)
  },
)

t.test('a quarantine that is full drains: copies go at once, what is refused after a while', async (t) => {
  const { spool, put, drain, events, arrived, time } = await makeSpool(t)
  put('e1', idText('e1'))
  drain()
  for (let at = 0; at < 60; at++) put(`copy${at}`, idText('e1'))
  put('e2', idText('e2'))
  drain()
  t.strictSame(
    arrived.map(({ id }) => id),
    ['e1', 'e2'],
  )
  for (let at = 0; at < 60; at++) put(`bad${at}`, 'bad')
  put('e3', idText('e3'))
  drain()
  t.equal(spool.quarantine().length, 50)
  t.equal(events.filter(({ what }) => what === 'quarantine_full').length, 1)
  put('o1', idText('o1'), 'other')
  drain()
  t.equal(arrived.at(-1)?.id, 'o1', 'another inbox is not shut out')
  time.wall += REFUSED_KEPT_MS
  drain()
  t.strictSame(arrived.map(({ id }) => id).sort(), ['e1', 'e2', 'e3', 'o1'])
  const gone = events.filter(({ what }) => what === 'aged_out').length
  t.equal(gone, 120 - spool.quarantine().length)
})

t.test('handing in again what was accepted takes no place; what is refused leaves its place', async (t) => {
  const { spool, time } = await makeSpool(t)
  const submit = (text: string) => spool.submit(Buffer.from(text), 'helper', 'ci')
  for (let at = 0; at <= SUBMITTED_REFUSED; at++) {
    t.equal(submit(idText(`e${at}`)).kind, 'accepted')
    t.match(submit(idText(`e${at}`)), { kind: 'refused', refusal: { code: 'REPLAY' } })
  }
  t.strictSame(spool.quarantine(), [])
  for (let at = 0; at < SUBMITTED_REFUSED; at++) t.equal(submit(`bad${at}`).kind, 'refused')
  t.equal(submit('bad').kind, 'busy')
  time.wall += REFUSED_KEPT_MS
  t.equal(submit('bad').kind, 'refused')
  t.equal(spool.quarantine().length, SUBMITTED_REFUSED)
})

t.test('one receiver that takes nothing closes its own inbox, and no other', async (t) => {
  const { index, put, drain, arrived, logged } = await makeSpool(t)
  const waits = { session: 's', sender: 'ci', template: 'note v1', digest: 'd', acceptedAtMs: NOW }
  // What is said of it is what counts.
  index.accept({ ...waits, id: 'large', receiver: 'helper', size: WAITING_BYTES / 2 }, new Uint8Array(2))
  for (const receiver of ['helper', 'other', 'device']) put(receiver, idText(receiver), receiver)
  drain()
  t.strictSame(arrived.map(({ id }) => id).sort(), ['device', 'other'])
  t.strictSame(logged, ['intent_inbox_waits'])
  index.accept(
    { ...waits, id: 'l2', receiver: 'more', size: Math.floor(WAITING_BYTES / 3) },
    new Uint8Array(2),
  )
  for (const receiver of ['other', 'device']) put(`${receiver}2`, idText(`${receiver}2`), receiver)
  drain()
  t.equal(arrived.at(-1)?.id, 'device2')
  t.equal(arrived.length, 3)
})

t.test('among very many other files every envelope is found, also one that comes meanwhile', async (t) => {
  // In memory where that can be: 20,000 files take a disk some seconds.
  const directory = otherFileSystem(t) ?? t.testdir()
  const { spool, put, arrived, logged } = await makeSpool(t, { directory })
  const inbox = join(directory, 'inbox', 'helper')
  mkdirSync(inbox)
  const crowd = (name: string) => {
    for (let at = 0; at < INBOX_ENTRIES; at++) closeSync(openSync(join(inbox, `${name}${at}`), 'w'))
  }
  crowd('before')
  for (let at = 0; at < INTENT_BATCH_FILES + 4; at++) put(`e${at}`, idText(`e${at}`))
  crowd('after')
  spool.poll()
  put('late', idText('late'))
  for (let polls = 0; polls < 12; polls++) spool.poll()
  t.equal(arrived.length, INTENT_BATCH_FILES + 5)
  t.strictSame(logged, [])
})

t.test(
  'what was taken can be fetched again for an hour, and not if it is not what was accepted',
  async (t) => {
    const { directory, spool, put, drain, events, time } = await makeSpool(t)
    for (const id of ['e1', 'e2']) put(id, idText(id))
    drain()
    t.match(spool.take('e1', 'other'), { kind: 'unknown' })
    t.match(spool.take('e1', 'helper'), { kind: 'given', bytes: Buffer.from(idText('e1')) })
    const upkeepAfter = (ms: number) => {
      time.wall = NOW + ms
      time.monotonic += 60_000
      drain()
    }
    upkeepAfter(TAKEN_KEPT_MS)
    t.match(spool.take('e1', 'helper'), { kind: 'given', of: { isTaken: true } })
    upkeepAfter(TAKEN_KEPT_MS + 1)
    t.match(spool.take('e1', 'helper'), { kind: 'unknown' })
    const database = new DatabaseSync(join(directory, 'index.sqlite'))
    database
      .prepare('UPDATE content SET bytes = ? WHERE envelope_id = ?')
      .run(Buffer.from(idText('e9')), 'e2')
    database.close()
    t.equal(spool.read('e2'), undefined)
    t.match(spool.take('e2', 'helper'), { kind: 'changed' })
    t.strictSame(
      events
        .filter(({ what }) => what === 'taken' || what === 'changed')
        .map(({ what, envelope }) => [what, envelope]),
      [
        ['taken', 'e1'],
        ['taken', 'e2'],
        ['changed', 'e2'],
      ],
    )
  },
)

t.test('an inbox that is never empty keeps no other waiting', async (t) => {
  const { spool, put, arrived } = await makeSpool(t)
  put('b1', idText('b1'), 'b')
  for (let look = 0; look < 2; look++) {
    for (let at = 0; at < 2 * INTENT_BATCH_FILES; at++) put(`a${look}-${at}`, idText(`a${look}-${at}`), 'a')
    t.equal(spool.poll(), true)
  }
  t.ok(arrived.some(({ id }) => id === 'b1'))
})
