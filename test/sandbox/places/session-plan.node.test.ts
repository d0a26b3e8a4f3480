/**
 * From a configuration and a branch to what the keeper is asked for.
 * @module
 */
import { homedir } from 'node:os'
import t from 'tap'
import type { Branch } from '../../../src/sandbox/branch/files/branch.ts'
import { type PlanOptions, sessionPlan } from '../../../src/sandbox/places/session-plan.node.ts'

const options: PlanOptions = {
  devices: ['/dev/ttyUSB0'],
  memoryDirectoryBytes: null,
  read: ['/usr'],
  hidden: ['$SECRETS', '/etc/x'],
  sockets: ['/run/a.sock'],
  own: () => ['/etc', '/no/such/place'],
  stage: '/stage',
}
const branch: Branch = {
  session: '0'.repeat(32),
  agent: 'agent',
  level: 'overlay',
  attributes: 'trusted',
  roots: [{ path: '/srv/w', store: '/state/0', baseNs: '0' }],
  volatile: ['/srv/w/target'],
  openedAtMs: 0,
}

t.test('the word for secrets is none of the paths, and what is not there is not named', async (t) => {
  const plan = sessionPlan(options, branch, undefined, 'none')
  t.strictSame(plan.hidden, ['/etc/x'])
  t.equal(plan.hidesSecrets, true)
  t.equal(sessionPlan({ ...options, hidden: [] }, branch, undefined, 'host').hidesSecrets, false)
  t.strictSame(plan.own, ['/etc'])
  t.match(plan, { network: 'none', stage: '/stage', read: ['/usr'], volatile: ['/srv/w/target'], shown: [] })
  t.ok(plan.scratchBytes > 0, 'a share of the memory')
  t.equal(sessionPlan({ ...options, memoryDirectoryBytes: 5 }, branch, undefined, 'host').scratchBytes, 5)
})

t.test('roots are mounted by the level and the marks of their branch', async (t) => {
  const roots = (change: Partial<Branch>) =>
    sessionPlan(options, { ...branch, ...change }, undefined, 'host').roots
  const overlay = { kind: 'overlay', path: '/srv/w', upper: '/state/0/upper', work: '/state/0/work' }
  t.strictSame(roots({}), [{ ...overlay, options: 'redirect_dir=on,index=on' }])
  t.strictSame(roots({ attributes: 'user' }), [{ ...overlay, options: 'userxattr' }])
  t.strictSame(roots({ level: 'copy' }), [{ kind: 'bind', path: '/srv/w', source: '/state/0/copy' }])
})

t.test('it is for its user', async (t) => {
  const user = { name: 'u', userId: 12, groupId: 34, home: '/srv/home' }
  t.match(sessionPlan(options, branch, user, 'host'), {
    userId: 12,
    groupId: 34,
    homes: ['/srv/home'],
  })
  t.match(sessionPlan(options, branch, undefined, 'host'), {
    userId: process.getuid?.(),
    homes: [homedir()],
  })
})
