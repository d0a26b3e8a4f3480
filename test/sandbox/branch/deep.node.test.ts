/**
 * Trees deeper than one path can say: looked at, merged, taken back, saved and removed like any other; and what is deeper
 * than anything is looked at is said so, and removed all the same.
 * @module
 */

import { closeSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  createFiles,
  openDirectory,
  openRoot,
  statName,
} from '../../../src/sandbox/branch/files/files.node.ts'
import { dropBranch, removeDropped } from '../../../src/sandbox/branch/merge/drop.node.ts'
import { forgetMerge, mergeBranch, undoMerge } from '../../../src/sandbox/branch/merge/merge.node.ts'
import { makeCheckpoint, restoreCheckpoint } from '../../../src/sandbox/branch/store/checkpoint.node.ts'
import { removeTree } from '../../../src/sandbox/branch/store/remove.node.ts'
import { surveyBranch } from '../../../src/sandbox/branch/survey/survey.node.ts'
import { at, enterMountNamespace, makeBranch, syscalls } from './made-branch.node.ts'

const skip = enterMountNamespace() ? false : 'no mount namespace'
const LONG = 'n'.repeat(250)
const files = createFiles(syscalls)

/** Makes so many directories within each other, and a file in the last one, as programs do that go down step by step. */
function dig(top: string, names: readonly string[]): void {
  let here = openRoot(top)
  for (const name of names) {
    at.makeDirectory(here, Buffer.from(name), 0o755)
    const next = openDirectory(files, here, name)
    closeSync(here)
    here = next
  }
  writeFileSync(`/proc/self/fd/${here}/f`, 'deep\n')
  closeSync(here)
}

/** Whether the file at the bottom is there. */
function isThere(top: string, names: readonly string[]): boolean {
  const root = openRoot(top)
  try {
    const bottom = openDirectory(files, root, names.join('/'))
    if (bottom < 0) return false
    try {
      return statName(bottom, 'f') !== undefined
    } finally {
      closeSync(bottom)
    }
  } finally {
    closeSync(root)
  }
}

t.test('25 names of 250 bytes', { skip }, (t) => {
  const names = Array.from({ length: 25 }, () => LONG)
  const made = makeBranch((real) => {
    mkdirSync(join(real, 'old'))
    dig(join(real, 'old'), names)
  })
  t.teardown(() => removeTree(files, openRoot(made.home), 'branch'))
  made.inside((path) => {
    dig(path, names)
    // The directory goes with all that is in it.
    const top = openRoot(path)
    removeTree(files, top, 'old')
    closeSync(top)
  })
  const before = surveyBranch(syscalls, made.directory, made.branch)
  t.equal(before.changes.length, 27)
  t.match(before.changes[0], { kind: 'deleted', removed: { files: 1, directories: 25 } })

  const saved = makeCheckpoint(syscalls, made.directory, made.branch, 'before', 1)
  const result = mergeBranch(syscalls, made.directory, made.branch, {
    digest: before.digest,
    id: 'ab'.repeat(16),
  })
  t.match(result, { kind: 'merged', counts: { added: 26, deleted: 1 } })
  t.ok(isThere(made.real, names))
  t.notOk(existsSync(join(made.real, 'old')))

  t.match(undoMerge(syscalls, made.directory, made.branch), { kind: 'undone' })
  t.notOk(isThere(made.real, names))
  t.ok(isThere(join(made.real, 'old'), names))

  const again = surveyBranch(syscalls, made.directory, made.branch)
  t.match(mergeBranch(syscalls, made.directory, made.branch, { digest: again.digest, id: 'cd'.repeat(16) }), {
    kind: 'merged',
  })
  forgetMerge(syscalls, made.directory, made.branch)
  restoreCheckpoint(syscalls, made.directory, made.branch, saved.number)
  t.equal(surveyBranch(syscalls, made.directory, made.branch).changes.length, 0, 'it is real by now')

  const dropped = dropBranch(syscalls, made.directory)
  let slices = 1
  while (!removeDropped(syscalls, dropped, 16)) slices++
  t.ok(slices > 2, 'in slices')
  t.strictSame(readdirSync(made.home), ['real'])
  t.end()
})

t.test('a tree of 12,000 directories within each other', { skip }, (t) => {
  const names = Array.from({ length: 12_000 }, () => 'd')
  const made = makeBranch(() => {})
  t.teardown(() => removeTree(files, openRoot(made.home), 'branch'))
  const upper = join(made.branch.roots[0]?.store ?? '', 'upper')
  dig(upper, names)
  t.throws(() => surveyBranch(syscalls, made.directory, made.branch), {
    code: 'FILE_IO',
    message: /^d\/d\/.* … .*\/d lies more than 16384 bytes deep, .*drop the branch\.$/,
  })
  t.notOk(existsSync(join(made.directory, 'merge.json')))
  const before = readdirSync('/proc/self/fd').length
  const dropped = dropBranch(syscalls, made.directory)
  while (!removeDropped(syscalls, dropped, 1_024)) t.ok(readdirSync('/proc/self/fd').length < before + 8)
  t.strictSame(readdirSync(made.home), ['real'])
  t.end()
})
