import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createFileLock } from '../../../src/edge/state/file-lock.node.ts'
import {
  bringForward,
  checkStateFormat,
  MIGRATIONS,
  type Migration,
  readStateFormat,
  STATE_FORMAT,
  type StateFiles,
  stateFiles,
} from '../../../src/edge/state/state-format.node.ts'

const lock = createFileLock()
const textOf = (directory: string, name: string): string => readFileSync(join(directory, name), 'utf8')
const formatOf = (directory: string) => JSON.parse(textOf(directory, 'format.json'))
const contents = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory)
      .filter((name) => name !== 'executions')
      .sort()
      .map((name) => [name, textOf(directory, name)]),
  )

/** Two further formats as later programs may have them: a file is split in two, then both are written anew. */
const LATER: readonly Migration[] = [
  ...MIGRATIONS,
  [
    (files) => {
      if (!files.names().includes('both')) return
      files.replace('left', Buffer.from('L1'))
      files.replace('right', Buffer.from('R1'))
    },
    (files) => files.remove('both'),
  ],
  [(files) => files.replace('left', Buffer.from('L2')), (files) => files.replace('right', Buffer.from('R2'))],
]

/** The real files until so many changes were made; the next one is cut off, before it is made or just after. */
function cutting(directory: string, after: number, isMade: boolean): StateFiles {
  const real = stateFiles(directory)
  let left = after
  const change = (make: () => void) => {
    if (left-- > 0) return make()
    if (isMade) make()
    throw new Error('the power is gone')
  }
  return {
    names: real.names,
    replace: (name, bytes) => change(() => real.replace(name, bytes)),
    remove: (name) => change(() => real.remove(name)),
  }
}

function older(t: Test): string {
  return t.testdir({
    both: 'LR',
    'tls.key': 'key',
    'audit.pub': 'pub',
    '.0123456789abcdef.tmp': 'half',
    '.kept': 'x',
  })
}

t.test('state without a format is brought to that of this program, once', (t) => {
  const directory = older(t)
  t.equal(readStateFormat(directory), undefined)
  t.equal(bringForward({ directory, lock }), 0)
  t.match(formatOf(directory), { format: STATE_FORMAT, program: /^\d+\.\d+\.\d+/ })
  t.same(Object.keys(contents(directory)), ['.kept', 'audit.pub', 'both', 'format.json', 'tls.key'])
  const written = textOf(directory, 'format.json')
  t.equal(bringForward({ directory, lock }), undefined)
  t.equal(textOf(directory, 'format.json'), written)
  t.end()
})

t.test('a new directory is of the newest format at once, and no migration of it is told', (t) => {
  const directory = t.testdir({ 'identities.json': '{}' })
  t.equal(bringForward({ directory, lock, migrations: LATER }), undefined)
  t.match(formatOf(directory), { format: 3 })
  t.notOk(existsSync(join(directory, 'left')), 'nothing was there to be changed')
  t.end()
})

t.test('cut off at every change, and again while it is gone on with, it ends in the same state', (t) => {
  const whole = older(t)
  const real = stateFiles(whole)
  let changes = 0
  const counted = <Args extends readonly unknown[]>(change: (...args: Args) => void) => {
    return (...args: Args) => {
      changes++
      change(...args)
    }
  }
  const files = { ...real, replace: counted(real.replace), remove: counted(real.remove) }
  t.equal(bringForward({ directory: whole, lock, migrations: LATER, files }), 0)
  const wanted = contents(whole)
  t.match(wanted, { left: 'L2', right: 'R2' })
  t.equal(changes, 12)
  for (const isMade of [false, true])
    for (let first = 0; first < changes; first++)
      for (let second = 0; second < changes - first; second++) {
        const directory = older(t)
        const begin = (after: number) =>
          bringForward({ directory, lock, migrations: LATER, files: cutting(directory, after, isMade) })
        t.throws(() => begin(first), /the power is gone/)
        // What is between two formats belongs to no program that does not know the later one.
        const { format, towards } = readStateFormat(directory) ?? { format: 0 }
        if (towards !== undefined)
          t.throws(() => checkStateFormat(directory, format), { code: 'STATE_FORMAT' })
        try {
          begin(second)
        } catch {
          // Or it had so few changes left.
        }
        bringForward({ directory, lock, migrations: LATER })
        t.same(contents(directory), wanted, `cut at ${first}, then at ${second}`)
      }
  t.end()
})

t.test('a newer format is refused with both versions and what to do, and nothing is touched', (t) => {
  for (const state of [
    { format: 7, program: '9.1.0' },
    { format: 1, towards: 7, program: '9.1.0' },
    { format: 7, program: '9.1.0', more: true },
  ]) {
    const directory = t.testdir({ 'format.json': JSON.stringify(state) })
    const before = contents(directory)
    t.throws(() => bringForward({ directory, lock }), {
      code: 'STATE_FORMAT',
      message: new RegExp(
        `^The state in ${directory} has format 7, which sass-edge 9\\.1\\.0 made, and this is sass-edge \\d\\S+, which knows formats up to ${STATE_FORMAT}: nothing was changed; install 9\\.1\\.0 or a later version again, or name another state_directory\\.$`,
      ),
    })
    t.same(contents(directory), before)
    t.notOk(existsSync(join(directory, 'executions')))
  }
  t.end()
})

t.test('what says nothing that can be understood is no old state', (t) => {
  for (const text of [
    '',
    '{',
    '[]',
    'null',
    '{"format":-1,"program":""}',
    '{"format":1}',
    '{"format":"1","program":"1"}',
  ])
    t.throws(
      () => checkStateFormat(t.testdir({ 'format.json': text })),
      {
        code: 'STATE_FORMAT',
        message: /format\.json, which says .* is damaged: nothing was changed; put it back/,
      },
      JSON.stringify(text),
    )
  t.throws(() => checkStateFormat(t.testdir({ 'format.json': ' '.repeat(5_000) })), { code: 'STATE_FORMAT' })
  t.throws(() => checkStateFormat(t.testdir({ 'format.json': {} })), { code: 'STATE_FORMAT' })
  t.throws(() => checkStateFormat(t.testdir({ 'format.json': t.fixture('symlink', '/dev/zero') })), {
    code: 'STATE_FORMAT',
    message: /symbolic link/,
  })
  t.end()
})

t.test('state that a daemon uses is not changed under it', (t) => {
  const directory = older(t)
  mkdirSync(join(directory, 'executions'))
  const held = openSync(join(directory, 'executions'), 'r')
  t.teardown(() => closeSync(held))
  t.ok(lock(held))
  const before = contents(directory)
  t.throws(() => bringForward({ directory, lock }), { code: 'ADDRESS_IN_USE' })
  t.same(contents(directory), before)
  t.end()
})

t.test('a step that the disk refuses ends the start in one sentence', (t) => {
  const directory = older(t)
  const files = stateFiles(directory)
  const full = (): never => {
    throw Object.assign(new Error('full'), { code: 'ENOSPC', syscall: 'write' })
  }
  t.throws(() => bringForward({ directory, lock, files: { ...files, replace: full } }), {
    code: 'STATE_UNWRITABLE',
    message:
      /cannot be brought from format 0 to \d+, since the disk is full: nothing is lost, and the next start/,
  })
  writeFileSync(join(directory, 'more'), '')
  t.equal(bringForward({ directory, lock }), 0)
  t.end()
})
