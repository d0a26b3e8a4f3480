/**
 * What is merged is what was shown: content that is changed at the last moment, by somebody who has the file open and by
 * somebody who opens it then, attributes and access lists that are given after a look, and what a patch shows.
 * @module
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createBudget } from '../../../src/sandbox/branch/files/budget.ts'
import { changesJson } from '../../../src/sandbox/branch/files/changes.ts'
import { createFiles } from '../../../src/sandbox/branch/files/files.node.ts'
import { changesText } from '../../../src/sandbox/branch/files/text.ts'
import { mergeBranch } from '../../../src/sandbox/branch/merge/merge.node.ts'
import { diffBranch } from '../../../src/sandbox/branch/shown/contents.node.ts'
import { surveyBranch, surveyFully } from '../../../src/sandbox/branch/survey/survey.node.ts'
import { at, enterMountNamespace, type Made, makeBranch, syscalls, treeOf } from './made-branch.node.ts'

const skip = enterMountNamespace() ? false : 'no mount namespace'
const ID = 'ab'.repeat(16)

function upper(made: Made, path: string): string {
  return join(made.branch.roots[0]?.store ?? '', 'upper', path)
}

function look(made: Made): { digest: string; text: string; json: string } {
  const { changes, digest } = surveyBranch(syscalls, made.directory, made.branch)
  const text = changesText([made.real], changes, { folded: [] }).join('\n')
  return { digest, text, json: [...changesJson('s', [made.real], changes)].join('') }
}

function give(path: string, attribute: string, value: Buffer): void {
  const result = at.setAttribute(Buffer.from(path), Buffer.from(attribute), value)
  if (result < 0) throw new Error(`${attribute} of ${path}: ${result}`)
}

/** An access list that lets a user do everything. */
function accessList(user: number): Buffer {
  const list = Buffer.alloc(4 + 5 * 8)
  list.writeUInt32LE(2, 0)
  const entries = [
    [1, 6, 0xffffffff],
    [2, 7, user],
    [4, 4, 0xffffffff],
    [16, 7, 0xffffffff],
    [32, 4, 0xffffffff],
  ] as const
  for (const [index, [tag, rights, id]] of entries.entries()) {
    list.writeUInt16LE(tag, 4 + index * 8)
    list.writeUInt16LE(rights, 6 + index * 8)
    list.writeUInt32LE(id, 8 + index * 8)
  }
  return list
}

/** A process that has a file open for writing, as one that a descriptor was sent to. */
function holder(t: Test, path: string): Promise<ChildProcess> {
  const child = spawn('sh', ['-c', 'exec 3<>"$1"; echo ready; read -r _; echo flipped >&3', 'sh', path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  return new Promise((resolve) => child.stdout?.once('data', () => resolve(child)))
}

t.test('what somebody has open for writing is not merged', { skip }, async (t) => {
  const made = makeBranch((real) => writeFileSync(join(real, 'old'), 'old\n'))
  t.teardown(made.remove)
  made.inside((path) => {
    writeFileSync(join(path, 'old'), 'new one\n')
    writeFileSync(join(path, 'first'), 'first\n')
  })
  const child = await holder(t, upper(made, 'old'))
  const before = treeOf(made.real)
  const { digest } = look(made)
  const result = mergeBranch(syscalls, made.directory, made.branch, { digest, id: ID })
  t.match(result, {
    kind: 'rolled_back',
    reason: /^old is still open for writing in a program; .*merge that\.$/,
  })
  t.strictSame(treeOf(made.real), before)
  t.notOk(existsSync(join(made.directory, 'merge.json')))
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
  t.match(mergeBranch(syscalls, made.directory, made.branch, { digest, id: ID }), { kind: 'merged' })
  t.equal(readFileSync(join(made.real, 'old'), 'utf8'), 'new one\n')
})

for (const size of [9, 300_000])
  t.test(`${size} bytes that change between look and copy undo everything`, { skip }, (t) => {
    const made = makeBranch((real) => writeFileSync(join(real, 'old'), 'old\n'))
    t.teardown(made.remove)
    made.inside((path) => {
      writeFileSync(join(path, 'a'), 'first\n')
      writeFileSync(join(path, 'old'), 'x'.repeat(size))
    })
    const before = treeOf(made.real)
    const { digest } = look(made)
    const { mtime, atime } = statSync(upper(made, 'old'))
    let flips = 0
    const result = mergeBranch(syscalls, made.directory, made.branch, { digest, id: ID }, (step) => {
      if (!step.startsWith('stage')) return
      // Same size, same time: only the content tells.
      const descriptor = openSync(upper(made, 'old'), 'r+')
      writeSync(descriptor, 'evil', size - 4)
      closeSync(descriptor)
      execFileSync('touch', ['-d', mtime.toISOString(), upper(made, 'old')])
      flips++
    })
    t.ok(atime && flips === 1)
    t.match(result, { kind: 'rolled_back', reason: /^old was changed while it was merged; look/ })
    t.strictSame(treeOf(made.real), before)
    t.strictSame(readdirSync(made.directory), ['0'])
    t.not(look(made).digest, digest)
    t.end()
  })

t.test('access lists and attributes of new files are shown and bound', { skip }, (t) => {
  const made = makeBranch((real) => writeFileSync(join(real, 'old'), 'old\n'))
  t.teardown(made.remove)
  made.inside((path) => {
    writeFileSync(join(path, 'plain'), 'p', { mode: 0o600 })
    writeFileSync(join(path, 'listed'), 'l')
    mkdirSync(join(path, 'd'), { mode: 0o750 })
    give(join(path, 'listed'), 'system.posix_acl_access', accessList(1_000))
    give(join(path, 'listed'), 'user.note', Buffer.from('\u001b]52;c;x\u0007'))
    give(join(path, 'd'), 'user.binary', Buffer.from([0xff, 0]))
    give(join(path, 'old'), 'system.posix_acl_access', accessList(1_001))
  })
  const first = look(made)
  t.match(first.text, '/plain (1 bytes, mode 0600)')
  t.match(first.text, /\/d \(directory, mode 0750, user\.binary of 2 bytes\)/)
  t.match(
    first.text,
    /\/listed \(1 bytes, mode 0674, system\.posix_acl_access user::rw- user:1000:rwx group::r-- mask::rwx other::r--, user\.note "\\x1b\]52;c;x\\x07"\) {2}! an access list gives rights beside its mode/,
  )
  t.match(first.text, /metadata {2}.*\/old \(.*attributes system\.posix_acl_access user::rw- user:1001:rwx/)
  t.match(first.json, '"name":"system.posix_acl_access","value_base64":"')
  give(upper(made, 'listed'), 'system.posix_acl_access', accessList(1_002))
  t.not(look(made).digest, first.digest)
  const late = mergeBranch(syscalls, made.directory, made.branch, { digest: first.digest, id: ID })
  t.equal(late.kind, 'other_digest')
  t.end()
})

for (const attributes of ['trusted', 'user'] as const)
  t.test(`attributes that an overlay would take for marks end a look (${attributes})`, { skip }, (t) => {
    for (const [name, give_] of [
      ['set through the mount', (path: string) => give(path, 'user.overlay.metacopy', Buffer.of())],
      ['redirect', (path: string) => give(path, 'user.overlay.redirect', Buffer.from('/etc'))],
    ] as const) {
      const made = makeBranch((real) => writeFileSync(join(real, 'old'), 'old\n'), { attributes })
      t.teardown(made.remove)
      made.inside((path) => {
        writeFileSync(join(path, 'f'), 'f')
        give_(join(path, 'f'))
      })
      t.throws(
        () => look(made),
        { code: 'FILE_IO', message: /^f was given the attribute user\.overlay\./ },
        name,
      )
      t.equal(
        at.removeAttribute(Buffer.from(upper(made, 'f')), Buffer.from('user.overlay.overlay.metacopy')) <= 0,
        true,
      )
    }
    const made = makeBranch(() => {}, { attributes })
    t.teardown(made.remove)
    made.inside((path) => writeFileSync(join(path, 'f'), 'f'))
    give(upper(made, 'f'), `${attributes}.overlay.metacopy`, Buffer.of())
    t.throws(() => look(made), { message: /^f has the mark metacopy, which no overlay of this daemon makes/ })
    t.end()
  })

t.test('a sparse file costs what is in it', { skip }, (t) => {
  const made = makeBranch((real) => {
    writeFileSync(join(real, 'both'), '')
    execFileSync('truncate', ['-s', '15T', join(real, 'both')])
  })
  t.teardown(made.remove)
  made.inside((path) => {
    writeFileSync(join(path, 'sparse'), 'head')
    execFileSync('truncate', ['-s', '14T', join(path, 'sparse')])
    const descriptor = openSync(join(path, 'sparse'), 'r+')
    writeSync(descriptor, 'tail', 10 * 2 ** 40)
    closeSync(descriptor)
    writeFileSync(join(path, 'zeros'), Buffer.alloc(200_000))
    execFileSync('truncate', ['-s', '400000', join(path, 'zeros')])
    chmodSync(join(path, 'both'), 0o600)
  })
  let bytes = 0
  const budget = createBudget()
  const files = createFiles(syscalls)
  const { survey } = surveyFully(files, made.directory, made.branch, {
    ...budget,
    read: (count) => {
      bytes += count
    },
  })
  t.ok(bytes < 1_000_000, `${bytes} bytes were read`)
  const [both, sparse] = ['both', 'sparse'].map((name) =>
    survey.changes.find(({ path }) => Buffer.from(path).toString() === name),
  )
  t.match(both, { kind: 'metadata', metadata: ['mode'] })
  t.match(sparse, { kind: 'added', after: { dataSha256: /^[0-9a-f]{64}$/, sha256: undefined } })
  const merged = mergeBranch(syscalls, made.directory, made.branch, { digest: survey.digest, id: ID })
  t.match(merged, { kind: 'merged' })
  t.ok(statSync(join(made.real, 'sparse')).blocks < 100)
  t.end()
})

t.test('the same content has the same digest, whatever of it is a hole', { skip }, (t) => {
  const made = makeBranch(() => {})
  t.teardown(made.remove)
  made.inside((path) => {
    for (const [name, filled] of [
      ['one', 0],
      ['two', 64 * 1_024],
    ] as const) {
      const descriptor = openSync(join(path, name), 'w')
      writeSync(descriptor, 'x'.repeat(5_000), 0)
      if (filled > 0) writeSync(descriptor, Buffer.alloc(filled), 0, filled, 1_000_000)
      ftruncateSync(descriptor, 9_000_000)
      closeSync(descriptor)
    }
  })
  const { changes } = surveyBranch(syscalls, made.directory, made.branch)
  t.match(changes[0]?.after?.dataSha256, /^[0-9a-f]{64}$/)
  t.equal(changes[0]?.after?.dataSha256, changes[1]?.after?.dataSha256)
  t.end()
})

t.test('a look has a bound, and says how to go on', { skip }, (t) => {
  const made = makeBranch(() => {})
  t.teardown(made.remove)
  made.inside((path) => {
    for (let file = 0; file < 100; file++) writeFileSync(join(path, `f${file}`), 'x'.repeat(1_000))
  })
  const files = createFiles(syscalls)
  t.throws(() => surveyFully(files, made.directory, made.branch, createBudget(50_000)), {
    code: 'FILE_TOO_LARGE',
    message: /^The branch and the files beneath it hold more than the 50000 bytes .*or drop it\.$/,
  })
  t.throws(() => surveyFully(files, made.directory, made.branch, createBudget(undefined, 50_000)), {
    code: 'FILE_TOO_LARGE',
    message: /^The branch has more than \d\d changes, .*or drop it\.$/,
  })
  t.equal(surveyBranch(syscalls, made.directory, made.branch).changes.length, 100)
  t.end()
})

t.test('a patch steers no terminal, and git takes it', { skip }, (t) => {
  const made = makeBranch((real) => {
    writeFileSync(join(real, 'log'), 'one\ntwo\n')
    writeFileSync(join(real, 'crlf'), 'one\r\ntwo\r\n')
  })
  t.teardown(made.remove)
  const evil = 'one\n\u001b]52;c;cm0gLXJm\u0007two\u009b2J \u202egnp\nthree\rHIDDEN\n'
  made.inside((path) => {
    writeFileSync(join(path, 'log'), evil)
    writeFileSync(join(path, 'crlf'), 'one\r\nthree\r\n')
    writeFileSync(join(path, 'bytes'), Buffer.from([0x9b, 0x32, 0x4a, 0x0a]))
    execFileSync('ln', ['-s', 'to\u001b[2J', join(path, 'link')])
  })
  const files = createFiles(syscalls)
  const { survey, roots } = surveyFully(files, made.directory, made.branch)
  const patch = Buffer.concat([...diffBranch(files, made.branch, roots, survey.changes, 'patch')])
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  t.notMatch(patch.toString('latin1'), /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/)
  t.match(patch.toString(), '# +\\x1b]52;c;cm0gLXJm\\x07two\\x9b2J \\u{202e}gnp\n')
  t.match(patch.toString(), '-two\r\n+three\r\n', 'ends of lines are no controls')
  const copy = join(made.home, 'copy')
  execFileSync('cp', ['-a', made.real, copy])
  execFileSync('git', ['apply', '--binary', '--whitespace=nowarn', '-'], { cwd: copy, input: patch })
  t.equal(readFileSync(join(copy, 'log'), 'utf8'), evil)
  t.equal(readFileSync(join(copy, 'crlf'), 'utf8'), 'one\r\nthree\r\n')
  t.strictSame([...readFileSync(join(copy, 'bytes'))], [0x9b, 0x32, 0x4a, 0x0a])
  t.end()
})

t.test('a patch shows what the digest is of', { skip }, (t) => {
  const made = makeBranch(() => {})
  t.teardown(made.remove)
  made.inside((path) => writeFileSync(join(path, 'f'), 'shown\n'))
  const files = createFiles(syscalls)
  const { survey, roots } = surveyFully(files, made.directory, made.branch)
  writeFileSync(upper(made, 'f'), 'other\n')
  t.throws(() => [...diffBranch(files, made.branch, roots, survey.changes, 'patch')], {
    message:
      'f was changed while it was looked at, so nothing is shown; look again when nothing runs in the branch.',
  })
  rmSync(upper(made, 'f'))
  t.end()
})

t.test('a repository without a name of one is looked at twice', { skip }, (t) => {
  const made = makeBranch((real) => {
    mkdirSync(join(real, 'half/objects'), { recursive: true })
    mkdirSync(join(real, 'half/refs'))
  })
  t.teardown(made.remove)
  made.inside((path) => {
    execFileSync('git', ['init', '-q', '--bare', join(path, 'data')])
    writeFileSync(join(path, 'data/hooks/post-checkout'), '#!/bin/sh\n', { mode: 0o755 })
    writeFileSync(join(path, 'half/HEAD'), 'ref: refs/heads/x\n')
    writeFileSync(join(path, 'half/config'), '[core]\n\tfsmonitor = ./evil\n')
    mkdirSync(join(path, 'plain'))
    writeFileSync(join(path, 'plain/config'), '')
    // Split in two: git takes the pair for one, and neither half has all of its marks.
    mkdirSync(join(path, 'common/objects'), { recursive: true })
    mkdirSync(join(path, 'common/refs'))
    writeFileSync(join(path, 'common/objects/.keep'), '')
    writeFileSync(join(path, 'common/refs/.keep'), '')
    writeFileSync(join(path, 'common/config'), '[core]\n\tfsmonitor = ./evil\n')
    mkdirSync(join(path, 'docs/img'), { recursive: true })
    writeFileSync(join(path, 'docs/img/HEAD'), 'ref: refs/heads/main\n')
    writeFileSync(join(path, 'docs/img/commondir'), '../../common\n')
    // A link within the branch, and one through it that ends outside.
    mkdirSync(join(path, 'a/b/c'), { recursive: true })
    symlinkSync('../../..', join(path, 'a/b/c/up'))
    symlinkSync('b/c/up/../etc/shadow', join(path, 'a/innocent'))
  })
  const leaving = surveyBranch(syscalls, made.directory, made.branch)
    .changes.filter(({ flags }) => flags.includes('leaves_root'))
    .map(({ path }) => Buffer.from(path).toString())
  t.strictSame(leaving, ['a/innocent'])
  const flagged = surveyBranch(syscalls, made.directory, made.branch)
    .changes.filter(({ flags }) => flags.includes('runs_on_host'))
    .map(({ path }) => Buffer.from(path).toString())
  for (const path of [
    ...['data/HEAD', 'data/config', 'data/hooks/post-checkout', 'half/HEAD', 'half/config'],
    ...['common/config', 'docs/img/HEAD', 'docs/img/commondir'],
  ])
    t.ok(flagged.includes(path), path)
  t.notOk(flagged.some((path) => path.startsWith('plain') || path.startsWith('data/refs')))
  t.end()
})
