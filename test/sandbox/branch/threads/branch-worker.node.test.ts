/**
 * The thread that works on branches, from its main side: with the real thread on what lies above a root, and with staged
 * ones that end in the middle.
 * @module
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hostSha256 } from '../../../../src/base/crypto/sha256.node.ts'
import {
  type BranchStore,
  openBranchStore,
} from '../../../../src/sandbox/branch/threads/branch-store.node.ts'
import type { DiffForm, MergeWish, ReviewText } from '../../../../src/sandbox/branch/threads/branch-work.ts'
import {
  type BranchWorker,
  createBranchWorker,
} from '../../../../src/sandbox/branch/threads/branch-worker.node.ts'
import { loadSyscalls } from '../../../../src/sandbox/kernel/syscalls.node.ts'

const ID = 'ab'.repeat(16)

type Made = {
  readonly store: BranchStore
  readonly worker: BranchWorker
  readonly root: string
  readonly upper: string
}

function make(t: Test, source?: () => string): Made {
  const base = t.testdir({ root: { old: 'old\n', gone: 'x' }, state: {} })
  const root = join(base, 'root')
  const store = openBranchStore(loadSyscalls(), {
    stateDirectory: join(base, 'state'),
    roots: [root],
    volatile: [],
  })
  const branch = store.open(ID, 'ci', 'overlay', 1)
  const worker = createBranchWorker(store, source)
  t.teardown(() => worker.close())
  return { store, worker, root, upper: join(branch.roots[0]?.store ?? '', 'upper') }
}

async function all(text: ReviewText): Promise<string> {
  const pieces: Buffer[] = []
  const target = new Uint8Array(1_000)
  for (let count = await text.read(target); count > 0; count = await text.read(target))
    pieces.push(Buffer.from(target.subarray(0, count)))
  text.close()
  return Buffer.concat(pieces).toString()
}

const wish = (digest: string): MergeWish => ({
  digest,
  paths: [],
  force: [],
  allowHeldBack: false,
  id: 'cd'.repeat(16),
})

t.test('looks, merges, takes back and removes', async (t) => {
  const { store, worker, root, upper } = make(t)
  t.equal(worker.isEmpty(ID), true)
  mkdirSync(join(upper, 'deep'))
  for (let index = 0; index < 100; index++) writeFileSync(join(upper, 'deep', `f${index}`), `${index}\n`)
  t.equal(worker.isEmpty(ID), false)

  const texts = new Map<DiffForm, string>()
  let digest = ''
  for (const form of ['text', 'stat', 'json', 'patch'] as const) {
    const review = await worker.review(ID, form, [])
    t.match(review, { changes: 101, shown: 101, conflicts: 0, heldBack: 0 }, form)
    digest = review.digest
    const text = await all(review.text)
    t.equal(text.length, review.text.sizeBytes)
    t.match(text, 'f99', form)
    texts.set(form, text)
  }
  t.equal(
    Buffer.from(hostSha256(Buffer.from(texts.get('json') ?? ''))).toString('hex'),
    digest,
    'it is of the JSON',
  )
  t.notOk(
    readdirSync(store.directoryOf(ID)).some((name) => name.startsWith('text')),
    'texts have no names',
  )
  const some = await worker.review(ID, 'json', [{ root: 0, path: Buffer.from('deep/f7') }])
  t.match(some, { digest, changes: 101, shown: 1 })
  some.text.close()

  t.match(await worker.merge(ID, wish('0'.repeat(64))), { outcome: 'other_digest', digest })
  t.match(await worker.merge(ID, wish(digest)), { outcome: 'merged', counts: { added: 101 } })
  t.equal(readFileSync(join(root, 'deep/f42'), 'utf8'), '42\n')
  t.equal(worker.isEmpty(ID), true)
  t.ok(worker.mergedAtMs(ID) !== undefined)
  t.equal(store.removeEmpty(ID), false, 'kept: the merge can be taken back')
  t.match(await worker.undo(ID), { outcome: 'undone' })
  t.notOk(existsSync(join(root, 'deep')))
  t.strictSame(await worker.checkpoints(ID), [])
  t.match(await worker.checkpoint(ID, 'x', 5), { label: 'x', madeAtMs: 5 })
  await worker.erase(ID)
  t.strictSame(readdirSync(store.directory), [])
  await t.rejects(worker.review(ID, 'text', []), { code: 'FILE_NOT_FOUND' })
  await worker.erase(ID)
})

t.test('of what goes on in one branch each waits for the one before', async (t) => {
  const { worker, upper } = make(t)
  writeFileSync(join(upper, 'a'), 'a')
  const order: string[] = []
  const digest = (await worker.review(ID, 'stat', [])).digest
  await Promise.all([
    worker.merge(ID, wish(digest)).then(({ outcome }) => order.push(outcome)),
    worker.undo(ID).then(({ outcome }) => order.push(outcome)),
    worker.drop(ID).then(() => order.push('dropped')),
    worker.review(ID, 'stat', []).catch(({ code }) => order.push(code)),
  ])
  t.strictSame(order, ['merged', 'undone', 'dropped', 'FILE_NOT_FOUND'])
})

t.test(
  'a branch in which nothing was changed goes without a thread; what is left of others goes by and by',
  async (t) => {
    const { store, worker } = make(t, () => {
      throw new Error('no thread is needed')
    })
    t.equal(store.removeEmpty(ID), true)
    t.strictSame([readdirSync(store.directory), store.dropped()], [[], []])
    worker.sweep()

    const other = make(t)
    writeFileSync(join(other.upper, 'x'), 'x')
    t.equal(other.store.removeEmpty(ID), false)
    other.store.drop(ID)
    t.equal(readdirSync(other.store.directory).length, 1)
    other.worker.sweep()
    other.worker.sweep()
    await other.worker.erase(ID)
    t.strictSame([readdirSync(other.store.directory), other.store.dropped()], [[], []])
  },
)

/** A thread that ends when it is asked to merge, and tells in a file what it was asked. */
const STAGED = (log: string, resume: string) => () =>
  `
const { parentPort } = require('node:worker_threads')
const { appendFileSync } = require('node:fs')
parentPort.on('message', ({ kind, id, order }) => {
  if (kind === 'close') return parentPort.close()
  appendFileSync(${JSON.stringify(log)}, order.kind + '\\n')
  if (order.kind === 'merge') throw new Error('out of memory')
  if (order.kind === 'resume') return parentPort.postMessage(${resume})
  parentPort.postMessage({ kind: 'done', id, value: [] })
})`

t.test(
  'a thread that ends in the middle of a merge: it is brought to an end before anything else',
  async (t) => {
    const log = join(t.testdir({}), 'log')
    const { worker, store } = make(
      t,
      STAGED(log, `{ kind: 'done', id, value: { outcome: 'merge_finished', id: 'x' } }`),
    )
    await t.rejects(worker.merge(ID, wish('')), {
      code: 'FILE_IO',
      message: /thread .* has ended \(out of memory\)/,
    })
    await worker.checkpoints(ID)
    t.strictSame(readFileSync(log, 'utf8').trim().split('\n'), ['merge', 'resume', 'checkpoints'])
    t.doesNotThrow(() => store.open(ID, 'ci', 'overlay', 1))
  },
)

t.test('where that fails nobody works in the branch, and the next deed tries again', async (t) => {
  const log = join(t.testdir({}), 'log')
  const failed = `{ kind: 'failed', id, code: 'FILE_IO', message: 'no disk', details: {} }`
  const { worker, store } = make(t, STAGED(log, failed))
  await t.rejects(worker.merge(ID, wish('')), { code: 'FILE_IO' })
  t.throws(() => store.open(ID, 'ci', 'overlay', 1), { code: 'SANDBOX_UNAVAILABLE', message: /no disk/ })
  await t.rejects(worker.checkpoints(ID), { message: 'no disk' })
  await t.rejects(worker.drop(ID), { message: 'no disk' }, 'what is half done is not forgotten')
  t.strictSame(await worker.resume(), [], 'it has no journal')
  t.strictSame(readFileSync(log, 'utf8').trim().split('\n'), ['merge', 'resume', 'resume', 'resume'])
})

t.test('at the start only branches with a journal are asked after', async (t) => {
  const log = join(t.testdir({}), 'log')
  const { worker, store } = make(
    t,
    STAGED(log, `{ kind: 'done', id, value: { outcome: 'rolled_back', id: 'x', reason: 'y' } }`),
  )
  t.strictSame(await worker.resume(), [])
  t.notOk(existsSync(log), 'no thread was started')
  writeFileSync(join(store.directoryOf(ID), 'merge.json'), '{}')
  t.strictSame(await worker.resume(), [{ session: ID, outcome: 'rolled_back', id: 'x', reason: 'y' }])
})

t.test('a look ends with whoever waits for it, and with its branch', async (t) => {
  const { worker, upper } = make(t)
  writeFileSync(join(upper, 'f'), 'f')
  const left = /^Nobody waits for this look at the branch any more, or the branch is dropped/
  await t.rejects(worker.review(ID, 'text', [], { isOwn: false, onLeave: (stop) => stop() }), {
    code: 'FILE_IO',
    message: left,
  })
  const { text } = await worker.review(ID, 'text', [], { isOwn: true, onLeave: () => {} })
  t.match(await all(text), '/root/f (1 bytes, mode 0644)')
  const look = worker.review(ID, 'patch', [])
  const drop = worker.drop(ID)
  await t.rejects(look, { message: left })
  await drop
  t.equal(worker.find(ID), undefined)
})
