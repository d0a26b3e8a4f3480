/**
 * Work on files with the rights that commands have: nothing of it is done because the daemon is root.
 * @module
 */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { SessionView } from '../../../src/ports.ts'
import { createFileWork } from '../../../src/sandbox/files/file-work.node.ts'
import { createRights } from '../../../src/sandbox/files/rights.node.ts'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'
import { createPinLook } from '../../../src/sandbox/launcher/pinned.node.ts'
import { type StagedView, stageView } from './view.node.ts'

const NOBODY = 65_534
/** Linux; the same on every machine. */
const O_PATH = 0o10000000
const isRoot = process.geteuid?.() === 0
const work = createFileWork()
/** Of the calling thread: users, groups and effective capabilities. */
const standing = () =>
  readFileSync('/proc/thread-self/status', 'utf8')
    .split('\n')
    .filter((line) => /^(Uid|Gid|Groups|Cap)/.test(line))

function stage(t: Test): StagedView & { readonly asNobody: SessionView } {
  const staged = stageView(t)
  for (const directory of [join(staged.root, '..'), staged.root, staged.work]) chmodSync(directory, 0o755)
  const put = (name: string, owner: number, mode: number) => {
    writeFileSync(join(staged.work, name), name)
    chownSync(join(staged.work, name), owner, owner)
    chmodSync(join(staged.work, name), mode)
  }
  put('of-root', 0, 0o600)
  put('of-nobody', NOBODY, 0o600)
  mkdirSync(join(staged.work, 'd'))
  chownSync(join(staged.work, 'd'), NOBODY, NOBODY)
  chmodSync(join(staged.work, 'd'), 0o700)
  return { ...staged, asNobody: { ...staged.view, user: { userId: NOBODY, groupId: NOBODY } } }
}

async function text(view: SessionView, path: string): Promise<string> {
  const reader = await work.read(view, path, 0, undefined, 1_000)
  const target = Buffer.alloc(100)
  const length = await reader.read(target)
  reader.close()
  return target.toString('utf8', 0, length)
}

async function write(view: SessionView, real: string): Promise<void> {
  const bytes = Buffer.from('x')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const receiver = await work.receive(view, { real, size: 1, mode: 0o600, sha256, offset: 0, key: 'ab' })
  await receiver.write(bytes.slice())
  await receiver.finish(view)
}

t.test('root reads and writes what root may without its capabilities', { skip: !isRoot }, async (t) => {
  const { view, work: directory } = stage(t)
  const before = standing()
  t.equal(await text(view, '/work/of-root'), 'of-root')
  await t.rejects(text(view, '/work/of-nobody'), { code: 'FILE_PATH_DENIED' })
  await t.rejects(write(view, '/work/d/x'), { code: 'FILE_PATH_DENIED' })
  await t.rejects(work.makeDirectory(view, '/work/d', 0o777), { code: /^FILE_/ })
  await t.rejects(work.makeLink(view, '/work/d/l', 'x'), { code: 'FILE_PATH_DENIED' })
  t.match(work.look(view, '/work/d/x'), { kind: 'missing' }, 'nor is anything seen there')
  await write(view, '/work/x')
  t.equal(statSync(join(directory, 'x')).uid, 0)
  t.strictSame(standing(), before)
})

t.test('as another user it is that user who reads, writes and owns', { skip: !isRoot }, async (t) => {
  const { asNobody, work: directory } = stage(t)
  const before = standing()
  t.equal(await text(asNobody, '/work/of-nobody'), 'of-nobody')
  await t.rejects(text(asNobody, '/work/of-root'), { code: 'FILE_PATH_DENIED' })
  await t.rejects(write(asNobody, '/work/x'), { code: 'FILE_PATH_DENIED' })
  await write(asNobody, '/work/d/x')
  t.match(statSync(join(directory, 'd/x')), { uid: NOBODY, gid: NOBODY, mode: 0o100600 })
  await work.makeDirectory(asNobody, '/work/d/e', 0o750)
  t.match(statSync(join(directory, 'd/e')), { uid: NOBODY, mode: 0o40750 })
  t.strictSame(standing(), before)
  const rights = createRights(loadSyscalls())
  t.throws(() =>
    rights.within(asNobody, () => {
      throw new Error('in between')
    }),
  )
  t.strictSame(standing(), before, 'and comes back from an error')
})

t.test(
  'of what the kernel makes up nothing is opened, and no capability is there to open it with',
  async (t) => {
    const rootDescriptor = openSync('/', constants.O_DIRECTORY | O_PATH)
    t.teardown(() => closeSync(rootDescriptor))
    const view: SessionView = { rootDescriptor, writable: [] }
    const made = [
      '/proc/kmsg',
      '/proc/version',
      '/proc/sys/kernel/hostname',
      '/sys/kernel/notes',
      '/sys/power/state',
    ]
    for (const path of made.filter((path) => existsSync(path))) {
      await t.rejects(
        work.read(view, path, 0, undefined, 1_000),
        { code: 'FILE_IO', message: /makes this file up/ },
        path,
      )
      t.equal(createPinLook()(path), undefined, path)
    }
    const effective = createRights(loadSyscalls())
      .within(view, standing)
      .find((line) => line.startsWith('CapEff'))
    t.equal(effective, 'CapEff:\t0000000000000000')
  },
)

t.test(
  'what is in a directory is told to whom the user of the commands may look',
  { skip: !isRoot },
  async (t) => {
    const { asNobody, work: directory } = stage(t)
    mkdirSync(join(directory, 'named'))
    writeFileSync(join(directory, 'named/one'), 'x')
    chmodSync(join(directory, 'named'), 0o744)
    const reader = await work.read(asNobody, '/work/named', 0, undefined, 1_000)
    t.equal(reader.size, 1, 'an empty list: names without the right to look at what they are')
    reader.close()
  },
)
