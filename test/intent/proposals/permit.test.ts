import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { executionWarrant } from '../../../src/intent/proposals/artifacts.ts'
import { Permit } from '../../../src/intent/proposals/permit.ts'
import { AT, candidate, decided, notify } from './ground.node.ts'

const NOTHING: ReadonlySet<string> = new Set()

/** A permit and what it is for. */
function permitted(message = 'hello', cycle = 0) {
  const { permit, decision } = decided([notify(message)], { cycle })
  if (permit === undefined || decision.type !== 'ACTION') throw new Error('nothing was permitted')
  return { permit, bundle: decision.bundle }
}

t.test('a warrant is good once, in its session, in its cycle, for its request (RX-25, RX-49)', (t) => {
  const { permit, bundle } = permitted()
  const here = { bundle, cycle: 0, session: 'one', spent: NOTHING }
  t.match(Permit.redeem(permit, { ...here, cycle: 1 }), /cycle mismatch/)
  t.match(Permit.redeem(permit, { ...here, session: 'two' }), /session mismatch/)
  t.match(Permit.redeem(permit, { ...here, bundle: permitted('other').bundle }), /does not reference/)
  t.equal(Permit.redeem(permit, here), undefined)
  t.match(Permit.redeem(permit, here), /single-use/)
  t.match(
    Permit.redeem(permitted('hello', 99).permit, here),
    /cycle mismatch/,
    'a state of cycle 99 is not this one',
  )
  t.end()
})

t.test('an executor that has just begun learns from the record what was spent before it (RX-25)', (t) => {
  const [first, again] = [permitted(), permitted()]
  t.equal(first.permit.warrant.warrant_id, again.permit.warrant.warrant_id)
  const spent = new Set([first.permit.warrant.warrant_id])
  t.match(
    Permit.redeem(again.permit, { bundle: again.bundle, cycle: 0, session: 'one', spent }),
    /single-use/,
  )
  t.end()
})

t.test(
  'a warrant that no decision has made is none, however well it is made up (RX-21, RX-37, RX-49)',
  (t) => {
    const { decision } = decided([candidate()])
    if (decision.type !== 'ACTION') throw new Error('nothing was permitted')
    const { bundle } = decision
    const warrant = executionWarrant(bundle, { target: 'stdout' }, 0, AT)
    t.strictSame(warrant, decision.warrant, 'its text is the same')
    const here = { bundle, cycle: 0, session: 'one', spent: NOTHING }
    for (const forged of [
      { warrant },
      Object.create(Permit.prototype, { warrant: { value: warrant } }),
      structuredClone(permitted().permit),
    ])
      t.match(Permit.redeem(forged as Permit, here), /not issued/)
    t.end()
  },
)

t.test('two files issue warrants: the decision, and the kernel’s own for its logs (RX-21, RX-37)', (t) => {
  const root = join(import.meta.dirname, '../../..')
  const issuing = globSync('src/**/*.ts', { cwd: root })
    .filter((path) => /\bPermit\.issue\(/.test(readFileSync(join(root, path), 'utf8')))
    .sort()
  t.strictSame(issuing, ['src/intent/proposals/decide.ts', 'src/intent/proposals/log-appends.ts'])
  t.end()
})
