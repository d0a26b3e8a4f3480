/**
 * kill -9 before every step of a merge, and of taking it back: each file is old or new then, and the next start finishes
 * what was going on or takes it back, and says which. Every fourth step, or each one where SASS_CRASH_STEPS is "all".
 * @module
 */

import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { mergeBranch, resumeMerge } from '../../../src/sandbox/branch/merge/merge.node.ts'
import { surveyBranch } from '../../../src/sandbox/branch/survey/survey.node.ts'
import {
  type Entry,
  enterMountNamespace,
  type Made,
  makeBranch,
  syscalls,
  treeOf,
} from './made-branch.node.ts'

type Tree = Record<string, Entry>

const skip = enterMountNamespace() ? false : 'no mount namespace'
const STRIDE = process.env['SASS_CRASH_STEPS'] === 'all' ? 1 : 4
const CRASH = join(import.meta.dirname, 'crash-work.node.ts')

function fill(real: string): void {
  for (const name of ['moved', 'gone', 'kept']) {
    mkdirSync(join(real, name))
    for (const inner of ['a', 'b']) writeFileSync(join(real, name, inner), `${name} ${inner}\n`)
  }
  writeFileSync(join(real, 'changed'), 'old\n')
  writeFileSync(join(real, 'type'), 'file\n')
  writeFileSync(join(real, 'mode'), 'mode\n')
  writeFileSync(join(real, 'l1'), 'linked\n')
  linkSync(join(real, 'l1'), join(real, 'l2'))
}

function work(path: string): void {
  renameSync(join(path, 'moved'), join(path, 'there'))
  appendFileSync(join(path, 'there/a'), 'more\n')
  rmSync(join(path, 'there/b'))
  rmSync(join(path, 'gone'), { recursive: true })
  mkdirSync(join(path, 'new/inner'), { recursive: true })
  writeFileSync(join(path, 'new/inner/file'), 'new\n')
  symlinkSync('inner', join(path, 'new/link'))
  appendFileSync(join(path, 'changed'), 'new\n')
  rmSync(join(path, 'type'))
  mkdirSync(join(path, 'type'))
  writeFileSync(join(path, 'type/in'), 'in\n')
  chmodSync(join(path, 'mode'), 0o600)
  chmodSync(join(path, 'kept'), 0o700)
  appendFileSync(join(path, 'l1'), 'both\n')
}

type Case = { made: Made; file: string; before: Tree; view: Tree }

function prepare(stateParent: string | undefined): Case {
  const made = makeBranch(fill, stateParent === undefined ? {} : { stateParent })
  const before = treeOf(made.real)
  const view = made.inside((path) => {
    work(path)
    return treeOf(path)
  })
  const file = join(made.home, 'case.json')
  writeFileSync(file, JSON.stringify({ directory: made.directory, branch: made.branch }))
  return { made, file, before, view }
}

/** Runs until it is killed before that step. False: it has ended before. */
function runTo(file: string, kind: string, step: number): boolean {
  const { signal, status, stderr } = spawnSync(process.execPath, [CRASH, file, kind, String(step)], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  if (signal === 'SIGKILL') return true
  if (status !== 0) throw new Error(`${kind} ${step}: ${stderr}`)
  return false
}

/** Files whose content is neither the old nor the new one. */
function torn(now: Tree, before: Tree, view: Tree): string[] {
  return Object.entries(now)
    .filter(([path, { type, content }]) => {
      if (type !== 'file') return false
      const known = [before[path], view[path]].filter((entry) => entry?.type === 'file')
      // On its way with a directory that is moved it is as it was there.
      const moved = before[path.replace(/^there\//, 'moved/')]
      return ![...known, moved].some((entry) => entry?.content === content)
    })
    .map(([path]) => path)
}

function differences(a: Tree, b: Tree): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (path) => JSON.stringify(a[path]) !== JSON.stringify(b[path]),
  )
}

for (const [label, stateParent] of [
  ['the stage beside the branch', undefined],
  ['the stage in the real root', '/dev/shm'],
] as const) {
  t.test(`kill -9 before every step of a merge, ${label}`, { skip }, (t) => {
    let [finished, rolledBack] = [0, 0]
    for (let step = stateParent === undefined ? 0 : 2; ; step += STRIDE) {
      const { made, file, before, view } = prepare(stateParent)
      const problems: string[] = []
      const isKilled = runTo(file, 'merge', step)
      if (isKilled) {
        const name = readFileSync(`${file}.step`, 'utf8')
        problems.push(...torn(treeOf(made.real), before, view).map((path) => `torn: ${path}`))
        // A crash of what repairs the crash is a crash like another.
        const isAgain = step % 3 === 0 && runTo(file, 'resume', step % 5)
        const result = resumeMerge(syscalls, made.directory, made.branch)
        const now = treeOf(made.real)
        if (result.kind === 'finished') {
          finished++
          problems.push(...differences(view, now).map((path) => `not merged: ${path}`))
        } else if (result.kind === 'rolled_back') {
          rolledBack++
          problems.push(...differences(before, now).map((path) => `not as before: ${path}`))
        } else {
          const isOld = differences(before, now).length === 0
          if (!isOld && differences(view, now).length > 0) problems.push('neither old nor new')
        }
        if (differences(before, now).length === 0) {
          // It can be merged as if nothing had been.
          const { digest } = surveyBranch(syscalls, made.directory, made.branch)
          const again = mergeBranch(syscalls, made.directory, made.branch, {
            digest,
            id: 'b'.repeat(32),
            allowHeldBack: true,
          })
          if (again.kind !== 'merged') problems.push(`merged again: ${again.kind}`)
          problems.push(...differences(view, treeOf(made.real)).map((path) => `not merged later: ${path}`))
        }
        problems.push(
          ...surveyBranch(syscalls, made.directory, made.branch).changes.map(
            ({ kind, path }) => `still ${kind} ${Buffer.from(path)}`,
          ),
        )
        problems.push(
          ...differences(
            view,
            made.inside((path) => treeOf(path)),
          ).map((path) => `the branch shows another ${path}`),
        )
        if (problems.length > 0) t.fail(`${step} ${name}${isAgain ? ', again' : ''}: ${problems.join('; ')}`)
      } else if (!existsSync(`${file}.steps`)) t.fail('the merge has not ended')
      made.remove()
      if (!isKilled) {
        t.ok(step > 20, `${step} steps`)
        break
      }
    }
    t.ok(finished > 1 && rolledBack > 1, `${finished} finished, ${rolledBack} rolled back`)
    t.end()
  })
}

t.test('kill -9 before every step of taking a merge back', { skip }, (t) => {
  for (let step = 1; ; step += STRIDE) {
    const { made, file, before, view } = prepare(undefined)
    runTo(file, 'merge', 1_000_000)
    const problems: string[] = []
    const isKilled = runTo(file, 'undo', step)
    if (isKilled) {
      problems.push(...torn(treeOf(made.real), before, view).map((path) => `torn: ${path}`))
      if (step % 3 === 0) runTo(file, 'resume', step % 5)
      const result = resumeMerge(syscalls, made.directory, made.branch)
      const isUndone = result.kind === 'finished' && result.what === 'undo'
      const now = treeOf(made.real)
      const isOld = differences(before, now).length === 0
      const isNew = differences(view, now).length === 0
      if (isUndone ? !isOld : !isOld && !isNew)
        problems.push(`${JSON.stringify(result)} ${differences(before, now)}`)
      problems.push(
        ...differences(
          view,
          made.inside((path) => treeOf(path)),
        ).map((path) => `the branch shows another ${path}`),
      )
    }
    if (problems.length > 0) t.fail(`${step} ${readFileSync(`${file}.step`, 'utf8')}: ${problems.join('; ')}`)
    made.remove()
    if (!isKilled) {
      t.ok(step > 15, `${step} steps`)
      break
    }
  }
  t.end()
})
