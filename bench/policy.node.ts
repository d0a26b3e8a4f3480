/**
 * What the policy costs a request: mixed commands against 1,000 rules, from argv to the strictest match, and as a whole
 * decision through every layer; told apart for lines of one command and lines of several. In turns with them runs what
 * takes 100 us on the machine that the bound was written for, so that a slower or busier one is measured by its own
 * clock: four Ed25519 signatures, of 25 us there.
 * `node bench/policy.node.ts` prints p50 and p99 over 14,000 runs, and what the compiled rules hold of the heap.
 * @module
 */
import { generateKeyPairSync, sign } from 'node:crypto'
import { type Config, parseConfig } from '../src/config/config.ts'
import { EXAMPLE_CWD, EXAMPLE_HOME, exampleArgv } from '../src/defense/13policy/rules/examples.ts'
import { createMatcher } from '../src/defense/13policy/rules/matcher.ts'
import type { Rule } from '../src/defense/13policy/rules/rule.ts'
import { effectiveCommands } from '../src/defense/13policy/unwrap.ts'
import { adjudicate } from '../src/defense/adjudicator.ts'
import type { Facts, Ledger } from '../src/defense/facts.ts'
import type { Policy } from '../src/defense/layer.ts'
import { judgeOf } from '../src/edge/policy/judge.node.ts'
import { makePolicy } from '../src/edge/policy/policy.node.ts'
import { readRulesFile } from '../src/edge/policy/policy-file.node.ts'
import { shippedRulesPath } from '../src/edge/policy/rules-path.node.ts'
import { ALPN_PROTOCOL } from '../src/limits.ts'

const RULES = 1_000
/** As often again before: a daemon that runs for months is not measured while its code is compiled. */
const GOES = 100
/**
 * So many turns in one go: a neighbour who wakes up meets both sides. The first of each go is not counted, so that
 * neither runs with the caches full of the other.
 */
const TURNS_AT_ONCE = 11
const CLOCKS_AT_ONCE = 21
const P99_BOUND_US = 100
/** More than the daemon remembers commands of: none is remembered when it comes again. */
const DIRECTORIES = 97
/** They take as long as the bound where it was written. */
const SIGNATURES = 4
const SIGNED_BYTES = 200

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
      { assigns: [`MODULE_${index}`] },
    ]
    return {
      id: `made.r${index}`,
      argv: [subjects[index % subjects.length] ?? {}],
      action: 'deny',
      severity: 'medium',
      description: 'Made for this measurement.',
      why: 'Made for this measurement.',
      examples: { match: [], pass: [] },
    }
  })
  return [...shipped, ...made].slice(0, RULES)
}

function defaultConfig(): Config {
  const parsed = parseConfig({ security: { workspace_root: EXAMPLE_CWD } }, { configDirectory: '/srv/edge' })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return parsed.config
}

/** An agent that has authenticated asks for that command. */
function factsOf(argv: readonly string[], cwd: string): Facts {
  return {
    cycle: 1,
    source: {
      transport: 'tls',
      address: '192.0.2.1',
      isLoopback: false,
      isAllowed: true,
      isPenalised: false,
      isSuspect: false,
      crowd: undefined,
    },
    transport: {
      version: 'TLSv1.3',
      suite: 'TLS_AES_256_GCM_SHA384',
      alpn: ALPN_PROTOCOL,
      hasExporter: true,
      frameProblem: undefined,
    },
    identity: {
      kind: 'known',
      name: 'bot',
      role: 'agent',
      capability: 'default',
      tier: 'T3',
      tools: ['*'],
      delegation: undefined,
      instance: undefined,
    },
    session: { id: 'ab'.repeat(16), state: 'live' },
    request: {
      method: 'Execute',
      audience: 'anyone',
      problems: '',
      overExpanded: false,
      challenge: 'none',
      approvals: [],
      task: undefined,
    },
    action: {
      argv,
      cwd,
      environment: [],
      executable: { device: '1', inode: '2', path: `/usr/bin/${argv[0]}`, sha256: null },
      executionId: 'cd'.repeat(16),
      kind: 'execute',
      outputBytes: null,
      stdin: false,
      terminal: false,
      timeoutSeconds: null,
    },
    realPaths: [],
  }
}

const LEDGER: Ledger = {
  tarpitsFree: 1,
  executionsFree: 1,
  executionsOfCaller: 0,
  transfersFree: true,
  sessionsFree: true,
  sessionsOfCaller: 1,
  queueFree: true,
  challengesFree: true,
  confirmationsFree: true,
  deceptionsFree: true,
  level: 'NORMAL',
  ticks: 0,
  tokens: 0,
  toxic: [],
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
/** What everybody may do whom nothing bounds, under the rules alone. */
const policy: Policy = {
  ...(await makePolicy(defaultConfig(), undefined)),
  ...judgeOf({ set: { origins: [], rules }, disabled: [], home: EXAMPLE_HOME, workspace: EXAMPLE_CWD }),
}
const { privateKey } = generateKeyPairSync('ed25519')
const signed = Buffer.alloc(SIGNED_BYTES)

/** `taken` by line, `beside` by the clock; us. */
type Times = { readonly taken: readonly number[][]; readonly beside: number[] }

function timed(run: () => void): number {
  const began = performance.now()
  run()
  return (performance.now() - began) * 1_000
}

function eachRun(prepare: (argv: readonly string[]) => () => void): Times {
  const taken: number[][] = LINES.map(() => [])
  const beside: number[] = []
  for (let go = -GOES; go < GOES; go++) {
    for (let turn = 0; turn < TURNS_AT_ONCE; turn++)
      for (const [line, argv] of argvs.entries()) {
        const took = timed(prepare(argv))
        if (go >= 0 && turn > 0) taken[line]?.push(took)
      }
    for (let run = 0; run < CLOCKS_AT_ONCE; run++) {
      const took = timed(() => {
        for (let count = 0; count < SIGNATURES; count++) sign(null, signed, privateKey)
      })
      if (go >= 0 && run > 0) beside.push(took)
    }
  }
  return { taken, beside }
}

const matched = eachRun((argv) => () => {
  matcher.strictest(effectiveCommands(argv, surroundings))
})
// Each from another directory, of which there are more than the daemon remembers commands.
let asked = 0
const decided = eachRun((argv) => {
  const facts = factsOf(argv, `${EXAMPLE_CWD}/${asked++ % DIRECTORIES}`)
  return () => {
    const verdict = adjudicate(facts, policy, LEDGER)
    if (verdict.layer === 'capability') throw new Error(verdict.reason)
  }
})

function show(times: readonly number[]): { readonly said: string; readonly p99: number } {
  const sorted = times.toSorted((a, b) => a - b)
  const p99 = percentile(sorted, 0.99)
  return { said: `p50 ${percentile(sorted, 0.5).toFixed(1)} us, p99 ${p99.toFixed(1)} us`, p99 }
}

const isOne = argvs.map((argv) => effectiveCommands(argv, surroundings).commands.length === 1)

for (const [what, { taken, beside }] of [
  ['argv to match', matched],
  ['whole decision', decided],
] as const) {
  const clock = show(beside)
  const parts = [
    ['one command', taken.filter((_, line) => isOne[line])],
    ['several commands', taken.filter((_, line) => !isOne[line])],
    ['all', taken],
  ] as const
  for (const [which, times] of parts) {
    const own = show(times.flat())
    const isHeld = own.p99 <= Math.max(P99_BOUND_US, clock.p99)
    console.log(`${isHeld ? 'ok  ' : 'MISS'} ${what}, ${which}: ${own.said}`)
  }
  console.log(
    `     ${matcher.count} rules; p99 at most ${P99_BOUND_US} us there; what takes that there, here: ${clock.said}`,
  )
}
console.log(
  globalThis.gc === undefined
    ? 'heap: run node --expose-gc to see it'
    : `heap held by the compiled rules: ${(held / 1024).toFixed(0)} KiB`,
)
