/**
 * What the policy costs a request: mixed commands against 1,000 rules, from argv to the strictest match.
 * `node bench/policy.node.ts` prints p50 and p99 over 10,000 runs, and what the compiled rules hold of the heap.
 * @module
 */
import { EXAMPLE_CWD, EXAMPLE_HOME, exampleArgv } from '../src/defense/13policy/examples.ts'
import { createMatcher } from '../src/defense/13policy/matcher.ts'
import type { Rule } from '../src/defense/13policy/rule.ts'
import { effectiveCommands } from '../src/defense/13policy/unwrap.ts'
import { readRulesFile } from '../src/edge/policy-file.node.ts'
import { shippedRulesPath } from '../src/edge/rules-path.node.ts'

const RULES = 1_000
const RUNS = 10_000
const P99_BOUND_US = 100

const LINES: readonly string[] = [
  'uname -a',
  'ls -la /var/log',
  'git status --short',
  'git commit -m "rm -rf / fix"',
  'cat /etc/os-release',
  'tar czf /srv/work/out.tgz -C /srv/work src',
  'systemctl restart nginx.service',
  'rm -rf ./build ./dist',
  'env A=b nice -n 5 timeout 10 rm -r -f /srv/work/tmp',
  'sh -c "cd /srv/work && make -j2 && ls *.o"',
  'curl -fsSL https://example.org/x -o /tmp/x',
  'python3 -c "import os; print(os.listdir(1))"',
  'ps aux | grep node | awk "{print $2}"',
  'find /srv/work -name "*.log" -exec gzip {} +',
]

const PROGRAMS =
  'rm git cat tar systemctl curl python sh find dd mkfs chmod chown kill mount ssh scp nc iptables docker'.split(
    ' ',
  )

/** The shipped rules, and as many made ones as are missing. */
function manyRules(): readonly Rule[] {
  const shipped = readRulesFile(shippedRulesPath()).rules
  const made = Array.from({ length: Math.max(0, RULES - shipped.length) }, (_, index): Rule => {
    const program = PROGRAMS[index % PROGRAMS.length] ?? 'rm'
    const subjects = [
      { program: [program], options: ['-r|-R|--recursive'], writes: [`/data/${index}/**`, '/etc/**'] },
      { program: [program], operands: [`*secret${index}*`, `key${index}`] },
      { program: [program, `own${index}`], subcommand: [`remove item${index}`], not_options: ['--dry-run'] },
      { writes: [`/opt/app${index}/**`], not_paths: ['/tmp/**'] },
      { calls: [`module${index}.run`] },
    ]
    return {
      id: `made.r${index}`,
      argv: subjects[index % subjects.length] ?? {},
      action: 'deny',
      severity: 'medium',
      description: 'Made for this measurement.',
      why: 'Made for this measurement.',
      examples: { match: [], pass: [] },
    }
  })
  return [...shipped, ...made].slice(0, RULES)
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function heapBytes(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

const rules = manyRules()
const before = heapBytes()
const matcher = createMatcher({ origins: [], rules }, EXAMPLE_HOME)
const held = heapBytes() - before
const argvs = LINES.map(exampleArgv)
const surroundings = {
  cwd: EXAMPLE_CWD,
  home: EXAMPLE_HOME,
  resolved: undefined,
  terminal: false,
  stdin: false,
}
const whole: number[] = []
const matching: number[] = []
// As many again first: a daemon that runs for months is not measured while its code is compiled.
for (let run = -RUNS; run < RUNS; run++) {
  const argv = argvs[(run + RUNS) % argvs.length] ?? []
  const began = performance.now()
  const effective = effectiveCommands(argv, surroundings)
  const unwrapped = performance.now()
  matcher.strictest(effective)
  const ended = performance.now()
  if (run < 0) continue
  whole.push((ended - began) * 1_000)
  matching.push((ended - unwrapped) * 1_000)
}
for (const [what, times] of [
  ['argv to match', whole],
  ['match alone', matching],
] as const) {
  const sorted = times.toSorted((a, b) => a - b)
  const p99 = percentile(sorted, 0.99)
  console.log(
    `${p99 <= P99_BOUND_US ? 'ok  ' : 'MISS'} ${what}, ${matcher.count} rules: p50 ${percentile(sorted, 0.5).toFixed(1)} us, p99 ${p99.toFixed(1)} us (at most ${P99_BOUND_US} us)`,
  )
}
console.log(
  globalThis.gc === undefined
    ? 'heap: run node --expose-gc to see it'
    : `heap held by the compiled rules: ${(held / 1024).toFixed(0)} KiB`,
)
