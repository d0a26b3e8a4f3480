/**
 * Which changes meet what a branch could not see.
 * @module
 */
import t from 'tap'
import type { Change, FileFacts, Flag } from '../../../../src/sandbox/branch/files/changes.ts'
import { isHeldBack } from '../../../../src/sandbox/branch/files/changes.ts'
import type { Finding } from '../../../../src/sandbox/branch/files/finding.ts'
import { pathBytes } from '../../../../src/sandbox/branch/files/paths.ts'
import { chooseFindings } from '../../../../src/sandbox/branch/merge/merge-choice.ts'
import { asSeenWithin, unseenIn, withUnseen } from '../../../../src/sandbox/branch/survey/unseen.ts'

const facts: FileFacts = { type: 'file', mode: 0o644, uid: 0, gid: 0, sizeBytes: 1, modifiedNs: 0n }

function finding(
  kind: Change['kind'],
  path: string,
  more: Partial<Finding> = {},
  flags: Flag[] = [],
): Finding {
  const change: Change = { root: 0, path: pathBytes(path), kind, before: facts, after: facts, flags }
  return { path, base: path, change, ...more }
}

const unseen = unseenIn('/etc', ['/etc/shadow', '/etc/a/b/key', '/srv/key', '/etc', '/etcetera/key'])
const flagged = (one: Finding): boolean =>
  withUnseen([one], unseen)[0]?.change.flags.includes('hidden') ?? false

t.test('at such a path and beneath it every change is flagged', async (t) => {
  for (const kind of [
    'added',
    'modified',
    'metadata',
    'deleted',
    'replaced',
    'retyped',
    'renamed',
  ] as const) {
    t.ok(flagged(finding(kind, 'shadow')), kind)
    t.ok(flagged(finding(kind, 'a/b/key/inner')), kind)
    t.notOk(flagged(finding(kind, 'shadow-')), kind)
    t.notOk(flagged(finding(kind, 'key')), kind)
  }
})

t.test('over one it is what takes away all that is there', async (t) => {
  for (const kind of ['deleted', 'replaced', 'retyped', 'renamed'] as const) {
    t.ok(flagged(finding(kind, 'a')), kind)
    t.ok(flagged(finding(kind, 'a/b')), kind)
  }
  for (const kind of ['added', 'modified', 'metadata'] as const) t.notOk(flagged(finding(kind, 'a')), kind)
  t.ok(flagged(finding('replaced', '')), 'the root itself')
})

t.test('a directory that is moved with it, and what is in it then', async (t) => {
  t.ok(flagged(finding('renamed', 'z', { movedFrom: 'a' })))
  t.notOk(flagged(finding('renamed', 'z', { movedFrom: 'c' })))
  t.ok(flagged(finding('modified', 'z/b/key', { base: 'a/b/key' })))
  t.ok(flagged(finding('deleted', 'z/b', { base: 'a/b' })))
})

t.test('roots hold what lies beneath them, whatever their names begin with', async (t) => {
  t.equal(unseenIn('/usr', ['/etc/shadow', '/usr', '/usrlocal/x']), undefined)
  const whole = unseenIn('/', ['/etc/shadow'])
  t.ok(whole?.has('etc/shadow'))
  t.ok(whole?.isOver('etc') && whole.isOver(''))
  const same = [finding('added', 'x')]
  t.equal(withUnseen(same, undefined), same)
})

t.test('a merge takes it where exactly its path is named, and by no word for all', async (t) => {
  const findings = withUnseen(
    [finding('modified', 'shadow'), finding('modified', 'open'), finding('deleted', 'a')],
    unseen,
  )
  t.strictSame(
    findings.map(({ change }) => isHeldBack(change)),
    [true, false, true],
  )
  const chosen = (paths: string[] | undefined, allowHeldBack: boolean) =>
    chooseFindings(findings, paths, allowHeldBack, new Map()).chosen.map(({ path }) => path)
  t.strictSame(chosen(undefined, false), ['open'])
  t.strictSame(chosen(undefined, true), ['open'])
  t.strictSame(chosen([''], true), ['open'])
  t.strictSame(chosen(['shadow'], false), ['shadow'])
  t.strictSame(chosen(['a/b'], true), [])
  const held = [finding('added', 'suid', {}, ['setuid'])]
  t.equal(chooseFindings(held, undefined, true, new Map()).chosen.length, 1, 'other kinds as before')
})

t.test('the agent of the branch is told what it made there, and nothing of what was', async (t) => {
  const told = (one: Finding) => asSeenWithin(one.change, one.path, unseen)
  t.equal(told(finding('deleted', 'shadow')), undefined)
  t.strictSame(told(finding('modified', 'shadow', {}, ['hidden', 'breaks_link'])), {
    ...{ root: 0, path: pathBytes('shadow'), kind: 'added', after: facts, flags: ['hidden'] },
  })
  const own = finding('deleted', 'a').change
  t.equal(asSeenWithin(own, 'a', unseen), own, 'what it removed itself')
  t.equal(asSeenWithin(own, 'shadow', undefined), own)
})
