/**
 * What a merge does beside the ordinary: parts, conflicts, what is held back, somebody who changes things meanwhile, and
 * taking back; and what follows it: drops and checkpoints.
 * @module
 */

import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { dropBranch, droppedBranches, removeDropped } from '../../../../src/sandbox/branch/merge/drop.node.ts'
import {
  forgetMerge,
  mergeBranch,
  resumeMerge,
  undoMerge,
} from '../../../../src/sandbox/branch/merge/merge.node.ts'
import type { MergeRequest, MergeResult } from '../../../../src/sandbox/branch/merge/merge-result.ts'
import {
  listCheckpoints,
  makeCheckpoint,
  removeCheckpoint,
  restoreCheckpoint,
} from '../../../../src/sandbox/branch/store/checkpoint.node.ts'
import { surveyBranch } from '../../../../src/sandbox/branch/survey/survey.node.ts'
import {
  afterTick,
  enterMountNamespace,
  type Made,
  makeBranch,
  syscalls,
  treeOf,
} from '../made-branch.node.ts'

const skip = enterMountNamespace() ? false : 'no mount namespace'
const ID = '0123456789abcdef0123456789abcdef'

function merge(
  made: Made,
  request: Partial<MergeRequest> = {},
  beforeStep?: (name: string) => void,
): MergeResult {
  const { digest } = surveyBranch(syscalls, made.directory, made.branch)
  return mergeBranch(syscalls, made.directory, made.branch, { digest, id: ID, ...request }, beforeStep)
}

function told(made: Made): string[] {
  return surveyBranch(syscalls, made.directory, made.branch).changes.map(
    ({ kind, path }) => `${kind} ${Buffer.from(path).toString() || '.'}`,
  )
}

function named(...paths: readonly string[]) {
  return paths.map((path) => ({ root: 0, path: Buffer.from(path) }))
}

function read(made: Made, path: string): string {
  return readFileSync(join(made.real, path), 'utf8')
}

t.test('a conflict stops everything, and is forced by name', { skip }, (t) => {
  const made = makeBranch((real) => {
    for (const name of ['both', 'mine']) writeFileSync(join(real, name), 'old')
  })
  t.teardown(made.remove)
  made.inside((path) => {
    for (const name of ['both', 'mine']) writeFileSync(join(path, name), 'branch')
  })
  afterTick(made.home)
  writeFileSync(join(made.real, 'both'), 'human')
  const refused = merge(made)
  t.equal(refused.kind, 'conflicts')
  t.equal(refused.kind === 'conflicts' && refused.conflicts.length, 1)
  t.strictSame([read(made, 'both'), read(made, 'mine')], ['human', 'old'])
  t.equal(merge(made, { paths: named('mine') }).kind, 'merged')
  t.strictSame([read(made, 'both'), read(made, 'mine')], ['human', 'branch'])
  t.equal(merge(made).kind, 'conflicts', 'the rest still is one')
  t.equal(merge(made, { force: named('both') }).kind, 'merged')
  t.equal(read(made, 'both'), 'branch')
  t.equal(undoMerge(syscalls, made.directory, made.branch).kind, 'undone')
  t.equal(read(made, 'both'), 'human')
  t.equal(merge(made).kind, 'conflicts', 'and again')
  t.end()
})

t.test('what a part cannot be without comes with it', { skip }, (t) => {
  const made = makeBranch((real) => writeFileSync(join(real, 'f'), ''))
  t.teardown(made.remove)
  made.inside((path) => {
    mkdirSync(join(path, 'new/deep'), { recursive: true })
    for (const name of ['new/a', 'new/deep/b', 'new/deep/c']) writeFileSync(join(path, name), name)
    appendFileSync(join(path, 'f'), 'x')
  })
  const result = merge(made, { paths: named('new/deep/b') })
  t.equal(result.kind, 'merged')
  if (result.kind === 'merged')
    t.strictSame(
      result.brought.map(({ path }) => Buffer.from(path).toString()),
      ['new', 'new/deep'],
    )
  t.strictSame(told(made), ['modified f', 'added new/a', 'added new/deep/c'])
  t.equal(merge(made, { paths: named('new') }).kind, 'merged')
  t.strictSame(told(made), ['modified f'])
  t.equal(merge(made, { paths: named('no/such') }).kind, 'nothing')
  t.equal(merge(made, { digest: '0'.repeat(64) }).kind, 'other_digest')
  t.end()
})

t.test('a branch goes on after a merge: what it does then is compared with what it left', { skip }, (t) => {
  const made = makeBranch((real) => {
    mkdirSync(join(real, 'd'))
    for (const name of ['d/f', 'd/g']) writeFileSync(join(real, name), 'old')
  })
  t.teardown(made.remove)
  made.inside((path) => writeFileSync(join(path, 'd/f'), 'once'))
  t.equal(merge(made).kind, 'merged')
  made.inside((path) => writeFileSync(join(path, 'd/f'), 'twice'))
  t.equal(merge(made).kind, 'merged', 'its own merge is no conflict')
  writeFileSync(join(made.real, 'd/g'), 'human')
  t.equal(
    made.inside((path) => readFileSync(join(path, 'd/g'), 'utf8')),
    'human',
    'the branch shows what it has not changed itself',
  )
  made.inside((path) => rmSync(join(path, 'd'), { recursive: true }))
  t.equal(merge(made).kind, 'conflicts', 'the human is one')
  t.end()
})

t.test('rights that outlive the branch are held back until they are named', { skip }, (t) => {
  const made = makeBranch((real) => mkdirSync(join(real, 'd')))
  t.teardown(made.remove)
  made.inside((path) => {
    writeFileSync(join(path, 'd/su'), 'x')
    chmodSync(join(path, 'd/su'), 0o4755)
    execFileSync('mkfifo', [join(path, 'd/fifo')])
    writeFileSync(join(path, 'd/plain'), '')
  })
  const result = merge(made)
  t.equal(result.kind === 'merged' && result.leftOut.length, 2)
  t.strictSame(readdirSync(join(made.real, 'd')), ['plain'])
  t.strictSame(told(made), ['added d/fifo', 'added d/su'])
  t.equal(merge(made, { paths: named('d') }).kind, 'nothing', 'not by the directory')
  t.equal(merge(made, { paths: named('d/su') }).kind, 'merged')
  t.equal(statSync(join(made.real, 'd/su')).mode & 0o7777, 0o4755)
  t.equal(merge(made, { allowHeldBack: true }).kind, 'merged')
  t.ok(lstatSync(join(made.real, 'd/fifo')).isFIFO())
  t.end()
})

t.test('sparse files stay sparse, links stay links', { skip }, (t) => {
  const made = makeBranch((real) => {
    writeFileSync(join(real, 'a'), 'a')
    linkSync(join(real, 'a'), join(real, 'b'))
  })
  t.teardown(made.remove)
  made.inside((path) => {
    execFileSync(
      'sh',
      ['-c', 'truncate -s 50M sparse; printf x | dd of=sparse bs=1 seek=20000000 conv=notrunc status=none'],
      { cwd: path },
    )
    appendFileSync(join(path, 'a'), 'more')
    linkSync(join(path, 'a'), join(path, 'c'))
  })
  t.equal(merge(made).kind, 'merged')
  const { size, blocks } = statSync(join(made.real, 'sparse'))
  t.equal(size, 50 * 1_048_576)
  t.ok(blocks * 512 < 1_048_576, `${blocks} blocks`)
  t.equal(readFileSync(join(made.real, 'sparse'))[20_000_000], 0x78)
  t.equal(new Set(['a', 'b', 'c'].map((name) => statSync(join(made.real, name)).ino)).size, 1)
  t.equal(read(made, 'b'), 'amore')
  t.end()
})

t.test('a directory that becomes a link leads no write out', { skip }, (t) => {
  const made = makeBranch((real) => {
    mkdirSync(join(real, 'd'))
    for (const name of ['f', 'g']) writeFileSync(join(real, 'd', name), 'old')
  })
  t.teardown(made.remove)
  const outside = join(made.home, 'outside')
  mkdirSync(outside)
  for (const name of ['f', 'g']) writeFileSync(join(outside, name), 'outside')
  const wasOutside = treeOf(outside)
  made.inside((path) => {
    for (const name of ['f', 'g', 'new']) writeFileSync(join(path, 'd', name), 'branch')
  })
  for (const when of ['exchange', 'put', 'attributes', 'stage']) {
    const result = merge(made, {}, (name) => {
      if (!name.startsWith(when) || lstatSync(join(made.real, 'd')).isSymbolicLink()) return
      renameSync(join(made.real, 'd'), join(made.real, 'away'))
      symlinkSync(outside, join(made.real, 'd'))
    })
    t.strictSame(treeOf(outside), wasOutside, `${when}: nothing came out`)
    if (result.kind === 'merged') {
      // The last looks came before: what was merged is in the directory itself.
      t.equal(readFileSync(join(made.real, 'away/f'), 'utf8'), 'branch')
      undoMerge(syscalls, made.directory, made.branch)
    }
    if (lstatSync(join(made.real, 'd')).isSymbolicLink()) {
      rmSync(join(made.real, 'd'))
      renameSync(join(made.real, 'away'), join(made.real, 'd'))
    }
    // A merge that could not be taken back with the link in its way is now.
    resumeMerge(syscalls, made.directory, made.branch)
    forgetMerge(syscalls, made.directory, made.branch)
  }
  t.end()
})

t.test('a link that is swapped in a loop leads no write out', { skip }, (t) => {
  const made = makeBranch((real) => {
    mkdirSync(join(real, 'd'))
    for (let file = 0; file < 300; file++) writeFileSync(join(real, 'd', String(file)), 'old')
  })
  t.teardown(made.remove)
  const outside = join(made.home, 'outside')
  mkdirSync(outside)
  for (let file = 0; file < 300; file++) writeFileSync(join(outside, String(file)), 'outside')
  const wasOutside = treeOf(outside)
  symlinkSync(outside, join(made.home, 'link'))
  made.inside((path) => {
    for (let file = 0; file < 300; file++) writeFileSync(join(path, 'd', String(file)), 'branch')
  })
  const { digest } = surveyBranch(syscalls, made.directory, made.branch)
  let swaps = 0
  let isLink = false
  const result = mergeBranch(syscalls, made.directory, made.branch, { digest, id: ID }, (name) => {
    if (!name.startsWith('exchange') && !name.startsWith('back')) return
    swaps++
    // Both change places, as renameat2 would do it.
    const [a, b, spare] = [join(made.real, 'd'), join(made.home, 'link'), join(made.home, 'spare')]
    renameSync(a, spare)
    renameSync(b, a)
    renameSync(spare, b)
    isLink = !isLink
  })
  if (isLink) {
    renameSync(join(made.real, 'd'), join(made.home, 'spare'))
    renameSync(join(made.home, 'link'), join(made.real, 'd'))
  }
  t.ok(swaps > 1)
  t.strictSame(treeOf(outside), wasOutside)
  t.ok(['merged', 'rolled_back'].includes(result.kind))
  const contents = new Set(Array.from({ length: 300 }, (_, file) => read(made, `d/${file}`)))
  for (const content of contents) t.ok(['old', 'branch'].includes(content))
  t.end()
})

t.test('a file that is changed at the last moment stays, and so does all the rest', { skip }, (t) => {
  const made = makeBranch((real) => {
    for (const name of ['a', 'b', 'c']) writeFileSync(join(real, name), 'old')
  })
  t.teardown(made.remove)
  made.inside((path) => {
    for (const name of ['a', 'b', 'c']) writeFileSync(join(path, name), 'branch')
  })
  let count = 0
  const result = merge(made, {}, (name) => {
    if (name.startsWith('exchange') && ++count === 3) writeFileSync(join(made.real, 'c'), 'human')
  })
  t.equal(result.kind, 'rolled_back')
  t.strictSame(
    ['a', 'b', 'c'].map((name) => read(made, name)),
    ['old', 'old', 'human'],
  )
  t.equal(merge(made).kind, 'conflicts')
  t.equal(merge(made, { paths: named('a', 'b') }).kind, 'merged', 'what was taken back is no conflict')
  t.end()
})

t.test('what was changed since the merge is not taken back', { skip }, (t) => {
  const made = makeBranch((real) => writeFileSync(join(real, 'f'), 'old'))
  t.teardown(made.remove)
  made.inside((path) => {
    writeFileSync(join(path, 'f'), 'branch')
    mkdirSync(join(path, 'd'))
  })
  t.equal(merge(made).kind, 'merged')
  writeFileSync(join(made.real, 'f'), 'later')
  writeFileSync(join(made.real, 'd/other'), '')
  const result = undoMerge(syscalls, made.directory, made.branch)
  t.equal(result.kind, 'conflicts')
  t.strictSame(
    result.kind === 'conflicts' && result.paths.map(({ path }) => Buffer.from(path).toString()).sort(),
    ['d', 'f'],
  )
  t.equal(read(made, 'f'), 'later')
  forgetMerge(syscalls, made.directory, made.branch)
  t.equal(undoMerge(syscalls, made.directory, made.branch).kind, 'none')
  t.strictSame(readdirSync(made.real).sort(), ['d', 'f'], 'nothing is left of it')
  t.end()
})

t.test('checkpoints bring back what the branch was', { skip }, (t) => {
  const made = makeBranch((real) => {
    mkdirSync(join(real, 'd'))
    for (const name of ['d/a', 'd/b', 'f']) writeFileSync(join(real, name), 'old')
    linkSync(join(real, 'f'), join(real, 'g'))
  })
  t.teardown(made.remove)
  const first = made.inside((path) => {
    rmSync(join(path, 'd/a'))
    appendFileSync(join(path, 'f'), 'one')
    renameSync(join(path, 'd'), join(path, 'e'))
    return treeOf(path)
  })
  const checkpoint = makeCheckpoint(syscalls, made.directory, made.branch, 'first', 5)
  t.match(checkpoint, { number: 1, label: 'first', madeAtMs: 5 })
  const second = made.inside((path) => {
    rmSync(join(path, 'e'), { recursive: true })
    appendFileSync(join(path, 'g'), 'two')
    mkdirSync(join(path, 'd'))
    return treeOf(path)
  })
  makeCheckpoint(syscalls, made.directory, made.branch, 'second', 6)
  const shown = () => made.inside((path) => treeOf(path))
  restoreCheckpoint(syscalls, made.directory, made.branch, 1)
  t.strictSame(shown(), first)
  restoreCheckpoint(syscalls, made.directory, made.branch, 2)
  t.strictSame(shown(), second)
  t.strictSame(
    listCheckpoints(made.directory).map(({ label }) => label),
    ['first', 'second'],
  )
  restoreCheckpoint(syscalls, made.directory, made.branch, 1)
  removeCheckpoint(syscalls, made.directory, 2)
  t.throws(() => restoreCheckpoint(syscalls, made.directory, made.branch, 2), { code: 'FILE_IO' })
  t.equal(merge(made).kind, 'merged')
  t.strictSame(treeOf(made.real), first)
  t.throws(
    () => restoreCheckpoint(syscalls, made.directory, made.branch, 1),
    { code: 'FILE_IO' },
    'directories were moved since',
  )
  t.end()
})

t.test('a dropped branch goes in slices, and the real files stay as they are', { skip }, (t) => {
  const made = makeBranch((real) => writeFileSync(join(real, 'f'), ''))
  t.teardown(made.remove)
  const before = treeOf(made.real)
  made.inside((path) => {
    for (let file = 0; file < 50; file++) writeFileSync(join(path, String(file)), '')
    mkdirSync(join(path, 'a/b/c'), { recursive: true })
  })
  const dropped = dropBranch(syscalls, made.directory)
  t.notOk(existsSync(made.directory))
  t.strictSame(droppedBranches(dirname(made.directory)), [dropped])
  let slices = 0
  while (!removeDropped(syscalls, dropped, 10)) slices++
  t.ok(slices >= 5, `${slices} slices`)
  t.notOk(existsSync(dropped))
  t.strictSame(treeOf(made.real), before)
  t.end()
})

t.test('a drop takes along what a merge keeps in the real root', { skip }, (t) => {
  const made = makeBranch((real) => writeFileSync(join(real, 'f'), 'old'), { stateParent: '/dev/shm' })
  t.teardown(made.remove)
  made.inside((path) => writeFileSync(join(path, 'f'), 'branch'))
  t.equal(merge(made).kind, 'merged')
  t.strictSame(readdirSync(made.real), [`.sass-edge-merge-${ID}`, 'f'])
  t.strictSame(
    made.inside((path) => readdirSync(path)),
    ['f'],
    'the branch does not see it',
  )
  writeFileSync(join(made.directory, 'branch.json'), JSON.stringify(made.branch))
  const dropped = dropBranch(syscalls, made.directory)
  while (!removeDropped(syscalls, dropped, 100));
  t.strictSame(readdirSync(made.real), ['f'])
  t.equal(read(made, 'f'), 'branch')
  t.end()
})

const USER_NAMESPACE = ['-Urm', '--map-current-user', '--keep-caps']
const noUsers =
  spawnSync('unshare', [...USER_NAMESPACE, 'true']).status === 0 ? false : 'no user namespaces here'

t.test('random work in a user namespace', { skip: noUsers }, (t) => {
  const model = join(import.meta.dirname, '../model.node.test.ts')
  const { status, stdout } = spawnSync('unshare', [...USER_NAMESPACE, process.execPath, model], {
    encoding: 'utf8',
    env: {
      ...process.env,
      SASS_BRANCH_KINDS: 'user',
      SASS_BRANCH_SEQUENCES: '10',
      NODE_OPTIONS: '',
      TAP: '1',
    },
  })
  t.equal(status, 0, status === 0 ? '' : stdout)
  t.match(stdout, /^ok /m, 'and something was tried')
  t.end()
})
