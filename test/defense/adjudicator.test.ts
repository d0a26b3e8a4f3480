/**
 * adjudicate: one verdict of a closed union for whatever comes, the same one every time, and no exception.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { adjudicate, adjudicateBy } from '../../src/defense/adjudicator.ts'
import type { Facts, Ledger } from '../../src/defense/facts.ts'
import type { Layer, Policy } from '../../src/defense/layer.ts'
import { LAYERS } from '../../src/defense/layers.ts'
import { LAYER_NAMES, RESPONSES, type Verdict } from '../../src/defense/verdict.ts'
import { Warrant } from '../../src/defense/warrant.ts'
import { CODES } from '../../src/errors.ts'
import {
  AGENT,
  anyFacts,
  anyLedger,
  anyPolicy,
  compileRules,
  executing,
  exposed,
  FACTS,
  LEDGER,
  mostlyGoodFacts,
  NOBODY,
  POLICY,
  policyWith,
  RULES,
} from './staged-facts.ts'

const root = join(import.meta.dirname, '../..')
const RUNS = { numRuns: 400 }

/** A verdict without the place in its list of the clause that it cites: `default.allowed_commands[1]`. */
function unplaced(verdict: Verdict): unknown {
  return 'authority' in verdict
    ? { ...verdict, authority: verdict.authority?.replace(/\[\d+\]$/, '') }
    : verdict
}

/** What is wrong with the form of a verdict, or nothing. */
function deformity(verdict: Verdict): string | undefined {
  const isExecute = verdict.kind === 'response' && verdict.response === 'EXECUTE'
  if (verdict.kind === 'response' && !RESPONSES.includes(verdict.response)) return 'not one of the six'
  if (verdict.kind !== 'response' && verdict.kind !== 'status') return 'neither response nor mistake'
  if (isExecute !== ('warrant' in verdict && verdict.warrant instanceof Warrant)) return 'warrant'
  if (verdict.layer === 'all' ? !isExecute : !LAYER_NAMES.includes(verdict.layer)) return 'layer'
  // What nobody has read is told by its class, which is no note.
  const isNoted = verdict.layer !== 'all' && !verdict.rule.startsWith('opaque.')
  if (isExecute && isNoted && !verdict.enhancedAudit) return 'a note that is not recorded'
  if (verdict.code === undefined ? !isExecute : !Object.hasOwn(CODES, verdict.code)) return 'code'
  if (isExecute && (verdict.incident !== undefined || !('toxic' in verdict))) return 'incident'
  if (verdict.rule === '' || typeof verdict.reason !== 'string') return 'no reason'
  return undefined
}

t.test('what passes every layer is R1 with a warrant for exactly that action', (t) => {
  const verdict = adjudicate(FACTS, POLICY, LEDGER)
  t.match(verdict, { kind: 'response', response: 'EXECUTE', code: undefined, layer: 'all', severity: 'info' })
  const warrant = 'warrant' in verdict ? verdict.warrant : undefined
  t.ok(warrant instanceof Warrant)
  if (warrant instanceof Warrant) {
    t.match(warrant.id, /^[0-9a-f]{64}$/)
    t.equal(warrant.sessionId, FACTS.session?.id)
    t.equal(warrant.cycle, FACTS.cycle)
    t.doesNotThrow(() => Warrant.redeem(warrant, executing(), FACTS.session?.id ?? ''))
  }
  t.end()
})

t.test(
  'whatever the facts, there is exactly one verdict, and a warrant exactly when it is R1 (SS-32, JF-F03)',
  (t) => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(mostlyGoodFacts, anyPolicy, anyLedger, (facts, policy, ledger) => {
        const verdict = adjudicate(facts, policy, ledger)
        seen.add(verdict.kind === 'response' ? verdict.response : verdict.kind)
        return deformity(verdict) === undefined
      }),
      { numRuns: 3_000 },
    )
    t.strictSame([...seen].sort(), [
      'CHALLENGE',
      'DROP',
      'EXECUTE',
      'TARPIT',
      'THROTTLE',
      'VI_SWAP',
      'status',
    ])
    t.end()
  },
)

/** Run by another process: answers JSON with JSON. */
const ELSEWHERE = `
import { adjudicate } from '../../src/defense/adjudicator.ts'
import { compileRules, effectiveOf, RULES } from './staged-facts.ts'
let text = ''
for await (const chunk of process.stdin) text += chunk
const rules = compileRules(RULES)
const verdicts = JSON.parse(text).map(({ facts, policy, ledger }) =>
  adjudicate(facts, { ...policy, rules, effective: effectiveOf }, ledger))
process.stdout.write(JSON.stringify(verdicts))
`

t.test('the same input gives the same verdict bit for bit, the id of its warrant too (SS-34)', (t) => {
  const samples: unknown[] = []
  fc.assert(
    fc.property(mostlyGoodFacts, anyPolicy, anyLedger, (facts, policy, ledger) => {
      const { rules, effective, ...data } = policy
      const first = adjudicate(structuredClone(facts), policy, ledger)
      const copy = { ...structuredClone(data), rules: compileRules(RULES.toReversed()), effective }
      const second = adjudicate(structuredClone(facts), copy, structuredClone(ledger))
      if (samples.length < 200 && isPlain(facts))
        samples.push({ facts, policy: data, ledger, verdict: first })
      return JSON.stringify(first) === JSON.stringify(second)
    }),
    RUNS,
  )
  t.ok(samples.length > 50, `${samples.length} of them are asked again in another process`)
  // Another process, and another day: nothing but JSON goes there.
  const answer = spawnSync(process.execPath, ['--input-type=module', '-e', ELSEWHERE], {
    input: JSON.stringify(samples.map((sample) => ({ ...(sample as object), verdict: undefined }))),
    cwd: join(root, 'test/defense'),
    env: { TZ: 'Pacific/Chatham', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' },
    maxBuffer: 64 * 1_024 * 1_024,
    timeout: 30_000,
  })
  t.equal(answer.status, 0, String(answer.stderr))
  t.equal(
    String(answer.stdout),
    JSON.stringify(samples.map((sample) => (sample as { readonly verdict: Verdict }).verdict)),
  )
  t.end()
})

/** Survives JSON: no lone surrogate is lost there, and what is undefined is absent on both sides. */
function isPlain(facts: Facts): boolean {
  return JSON.stringify(JSON.parse(JSON.stringify(facts))) === JSON.stringify(facts)
}

t.test('the decision changes nothing of what it is given', (t) => {
  fc.assert(
    fc.property(anyFacts, anyPolicy, anyLedger, (facts, policy, ledger) => {
      const before = JSON.stringify([facts, policy, ledger])
      adjudicate(facts, policy, ledger)
      return JSON.stringify([facts, policy, ledger]) === before
    }),
    RUNS,
  )
  t.pass('for every one of them')
  t.end()
})

t.test('a layer that throws denies: R4 for a known caller, R6 for anybody else (JF-F04, JF-N04)', (t) => {
  for (const [index, { name }] of LAYERS.entries()) {
    const failing: Layer[] = LAYERS.map((layer, at) => ({
      name: layer.name,
      check:
        at === index
          ? () => {
              throw new TypeError('a defect')
            }
          : at < index
            ? () => undefined
            : layer.check,
    }))
    for (const [identity, response] of [
      [AGENT, undefined],
      [NOBODY, 'DROP'],
      [{ kind: 'failed', code: 'AUTH_INVALID', why: 'x' }, 'DROP'],
    ] as const) {
      t.match(
        adjudicateBy(failing, { ...FACTS, identity }, POLICY, LEDGER),
        {
          ...(response === undefined ? { kind: 'status', ends: false } : { kind: 'response', response }),
          code: 'INTERNAL',
          layer: name,
          rule: 'deny_on_error',
          severity: 'critical',
        },
        `${name}, ${identity.kind}`,
      )
    }
  }
  t.end()
})

t.test('data that a layer needs and does not find denies, down to facts with nothing in them', (t) => {
  const whole = { ...FACTS } as Record<string, unknown>
  for (const name of ['source', 'identity']) {
    const verdict = adjudicate({ ...whole, [name]: undefined } as unknown as Facts, POLICY, LEDGER)
    t.match(verdict, { rule: 'deny_on_error', severity: 'critical' }, `without ${name}`)
    t.equal(
      verdict.kind === 'response' ? verdict.response : 'a sentence',
      name === 'identity' ? 'DROP' : 'a sentence',
    )
  }
  t.match(adjudicate(FACTS, undefined as unknown as Policy, LEDGER), {
    kind: 'status',
    rule: 'deny_on_error',
  })
  t.match(adjudicate(FACTS, POLICY, undefined as unknown as Ledger), { kind: 'status', layer: 'level' })
  t.match(adjudicate({} as Facts, POLICY, LEDGER), { response: 'DROP', rule: 'deny_on_error' })
  t.match(adjudicate(undefined as unknown as Facts, POLICY, LEDGER), {
    response: 'DROP',
    rule: 'deny_on_error',
  })
  const nothing: Layer[] = [{ name: 'acl', check: () => null as unknown as undefined }]
  t.match(adjudicateBy(nothing, FACTS, POLICY, LEDGER), { kind: 'status', rule: 'deny_on_error' })
  t.end()
})

/** Facts under which each part of the policy and of the ledger is asked for. */
const CURL = {
  ...FACTS,
  request: { ...(FACTS.request ?? fail()), task: 'aa' },
  action: executing(['curl', 'http://10.0.0.1/', '-o', '.env']),
}
const COUNTED = {
  ...policyWith(
    {},
    {
      sensitiveFiles: 'allow',
      toxicCombinations: 'allow',
    },
  ),
  quota: { ticksPerTask: 9, tokensPerSession: 9, sessionsPerCaller: 9 },
}

function fail(): never {
  throw new Error('The staged facts are not what they should be.')
}

t.test('no part of policy or ledger can be missing and the action still be done', (t) => {
  t.match(adjudicate(CURL, COUNTED, LEDGER), { response: 'EXECUTE' }, 'with everything there it is')
  const isPermitted = (policy: unknown, ledger: unknown) => {
    const verdict = adjudicate(CURL, policy as Policy, ledger as Ledger)
    return verdict.kind === 'response' && verdict.response === 'EXECUTE'
  }
  for (const name of ['capabilities', 'security', 'rules', 'quota', 'effective', 'ownPaths'])
    t.notOk(isPermitted({ ...COUNTED, [name]: undefined }, LEDGER), `policy.${name}`)
  for (const name of [
    'allowShell',
    'allowedCommands',
    'blockedCommands',
    'sensitiveFiles',
    'opaque',
    'pins',
  ]) {
    const security = { ...COUNTED.security, [name]: undefined }
    const shell = {
      ...CURL,
      action: exposed(executing(['sh', '-c', 'make; curl http://10.0.0.1/ -o .env']), 'host_network'),
    }
    const verdict = adjudicate(shell, { ...COUNTED, security } as unknown as Policy, LEDGER)
    t.not(verdict.kind === 'response' && verdict.response, 'EXECUTE', `policy.security.${name}`)
  }
  for (const name of ['level', 'executionsFree', 'executionsOfCaller', 'ticks', 'tokens', 'toxic'])
    t.notOk(isPermitted(COUNTED, { ...LEDGER, [name]: undefined }), `ledger.${name}`)
  const welcomed = {
    ...FACTS,
    session: undefined,
    action: { kind: 'authenticate', name: 'bot', isNew: true },
  } as const
  t.match(adjudicate(welcomed, COUNTED, LEDGER), { response: 'EXECUTE' })
  for (const name of ['sessionsFree', 'sessionsOfCaller']) {
    const ledger = { ...LEDGER, [name]: undefined } as unknown as Ledger
    t.match(adjudicate(welcomed, COUNTED, ledger), { response: 'THROTTLE' }, `ledger.${name}`)
  }
  t.end()
})

t.test('what all layers pass without an action to permit is denied', (t) => {
  t.match(adjudicate({ ...FACTS, action: undefined }, POLICY, LEDGER), {
    kind: 'status',
    rule: 'deny_on_error',
  })
  t.end()
})

t.test('an action that has no canonical form gets no warrant', (t) => {
  const verdict = adjudicate({ ...FACTS, action: executing(['ls', '\ud800']) }, POLICY, LEDGER)
  t.match(verdict, { kind: 'status', rule: 'deny_on_error' })
  t.notOk('warrant' in verdict)
  t.end()
})

t.test('the first layer that does not pass decides, whatever the later ones would say (JF-070)', (t) => {
  const finding = (at: number) => ({
    outcome: 'THROTTLE' as const,
    code: 'RESPONSE_THROTTLED' as const,
    rule: `rule ${at}`,
    reason: 'r',
    severity: 'info' as const,
  })
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }), (refuses) => {
      const asked: number[] = []
      const layers = LAYERS.map(
        ({ name }, at): Layer => ({
          name,
          check() {
            asked.push(at)
            return refuses[at] ? finding(at) : undefined
          },
        }),
      )
      const verdict = adjudicateBy(layers, FACTS, POLICY, LEDGER)
      const first = refuses.indexOf(true)
      if (first === -1) return verdict.layer === 'all' && asked.length === 12
      return (
        verdict.rule === `rule ${first}` && verdict.layer === LAYER_NAMES[first] && asked.length === first + 1
      )
    }),
    RUNS,
  )
  t.pass('for every one of them')
  t.end()
})

t.test('the order of rules, patterns, sets and earlier actions decides nothing', (t) => {
  fc.assert(
    fc.property(mostlyGoodFacts, anyPolicy, anyLedger, (facts, policy, ledger) => {
      const turn = <Value>(values: readonly Value[]) => values.toReversed()
      const turned: Policy = {
        ...policy,
        capabilities: Object.fromEntries(
          turn(Object.entries(policy.capabilities)).map(([name, set]) => [
            name,
            {
              ...set,
              allowed_commands: turn(set.allowed_commands),
              denied_commands: turn(set.denied_commands),
              allowed_paths: turn(set.allowed_paths),
              denied_paths: turn(set.denied_paths),
            },
          ]),
        ),
        rules: compileRules(turn(RULES)),
        security: { ...policy.security, allowedCommands: turn(policy.security.allowedCommands) },
        ownPaths: { paths: turn(policy.ownPaths.paths), except: turn(policy.ownPaths.except) },
      }
      const one = adjudicate(structuredClone(facts), policy, ledger)
      const other = adjudicate({ ...structuredClone(facts), realPaths: turn(facts.realPaths) }, turned, {
        ...ledger,
        toxic: turn(ledger.toxic),
      })
      // Where a clause stands in its list is part of its name; that there is one, and in which list, is the decision.
      return JSON.stringify(unplaced(one)) === JSON.stringify(unplaced(other))
    }),
    RUNS,
  )
  t.pass('for every one of them')
  t.end()
})

t.test(
  'what a permission rests on is named by its place, so another order names another place and decides alike',
  (t) => {
    const authorityBy = (...patterns: readonly string[]) => {
      const set = POLICY.capabilities['default']
      if (set === undefined) throw new Error('the staged policy has no default set')
      const verdict = adjudicate(
        FACTS,
        {
          ...POLICY,
          capabilities: { ...POLICY.capabilities, default: { ...set, allowed_commands: patterns } },
        },
        LEDGER,
      )
      return 'authority' in verdict ? verdict.authority : verdict.rule
    }
    t.equal(authorityBy('git push', '*'), 'default.allowed_commands[1]')
    t.equal(authorityBy('*', 'git push'), 'default.allowed_commands[0]')
    t.end()
  },
)

t.test('of several notes the record names the first, and a later refusal counts all the same', (t) => {
  const note = (rule: string) => () => ({ outcome: 'note' as const, rule, reason: 'r' })
  const layers = (last: Layer['check']): Layer[] => [
    { name: 'specifics', check: note('one') },
    { name: '13policy', check: note('two') },
    { name: 'quota', check: last },
  ]
  t.match(
    adjudicateBy(
      layers(() => undefined),
      FACTS,
      POLICY,
      LEDGER,
    ),
    {
      response: 'EXECUTE',
      layer: 'specifics',
      rule: 'one',
      enhancedAudit: true,
      severity: 'warning',
    },
  )
  const refusal = {
    outcome: 'THROTTLE',
    code: 'RESPONSE_THROTTLED',
    rule: 'x',
    reason: 'r',
    severity: 'info',
  } as const
  t.match(
    adjudicateBy(
      layers(() => refusal),
      FACTS,
      POLICY,
      LEDGER,
    ),
    { response: 'THROTTLE', rule: 'x' },
  )
  t.end()
})

t.test('nothing that the decision is made of can read a clock, a file or chance (RX-02)', (t) => {
  const seen = new Map<string, string>()
  const packages = new Set<string>()
  function walk(path: string): void {
    if (seen.has(path)) return
    const code = readFileSync(join(root, path), 'utf8')
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .replace(/^\s*\/\/.*$/gm, '')
    seen.set(path, code)
    for (const [, name = ''] of code.matchAll(/(?:^[^'\n]*\bfrom |(?<!-)\bimport\s*\(?\s*)'([^'\n]+)'/gm)) {
      if (name.startsWith('.')) walk(normalize(join(dirname(path), name)))
      else packages.add(name)
    }
  }
  walk('src/defense/adjudicator.ts')
  t.comment(`${seen.size} files: ${[...seen.keys()].join(' ')}`)
  t.strictSame(
    [...seen.keys()].filter((path) => path.endsWith('.node.ts')),
    [],
  )
  t.strictSame(
    [...packages].filter((name) => !name.startsWith('@noble/hashes/')),
    [],
  )
  // Among alternatives of a pattern it is a word of somebody's command line.
  const world =
    /\b(Date|performance|crypto|(?:process|require)(?!\|)|fetch|setTimeout|setInterval|setImmediate|queueMicrotask|globalThis|Promise|async|await|Intl|navigator)\b|Math\.random|new WeakRef|localeCompare|toLocale/
  t.strictSame(
    [...seen]
      // Names of programs and sentences may say such words.
      .map(([path, code]) => [path, code.replace(/'(?:[^'\\\n]|\\.)*'/g, "''")] as const)
      .filter(([, code]) => world.test(code))
      .map(([path, code]) => `${path}: ${world.exec(code)?.[0]}`),
    [],
  )
  t.end()
})

t.test('every request reaches an end, and nothing that comes later undoes a denial (JF-077)', (t) => {
  const ends = new Set<string>()
  fc.assert(
    fc.property(mostlyGoodFacts, anyPolicy, anyLedger, (facts, policy, ledger) => {
      const verdict = adjudicate(structuredClone(facts), policy, ledger)
      ends.add(verdict.kind === 'response' ? verdict.response : verdict.kind)
      const { request } = facts
      const isDenied = verdict.kind === 'response' && ['VI_SWAP', 'TARPIT', 'DROP'].includes(verdict.response)
      if (!isDenied || request === undefined) return true
      // A challenge that is met and a yes to every question: what could still come for this request.
      const isSettled = (rule: string) => request.approvals.some((approval) => approval.rule === rule)
      const more = ['sensitive_files', 'internal_addresses', 'level.checkpoint', verdict.rule]
        .filter((rule) => !isSettled(rule))
        .map((rule) => ({ rule, outcome: 'approved' as const }))
      const later = {
        ...structuredClone(facts),
        request: {
          ...request,
          challenge: request.challenge === 'none' ? ('passed' as const) : request.challenge,
          approvals: [...request.approvals, ...more],
        },
      }
      const again = adjudicate(later, policy, ledger)
      return again.kind === 'response' && again.response !== 'EXECUTE'
    }),
    { numRuns: 2_000 },
  )
  t.ok(ends.size === 7, [...ends].join(' '))
  t.end()
})
