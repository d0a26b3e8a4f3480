/**
 * Patches of branches are taken by the real git and make the same files; the parts they are made of, by themselves.
 * @module
 */

import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import t from 'tap'
import { createFiles } from '../../../src/sandbox/branch/files/files.node.ts'
import { diffBranch } from '../../../src/sandbox/branch/shown/contents.node.ts'
import { linesOf, unifiedHunks } from '../../../src/sandbox/branch/shown/diff-lines.ts'
import { base85Lines, quotedPath, similarityOf } from '../../../src/sandbox/branch/shown/git-patch.ts'
import { surveyFully } from '../../../src/sandbox/branch/survey/survey.node.ts'
import { copyLike, enterMountNamespace, type Made, makeBranch, syscalls, treeOf } from './made-branch.node.ts'
import { createRandom, fill as fillRandom, work as workRandom } from './random-work.node.ts'

const SEQUENCES = Number(process.env['SASS_PATCH_SEQUENCES'] ?? 12)
const hasGit = spawnSync('git', ['--version']).status === 0
const skip = !enterMountNamespace() ? 'no mount namespace' : hasGit ? false : 'no git'

function diff(made: Made, form: 'patch' | 'stat'): Buffer {
  const files = createFiles(syscalls)
  const { survey, roots } = surveyFully(files, made.directory, made.branch)
  return Buffer.concat([...diffBranch(files, made.branch, roots, survey.changes, form)])
}

/** What git knows of a tree: paths, whether the owner may execute, contents. */
function gitTree(top: string): Record<string, string> {
  const tree: Record<string, string> = {}
  for (const [path, { type, mode, content }] of Object.entries(treeOf(top))) {
    if (type !== 'file' && type !== 'symlink') continue
    const isProgram = type === 'file' && (Number.parseInt(mode, 8) & 0o100) !== 0
    tree[path] = `${type} ${isProgram ? 'x' : '-'} ${content}`
  }
  return tree
}

function apply(patch: Buffer, top: string): string {
  const environment = { ...process.env, GIT_CEILING_DIRECTORIES: join(top, '..'), GIT_CONFIG_NOSYSTEM: '1' }
  const { status, stderr } = spawnSync('git', ['apply', '--binary', '--whitespace=nowarn', '-'], {
    cwd: top,
    input: patch,
    env: environment,
    encoding: 'utf8',
  })
  return status === 0 ? '' : stderr
}

/** Applies the patch of a branch to a copy of the real files, and compares. */
function check(made: Made, expected: Record<string, string>): { problem: string; patch: Buffer } {
  const copy = join(made.home, 'copy')
  copyLike(made.real, copy)
  const patch = diff(made, 'patch')
  const problem = patch.length === 0 ? '' : apply(patch, copy)
  const found = gitTree(copy)
  const wrong = [...new Set([...Object.keys(expected), ...Object.keys(found)])].filter(
    (path) => expected[path] !== found[path],
  )
  return {
    problem: problem + wrong.map((path) => `${path}: ${expected[path]} / ${found[path]}`).join('\n'),
    patch,
  }
}

t.test('every kind of change in one patch', { skip }, (t) => {
  const made = makeBranch((real) => {
    for (const name of ['moved', 'gone', 'a b']) mkdirSync(join(real, name))
    writeFileSync(join(real, 'moved/same'), 'same\n')
    writeFileSync(join(real, 'moved/other'), 'one\ntwo\nthree\n')
    writeFileSync(join(real, 'moved/removed'), 'x\n')
    writeFileSync(join(real, 'gone/f'), 'gone\n')
    writeFileSync(join(real, 'gone/binary'), Buffer.from([0, 1, 2, 255]))
    writeFileSync(join(real, 'text'), Array.from({ length: 40 }, (_, at) => `line ${at}\n`).join(''))
    writeFileSync(join(real, 'no newline'), 'end')
    writeFileSync(join(real, 'a b/program'), '#!/bin/sh\n')
    writeFileSync(join(real, 'binary'), Buffer.alloc(5_000, 7))
    symlinkSync('text', join(real, 'link'))
    writeFileSync(join(real, 'becomes link'), 'file\n')
    writeFileSync(join(real, 'empty'), '')
    writeFileSync(Buffer.concat([Buffer.from(`${real}/`), Buffer.from([0xff, 0x22, 0x0a])]), 'odd\n')
  })
  t.teardown(made.remove)
  const expected = made.inside((path) => {
    renameSync(join(path, 'moved'), join(path, 'there'))
    writeFileSync(join(path, 'there/other'), 'one\nthree\nfour\n')
    rmSync(join(path, 'there/removed'))
    rmSync(join(path, 'gone'), { recursive: true })
    writeFileSync(
      join(path, 'text'),
      Array.from({ length: 40 }, (_, at) => (at % 13 === 5 ? `new ${at}\n` : `line ${at}\n`)).join(''),
    )
    appendFileSync(join(path, 'no newline'), ' and more')
    chmodSync(join(path, 'a b/program'), 0o755)
    writeFileSync(join(path, 'binary'), Buffer.concat([Buffer.alloc(4_000, 7), Buffer.alloc(60, 9)]))
    rmSync(join(path, 'link'))
    symlinkSync('binary', join(path, 'link'))
    rmSync(join(path, 'becomes link'))
    symlinkSync('text', join(path, 'becomes link'))
    rmSync(join(path, 'empty'))
    mkdirSync(join(path, 'new/deep'), { recursive: true })
    writeFileSync(join(path, 'new/deep/ü'), 'new\n')
    writeFileSync(join(path, 'new/zero'), '')
    writeFileSync(join(path, 'new/binary'), Buffer.from([0, 255, 0]))
    appendFileSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.from([0xff, 0x22, 0x0a])]), 'more\n')
    return gitTree(path)
  })
  const { problem, patch } = check(made, expected)
  t.equal(problem, '')
  const text = patch.toString('latin1')
  t.match(text, 'rename from moved/same\nrename to there/same\n')
  t.match(text, '"a/\\377\\"\\n"')
  t.match(text, 'old mode 100644\nnew mode 100755\n')
  t.match(text, '\\ No newline at end of file\n')
  t.match(text, 'GIT binary patch\nliteral ')
  const stat = diff(made, 'stat').toString('latin1')
  t.match(stat, /^ text \| 6 \+\+\+---$/m)
  t.match(stat, /^ \d+ files changed, \d+ insertions\(\+\), \d+ deletions\(-\)\n$/m)
  t.end()
})

t.test('random work as patches', { skip }, (t) => {
  for (let seed = 1; seed <= SEQUENCES; seed++) {
    const random = createRandom(seed + 77_000)
    const made = makeBranch((real) => fillRandom(real, random, seed % 2 === 0))
    try {
      const expected = made.inside((path) => {
        // Git refuses to write into a .git, and follows no link: such a tree is not for patches.
        for (let step = 0; step < 12; step++) workRandom(path, random, step)
        for (const name of execFileSync('find', [path, '-depth', '-name', '.git'], {
          encoding: 'utf8',
        }).split('\n'))
          if (name !== '') rmSync(name, { recursive: true, force: true })
        return gitTree(path)
      })
      const { problem } = check(made, expected)
      if (problem !== '') t.fail(`seed ${seed}: ${problem}`)
    } finally {
      made.remove()
    }
  }
  t.end()
})

t.test('lines', (t) => {
  t.strictSame(linesOf('a\n\nb'), ['a\n', '\n', 'b'])
  t.strictSame(linesOf(''), [])
  t.equal(unifiedHunks('a\n', 'a\n').text, '')
  t.equal(unifiedHunks('', 'a\n').text, '@@ -0,0 +1 @@\n+a\n')
  t.equal(unifiedHunks('a\n', '').text, '@@ -1 +0,0 @@\n-a\n')
  t.equal(unifiedHunks('a', 'a\n').text, '@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n')
  t.equal(unifiedHunks('a\nb\nc\n', 'a\nx\nc\n').text, '@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n')
  t.end()
})

t.test('the script of edits is the shortest, and bounded', (t) => {
  const random = createRandom(5)
  for (let round = 0; round < 300; round++) {
    const text = (): string[] => Array.from({ length: random.below(12) }, () => `${random.below(4)}\n`)
    const [a, b] = [text(), text()]
    const { inserted, deleted } = unifiedHunks(a.join(''), b.join(''))
    // Longest common subsequence by the plain table.
    const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0))
    for (let x = 1; x <= a.length; x++)
      for (let y = 1; y <= b.length; y++) {
        const row = table[x] as number[]
        const above = table[x - 1] as number[]
        row[y] =
          a[x - 1] === b[y - 1]
            ? (above[y - 1] as number) + 1
            : Math.max(above[y] as number, row[y - 1] as number)
      }
    const common = (table[a.length] as number[])[b.length] as number
    if (inserted !== b.length - common || deleted !== a.length - common) t.fail(JSON.stringify([a, b]))
  }
  const many = (mark: string): string => Array.from({ length: 30_000 }, (_, at) => `${mark}${at}\n`).join('')
  const began = performance.now()
  const { inserted, deleted } = unifiedHunks(many('a'), many('b'))
  t.strictSame([inserted, deleted], [30_000, 30_000])
  t.ok(performance.now() - began < 20_000)
  t.end()
})

t.test('names and binary content as git writes them', (t) => {
  t.equal(quotedPath('a b'), 'a b')
  t.equal(quotedPath('\xc3\xbc\t"\\'), '"\\303\\274\\t\\"\\\\"')
  t.equal(base85Lines(deflateSync(Buffer.alloc(0), { level: 1 })), 'HcmV?d00001\n')
  t.equal(similarityOf(3, 3, 1, 1), 66)
  t.equal(similarityOf(0, 0, 0, 0), 100)
  t.end()
})
