/**
 * Random work in branches: what is merged is what the branch showed, bytes and metadata, whether at once or in parts; what
 * is taken back is what was there before; and looking changes nothing. As many sequences as SASS_BRANCH_SEQUENCES says.
 * @module
 */

import { join } from 'node:path'
import t from 'tap'
import type { OverlayAttributes } from '../../../src/sandbox/branch/files/branch.ts'
import type { Survey } from '../../../src/sandbox/branch/files/changes.ts'
import { mergeBranch, undoMerge } from '../../../src/sandbox/branch/merge/merge.node.ts'
import { surveyBranch } from '../../../src/sandbox/branch/survey/survey.node.ts'
import {
  copyLike,
  type Entry,
  enterMountNamespace,
  type Made,
  makeBranch,
  OVERLAY_OPTIONS,
  syscalls,
  treeOf,
} from './made-branch.node.ts'
import { createRandom, fill, type Random, work } from './random-work.node.ts'

const SEQUENCES = Number(process.env['SASS_BRANCH_SEQUENCES'] ?? 15)
const FIRST = Number(process.env['SASS_BRANCH_SEED'] ?? 1)
const canMount = enterMountNamespace()

type Tree = Record<string, Entry>

function survey(made: Made): Survey {
  return surveyBranch(syscalls, made.directory, made.branch)
}

let merges = 0

function merge(made: Made, found: Survey, paths?: readonly Uint8Array[]): string {
  merges++
  const result = mergeBranch(syscalls, made.directory, made.branch, {
    digest: found.digest,
    id: merges.toString(16).padStart(32, '0'),
    allowHeldBack: true,
    ...(paths === undefined ? {} : { paths: paths.map((path) => ({ root: 0, path })) }),
  })
  return result.kind === 'rolled_back' ? `rolled_back: ${result.reason}` : result.kind
}

/** What differs, the first few. */
function differences(expected: Tree, found: Tree): string[] {
  const names = new Set([...Object.keys(expected), ...Object.keys(found)])
  const list: string[] = []
  for (const name of names) {
    const [a, b] = [JSON.stringify(expected[name]), JSON.stringify(found[name])]
    if (a !== b) list.push(`${name}: expected ${a} found ${b}`)
  }
  return list.slice(0, 6)
}

function withoutTimes(tree: Tree): Tree {
  return Object.fromEntries(Object.entries(tree).map(([name, entry]) => [name, { ...entry, modifiedNs: '' }]))
}

/** Names of one file that are above and beneath are two files to the overlay, with the same content. */
function withoutLinks(tree: Tree): Tree {
  return Object.fromEntries(Object.entries(tree).map(([name, entry]) => [name, { ...entry, link: '' }]))
}

/** @returns what went wrong */
function sequence(seed: number, attributes: OverlayAttributes | 'copy'): string[] {
  const random: Random = createRandom(seed)
  const hasLinks = random.below(2) === 0
  const level = attributes === 'copy' ? 'copy' : 'overlay'
  const made = makeBranch((real) => fill(real, random, hasLinks), {
    level,
    ...(attributes === 'copy' ? {} : { attributes, options: OVERLAY_OPTIONS[attributes] }),
    ...(random.below(3) === 0 ? { stateParent: '/dev/shm' } : {}),
  })
  /** Without an index the overlay makes several files of one with several names. */
  const areLinksKept = attributes !== 'user'
  const log: string[] = []
  const problems: string[] = []
  const check = (what: string, list: readonly string[]): void => {
    if (list.length > 0)
      problems.push(`seed ${seed} ${attributes}: ${what}\n  ${list.join('\n  ')}\n  after ${log.join('; ')}`)
  }
  try {
    const before = treeOf(made.real)
    const model = join(made.home, 'model')
    if (attributes === 'trusted') copyLike(made.real, model)
    const steps = 4 + random.below(16)
    const workSeed = random.below(1_000_000)
    const view = made.inside((path) => {
      const own = createRandom(workSeed)
      for (let step = 0; step < steps; step++) log.push(work(path, own, step).replaceAll(path, ''))
      return areLinksKept ? treeOf(path) : withoutLinks(treeOf(path))
    })
    check('the real files before a merge', differences(before, treeOf(made.real)))
    const found = survey(made)
    check(
      'conflicts',
      found.changes
        .filter(({ conflict }) => conflict)
        .map(({ path, kind }) => `${kind} ${Buffer.from(path)}`),
    )
    check('a second look', found.digest === survey(made).digest ? [] : ['another digest'])
    if (found.changes.length === 0) return problems
    const parts = random.below(3)
    const isPartial = parts > 0 || !areLinksKept
    if (parts > 0) {
      for (let part = 0; part < parts; part++) {
        const now = survey(made)
        if (now.changes.length === 0) break
        const paths = now.changes.filter(() => random.below(3) === 0).map(({ path }) => path)
        if (paths.length === 0) continue
        log.push(`merge ${paths.map((path) => Buffer.from(path)).join(', ')}`)
        const result = merge(made, now, paths)
        check('a partial merge', result === 'merged' ? [] : [result])
        const seen = made.inside((path) => treeOf(path))
        check(
          'what the branch shows after a partial merge',
          differences(withoutLinks(view), withoutLinks(seen)),
        )
      }
    }
    const rest = survey(made)
    const beforeLast = treeOf(made.real)
    if (rest.changes.length > 0) {
      const result = merge(made, rest)
      check('the merge', result === 'merged' ? [] : [result])
    }
    const now = () => (areLinksKept ? treeOf(made.real) : withoutLinks(treeOf(made.real)))
    check('what was merged', differences(view, now()))
    check(
      'changes after the merge',
      survey(made).changes.map(({ kind, path, metadata }) => `${kind} ${Buffer.from(path)} ${metadata}`),
    )
    if (level === 'overlay')
      check(
        'the branch after the merge',
        differences(
          isPartial ? withoutLinks(view) : view,
          made.inside((path) => (isPartial ? withoutLinks(treeOf(path)) : treeOf(path))),
        ),
      )
    if (rest.changes.length === 0 || problems.length > 0) return problems
    const undone = undoMerge(syscalls, made.directory, made.branch)
    check(
      'taking back',
      undone.kind === 'undone' && undone.notInBranch.length === 0 ? [] : [JSON.stringify(undone)],
    )
    check('what was taken back', differences(beforeLast, treeOf(made.real)))
    if (level === 'overlay')
      check(
        'the branch after taking back',
        differences(
          isPartial ? withoutLinks(view) : view,
          made.inside((path) => (isPartial ? withoutLinks(treeOf(path)) : treeOf(path))),
        ),
      )
    const again = survey(made)
    check(
      'the changes after taking back',
      isPartial || again.digest === rest.digest
        ? []
        : again.changes
            .filter((c) => c.conflict)
            .map((c) => `${c.kind} ${Buffer.from(c.path)} ${c.conflict}`)
            .concat('another digest'),
    )
    const result = merge(made, again)
    check('the merge after taking back', result === 'merged' ? [] : [result])
    check('what was merged then', differences(view, now()))
    if (attributes === 'trusted') {
      const own = createRandom(workSeed)
      for (let step = 0; step < steps; step++) work(model, own, step)
      check('a plain copy', differences(withoutTimes(treeOf(model)), withoutTimes(treeOf(made.real))))
    }
  } catch (error) {
    problems.push(`seed ${seed} ${attributes}: ${(error as Error).stack} after ${log.join('; ')}`)
  } finally {
    made.remove()
  }
  return problems
}

/** In a user namespace only `user` marks are possible. */
const KINDS = (process.env['SASS_BRANCH_KINDS'] ?? 'trusted user copy').split(' ') as (
  | OverlayAttributes
  | 'copy'
)[]

for (const attributes of KINDS) {
  t.test(
    `random work, ${attributes}`,
    { skip: canMount || attributes === 'copy' ? false : 'no mount namespace' },
    (t) => {
      let problems: string[] = []
      for (let seed = FIRST; seed < FIRST + SEQUENCES && problems.length < 3; seed++)
        problems = [...problems, ...sequence(seed, attributes)]
      t.equal(problems.join('\n'), '')
      t.end()
    },
  )
}
