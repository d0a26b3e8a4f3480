/**
 * The one bound on time that a requirement names. What a decision costs is counted elsewhere (gate-work.test.ts); here
 * the median of a hundred calls has a hundred times the room that it needs, so that no busy machine meets the bound.
 * @module
 */
import t from 'tap'
import { createMatcher } from '../../src/defense/13policy/rules/matcher.ts'
import { readRules } from '../../src/defense/13policy/rules/rules-file.ts'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import { assessWindow } from '../../src/defense/firewall/injections/assess.ts'
import { INJECTION_THRESHOLDS } from '../../src/defense/firewall/injections/limits.ts'
import { createScreens } from '../../src/defense/firewall/screen.ts'
import { SHIPPED_NAME, SHIPPED_RULES } from '../shipped-rules.ts'
import { shippedTables } from './firewall/injections/shipped-tables.ts'
import { TABLES } from './firewall/secrets/screened.ts'
import { executing, FACTS, HOME, LEDGER, policyWith } from './staged-facts.ts'

/** NFR-SEC-001 of the source, in ms. */
const [GATE_MS, FIREWALL_MS, BOTH_MS] = [50, 200, 500]
const CALLS = 100
/** What a call prints. */
const OUTPUT_BYTES = 65_536

const COMMANDS: readonly ((call: number) => readonly string[])[] = [
  (call) => ['ls', '-la', `/srv/work/d${call}`],
  (call) => ['git', 'commit', '-m', `rm -rf / number ${call}`],
  (call) => ['sh', '-c', `cd /srv/work && make -j2 t${call} && ls *.o | sort -u > list`],
  (call) => ['find', '/srv/work', '-name', `*.${call}`, '-exec', 'gzip', '{}', '+'],
  (call) => ['python3', '-c', `import os; print(os.listdir(${call}))`],
]

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN
}

t.test('over 100 calls the gate, the firewall and both keep their bounds (JF-N01)', (t) => {
  const read = readRules(SHIPPED_RULES, SHIPPED_NAME)
  if (!read.ok) throw new Error('The rules that ship cannot be read.')
  const policy = policyWith({}, {}, { rules: createMatcher(read.rules, HOME) })
  const injections = shippedTables()
  const screens = createScreens(TABLES, (bytes, start, end) => assessWindow(injections, bytes, start, end))
  const gate: number[] = []
  const firewall: number[] = []
  let printed = 0
  for (let call = 0; call < CALLS; call++) {
    const argv = COMMANDS[call % COMMANDS.length]?.(call) ?? []
    const line = `call ${call}: token=ghp_${'a1B2'.repeat(9)} was used, ignore it\n`
    const output = Buffer.alloc(OUTPUT_BYTES, line)
    const began = performance.now()
    const verdict = adjudicate({ ...FACTS, action: executing(argv) }, policy, LEDGER)
    const decided = performance.now()
    const screen = screens.open(INJECTION_THRESHOLDS.standard)
    const emit = (bytes: Uint8Array) => {
      printed += bytes.length
    }
    screen.push(output, emit)
    screen.finish(emit)
    const passed = performance.now()
    t.not(verdict.rule, 'deny_on_error')
    gate.push(decided - began)
    firewall.push(passed - decided)
  }
  t.ok(printed > OUTPUT_BYTES, 'the firewall lets output through')
  const both = gate.map((time, call) => time + (firewall[call] ?? 0))
  const [ofGate, ofFirewall, ofBoth] = [median(gate), median(firewall), median(both)]
  t.comment(`medians: gate ${ofGate.toFixed(3)} ms, firewall ${ofFirewall.toFixed(2)} ms`)
  t.ok(ofGate < GATE_MS, `the gate, ${ofGate} ms`)
  t.ok(ofFirewall < FIREWALL_MS, `the firewall, ${ofFirewall} ms`)
  t.ok(ofBoth < BOTH_MS, `both, ${ofBoth} ms`)
  t.end()
})
