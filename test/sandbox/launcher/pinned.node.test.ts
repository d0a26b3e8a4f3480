/**
 * Pinned programs: what is digested, what is remembered, and that the very file that was looked at is the one that
 * runs.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  copyFileSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createSealedCopies } from '../../../src/sandbox/kernel/sealed-copy.node.ts'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'
import { createPinLook, type PinnedFile, withPins } from '../../../src/sandbox/launcher/pinned.node.ts'
import { createSpawner } from '../../../src/sandbox/launcher/spawner.node.ts'
import { planFor, run, until } from '../run-child.node.ts'

const plain = await createSpawner()
t.teardown(() => plain.close())
const spawner = withPins(plain, loadSyscalls())

const digestOf = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')
const descriptors = () => readdirSync('/proc/self/fd').length

/** A program of its own at a path that the test may write. */
function program(directory: string, name = 'tool'): string {
  const path = join(directory, name)
  copyFileSync('/bin/echo', path)
  chmodSync(path, 0o755)
  return path
}

function script(directory: string, says: string): string {
  const path = join(directory, 'script')
  writeFileSync(path, `#!/bin/sh\necho ${says} "$@"\n`)
  chmodSync(path, 0o755)
  return path
}

function looked(path: string): PinnedFile {
  const found = createPinLook()(path)
  if (found === undefined) throw new Error(`${path} cannot be read`)
  return found
}

t.test('the digest is that of the content, with the inode that it was read from', async (t) => {
  const path = program(t.testdir())
  const [device, inode, size] = execFileSync('stat', ['-c', '%d %i %s', path], { encoding: 'utf8' })
    .trim()
    .split(' ')
  t.match(looked(path), { sha256: digestOf(path), device, inode, size })
  const open = descriptors()
  for (let round = 0; round < 10; round++) looked(path)
  t.equal(descriptors(), open, 'no descriptor stays open')
})

t.test('what is no file that can be read has no digest, and nobody waits for it', async (t) => {
  const directory = t.testdir({ folder: {} })
  execFileSync('mkfifo', [join(directory, 'pipe')])
  symlinkSync(join(directory, 'loop'), join(directory, 'loop'))
  const look = createPinLook()
  for (const name of ['folder', 'pipe', 'loop', 'none', 'folder/none'])
    t.equal(look(join(directory, name)), undefined, name)
  t.equal(look('/dev/null'), undefined)
  t.equal(look('/dev/zero'), undefined)
  t.equal(look(`${directory}/a\0b`), undefined)
})

t.test('a file that nobody may read has no digest', async (t) => {
  const path = program(t.testdir())
  chmodSync(path, 0o111)
  if (process.getuid?.() === 0) t.comment('skipped: root may read everything')
  else t.equal(createPinLook()(path), undefined)
})

t.test('a digest is remembered until the file changes, however the change is hidden', async (t) => {
  const directory = t.testdir()
  const path = program(directory)
  const look = createPinLook()
  const first = look(path)
  t.equal(look(path), first, 'the same answer, not only an equal one')

  // As many bytes as before, and the times of before: only the kernel's own time of change tells.
  const bytes = readFileSync(path)
  const past = new Date(1_000_000_000_000)
  utimesSync(path, past, past)
  const dated = look(path)
  t.equal(dated?.sha256, first?.sha256)
  bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1
  writeFileSync(path, bytes)
  utimesSync(path, past, past)
  t.equal(look(path)?.sha256, digestOf(path))
  t.not(look(path)?.sha256, first?.sha256, 'altered in place')

  const other = join(directory, 'other')
  copyFileSync('/bin/true', other)
  renameSync(other, path)
  t.equal(look(path)?.sha256, digestOf('/bin/true'), 'replaced')
  t.equal(look(path)?.inode, execFileSync('stat', ['-c', '%i', path], { encoding: 'utf8' }).trim())
})

t.test('the file that was looked at runs, with its arguments', async (t) => {
  const path = program(t.testdir())
  const open = descriptors()
  const plan = planFor(['tool', 'a', 'b c'], { file: path, pinned: looked(path) })
  const ended = await run(spawner, plan)
  t.match(ended, { errno: 0, status: { kind: 'exited', code: 0 } })
  t.equal(ended.stdout.toString(), 'a b c\n')
  t.ok(await until(() => descriptors() <= open), 'no descriptor stays open')
})

t.test('what has no pin is run as it is', async (t) => {
  const path = program(t.testdir())
  t.equal((await run(spawner, planFor(['tool', 'x'], { file: path }))).stdout.toString(), 'x\n')
})

t.test(
  'a file that is replaced, altered, linked away or gone after the decision is not started',
  async (t) => {
    const changes: Record<string, (directory: string, path: string) => void> = {
      replaced(directory, path) {
        copyFileSync('/bin/true', join(directory, 'new'))
        renameSync(join(directory, 'new'), path)
      },
      'replaced by a copy of itself'(directory, path) {
        copyFileSync(path, join(directory, 'new'))
        renameSync(join(directory, 'new'), path)
      },
      'altered in place'(_directory, path) {
        const bytes = readFileSync(path)
        bytes[100] = (bytes[100] ?? 0) ^ 1
        writeFileSync(path, bytes)
      },
      'made a link to another one'(directory, path) {
        symlinkSync('/bin/true', join(directory, 'new'))
        renameSync(join(directory, 'new'), path)
      },
      'made a directory'(directory, path) {
        renameSync(path, join(directory, 'away'))
        execFileSync('mkdir', [path])
      },
    }
    const open = descriptors()
    for (const [name, change] of Object.entries(changes)) {
      const directory = t.testdir()
      const path = program(directory)
      const pinned = looked(path)
      change(directory, path)
      t.throws(
        () => spawner.spawn(planFor(['tool'], { file: path, pinned }), NOTHING),
        { code: 'SANDBOX_UNAVAILABLE', message: /is pinned and has changed since it was checked/ },
        name,
      )
    }
    const gone = looked(program(t.testdir()))
    t.throws(
      () => spawner.spawn(planFor(['tool'], { file: join(t.testdirName, 'none'), pinned: gone }), NOTHING),
      { code: 'SANDBOX_UNAVAILABLE' },
    )
    t.equal(descriptors(), open, 'no descriptor stays open')
  },
)

t.test('a second name for the same file is the same file', async (t) => {
  const directory = t.testdir()
  const path = program(directory)
  linkSync(path, join(directory, 'second'))
  const plan = planFor(['second', 'x'], { file: join(directory, 'second'), pinned: looked(path) })
  t.equal((await run(spawner, plan)).stdout.toString(), 'x\n')
})

t.test('a script is run from a copy that its interpreter opens, and not after a change', async (t) => {
  const directory = t.testdir()
  const path = script(directory, 'first')
  const pinned = looked(path)
  const plan = planFor(['script', 'x'], { file: path, pinned })
  t.equal((await run(spawner, plan)).stdout.toString(), 'first x\n')
  script(directory, 'second')
  t.throws(() => spawner.spawn(plan, NOTHING), { code: 'SANDBOX_UNAVAILABLE' })
})

t.test('a change that its time does not tell is told by the bytes', async (t) => {
  const directory = t.testdir()
  for (const path of [program(directory), script(directory, 'first')]) {
    const pinned = { ...looked(path), sha256: '0'.repeat(64) }
    const open = descriptors()
    t.throws(() => spawner.spawn(planFor(['tool'], { file: path, pinned }), NOTHING), {
      code: 'SANDBOX_UNAVAILABLE',
    })
    t.equal(descriptors(), open, 'no descriptor stays open')
  }
})

t.test('what runs is sealed, open for reading alone, and the only descriptor beside the three', async (t) => {
  const path = join(t.testdir(), 'script')
  const says = [
    'ls /proc/self/fd | tr "\\n" " "; readlink /proc/$$/fd/3; grep flags /proc/$$/fdinfo/3',
    'for how in ">" ">>" "<>"; do (eval "echo changed 1$how/proc/self/fd/3") 2>/dev/null && echo "written by $how"; done',
    '(echo changed >&3) 2>/dev/null && echo written; cat /proc/self/fd/3 | tail -n 1; echo "$0" "$@"',
    '# the end',
  ]
  writeFileSync(path, `#!/bin/sh\n${says.join('\n')}\n`, { mode: 0o755 })
  const ended = await run(spawner, planFor(['script', 'x'], { file: path, pinned: looked(path) }))
  const [list, flags, ...rest] = ended.stdout.toString().trim().split('\n')
  // The last one is that of `ls` itself.
  t.match(list, /^0 1 2 3 4 \/memfd:pinned \(deleted\)$/)
  t.match(flags, /^flags:\t0?[0-7]*0$/, 'O_RDONLY')
  t.strictSame(rest, ['# the end', '/proc/self/fd/3 x'], ended.stderr.toString())
})

t.test('a program from a copy has no descriptor beside the three', async (t) => {
  const path = join(t.testdir(), 'tool')
  copyFileSync('/bin/ls', path)
  chmodSync(path, 0o755)
  const plan = planFor(['tool', '/proc/self/fd'], { file: path, pinned: looked(path) })
  t.equal((await run(spawner, plan)).stdout.toString(), '0\n1\n2\n3\n', 'the last one is that of the list')
})

t.test('who may not run the file may not run its copy', async (t) => {
  const directory = t.testdir()
  const path = program(directory)
  chmodSync(path, 0o644)
  const ended = await run(spawner, planFor(['tool'], { file: path, pinned: looked(path) }))
  t.equal(ended.errno, 13)
  if (process.geteuid?.() !== 0) return void t.comment('skipped: only root runs programs as others')
  chmodSync(path, 0o700)
  const plan = planFor(['tool'], {
    file: path,
    pinned: looked(path),
    runAs: { userId: 1_000, groupId: 1_000 },
  })
  t.equal((await run(spawner, plan)).errno, 13)
})

t.test('copies have a bound, counted until what runs has ended', async (t) => {
  const path = program(t.testdir())
  const { length } = readFileSync(path)
  const copies = createSealedCopies(loadSyscalls(), length + 10)
  const source = openSync(path, 'r')
  const first = copies.make(source)
  if (typeof first === 'string') throw new Error(first)
  t.equal(first.sha256, digestOf(path))
  t.equal(copies.make(source), 'full')
  first.forget()
  const second = copies.make(source)
  if (typeof second === 'string') throw new Error(second)
  for (const descriptor of [source, first.descriptor, second.descriptor]) closeSync(descriptor)
})

t.test('a start that fails leaves no descriptor', async (t) => {
  const path = join(t.testdir(), 'text')
  writeFileSync(path, 'no program')
  const open = descriptors()
  const ended = await run(spawner, planFor(['text'], { file: path, pinned: looked(path) }))
  t.not(ended.errno, 0)
  t.ok(await until(() => descriptors() <= open))
})

const NOTHING = Object.freeze({
  spawned() {},
  failed() {},
  output() {},
  stdinDrained() {},
  exited() {},
})
