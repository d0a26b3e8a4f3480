/**
 * adjudicate: one verdict of a closed union for whatever comes, the same one every time, and no exception.
 * @module
 */
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { adjudicate, adjudicateBy } from '../../src/defense/adjudicator.ts'
import type { Facts, Ledger } from '../../src/defense/facts.ts'
import { LAYERS, type Layer, type Policy } from '../../src/defense/layers.ts'
import { LAYER_NAMES, RESPONSES, type Verdict } from '../../src/defense/verdict.ts'
import { Warrant } from '../../src/defense/warrant.ts'
import { CODES } from '../../src/errors.ts'
import {
  AGENT,
  anyFacts,
  anyLedger,
  anyPolicy,
  executing,
  FACTS,
  LEDGER,
  mostlyGoodFacts,
  NOBODY,
  POLICY,
} from './staged-facts.ts'

const root = join(import.meta.dirname, '../..')
const RUNS = { numRuns: 400 }

/** What is wrong with the form of a verdict, or nothing. */
function deformity(verdict: Verdict): string | undefined {
  const isExecute = verdict.kind === 'response' && verdict.response === 'EXECUTE'
  if (verdict.kind === 'response' && !RESPONSES.includes(verdict.response)) return 'not one of the six'
  if (verdict.kind !== 'response' && verdict.kind !== 'mistake') return 'neither response nor mistake'
  if (isExecute !== ('warrant' in verdict && verdict.warrant instanceof Warrant)) return 'warrant'
  if (isExecute !== (verdict.layer === 'all')) return 'layer'
  if (verdict.layer !== 'all' && !LAYER_NAMES.includes(verdict.layer)) return 'unknown layer'
  if (isExecute ? verdict.code !== undefined : !(verdict.code !== undefined && verdict.code in CODES))
    return 'code'
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
    t.doesNotThrow(() => Warrant.redeem(warrant, executing()))
  }
  t.end()
})

t.test('whatever the facts, there is exactly one verdict, and a warrant exactly when it is R1', (t) => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(mostlyGoodFacts, anyPolicy, anyLedger, (facts, policy, ledger) => {
      const verdict = adjudicate(facts, policy, ledger)
      seen.add(verdict.kind === 'response' ? verdict.response : verdict.kind)
      return deformity(verdict) === undefined
    }),
    { numRuns: 3_000 },
  )
  t.strictSame([...seen].sort(), ['CHALLENGE', 'DROP', 'EXECUTE', 'TARPIT', 'THROTTLE', 'VI_SWAP', 'mistake'])
  t.end()
})

t.test('the same input gives the same verdict bit for bit, the id of its warrant too (SS-34)', (t) => {
  fc.assert(
    fc.property(anyFacts, anyPolicy, anyLedger, (facts, policy, ledger) => {
      const first = adjudicate(facts, policy, ledger)
      const second = adjudicate(structuredClone(facts), structuredClone(policy), structuredClone(ledger))
      return JSON.stringify(first) === JSON.stringify(second)
    }),
    RUNS,
  )
  t.pass('for every one of them')
  t.end()
})

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

t.test('a layer that throws denies: R4 for a known caller, R6 for anybody else (JF-F04)', (t) => {
  for (const [index, { name }] of LAYERS.entries()) {
    const failing: Layer[] = LAYERS.map((layer, at) => ({
      name: layer.name,
      check:
        at === index
          ? () => {
              throw new TypeError('a defect')
            }
          : at < index
            ? undefined
            : layer.check,
    }))
    for (const [identity, response] of [
      [AGENT, 'VI_SWAP'],
      [NOBODY, 'DROP'],
      [{ kind: 'failed', code: 'AUTH_INVALID', why: 'x' }, 'DROP'],
    ] as const) {
      t.match(
        adjudicateBy(failing, { ...FACTS, identity }, POLICY, LEDGER),
        {
          kind: 'response',
          response,
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
    t.match(verdict, { kind: 'response', rule: 'deny_on_error', severity: 'critical' }, `without ${name}`)
    t.equal(verdict.kind === 'response' && verdict.response, name === 'identity' ? 'DROP' : 'VI_SWAP')
  }
  t.match(adjudicate(FACTS, undefined as unknown as Policy, LEDGER), {
    response: 'VI_SWAP',
    layer: 'capability',
  })
  t.match(adjudicate(FACTS, POLICY, undefined as unknown as Ledger), { response: 'VI_SWAP', layer: 'quota' })
  t.match(adjudicate({} as Facts, POLICY, LEDGER), { response: 'DROP', rule: 'deny_on_error' })
  t.match(adjudicate(undefined as unknown as Facts, POLICY, LEDGER), {
    response: 'DROP',
    rule: 'deny_on_error',
  })
  const nothing: Layer[] = [{ name: 'acl', check: () => null as unknown as undefined }]
  t.match(adjudicateBy(nothing, FACTS, POLICY, LEDGER), { response: 'VI_SWAP', rule: 'deny_on_error' })
  t.end()
})

t.test('what all layers pass without an action to permit is denied', (t) => {
  t.match(adjudicate({ ...FACTS, action: undefined }, POLICY, LEDGER), {
    response: 'VI_SWAP',
    rule: 'deny_on_error',
  })
  t.end()
})

t.test('an action that has no canonical form gets no warrant', (t) => {
  const verdict = adjudicate({ ...FACTS, action: executing(['ls', '\ud800']) }, POLICY, LEDGER)
  t.match(verdict, { kind: 'response', response: 'VI_SWAP', rule: 'deny_on_error' })
  t.notOk('warrant' in verdict)
  t.end()
})

t.test('the first layer that does not pass decides, whatever the later ones would say', (t) => {
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

t.test('nothing that the decision is made of can read a clock, a file or chance (RX-02)', (t) => {
  const seen = new Map<string, string>()
  const packages = new Set<string>()
  function walk(path: string): void {
    if (seen.has(path)) return
    const code = readFileSync(join(root, path), 'utf8')
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .replace(/^\s*\/\/.*$/gm, '')
    seen.set(path, code)
    for (const [, name = ''] of code.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)) {
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
  const world =
    /\b(Date|performance|crypto|process|require|fetch|setTimeout|setInterval|setImmediate|queueMicrotask|globalThis|Promise|async|await|Intl|navigator)\b|Math\.random|new WeakRef|localeCompare|toLocale/
  t.strictSame(
    [...seen]
      .filter(([, code]) => world.test(code))
      .map(([path, code]) => `${path}: ${world.exec(code)?.[0]}`),
    [],
  )
  t.end()
})
