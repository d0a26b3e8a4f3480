import t from 'tap'
import { createGuard, guardPlan } from '../../../src/egress/guards/guard.ts'
import type { EgressEntry } from '../../../src/egress/lists/egress-list.ts'
import { parseEgressList } from '../../../src/egress/lists/egress-list.ts'

function entry(value: unknown): EgressEntry {
  const parsed = parseEgressList([value])
  const [one] = parsed.ok ? parsed.list : []
  if (one === undefined) throw new Error(JSON.stringify(parsed))
  return one
}

t.test('the port and the entry say what is read', (t) => {
  const named = entry('a.example')
  t.strictSame(guardPlan(named, 'a.example', 80), {
    kind: 'http',
    name: 'a.example',
    port: 80,
    methods: undefined,
  })
  t.strictSame(guardPlan(named, 'a.example', 443), { kind: 'tls', name: 'a.example' })
  t.strictSame(guardPlan(named, 'a.example', 8443), { kind: 'tls', name: 'a.example' })
  t.strictSame(guardPlan(named, 'a.example', 22), { kind: 'other', name: 'a.example' })
  t.strictSame(guardPlan(entry('*.example'), 'a.example', 443), { kind: 'tls', name: 'a.example' })
  t.strictSame(guardPlan(entry('*'), 'a.example', 443), { kind: 'none' })
  t.strictSame(guardPlan(entry('10.0.0.0/8:80'), undefined, 80), { kind: 'none' })
  t.strictSame(guardPlan(entry({ host: '10.0.0.0/8', methods: ['GET'] }), undefined, 80), {
    kind: 'http',
    name: undefined,
    port: 80,
    methods: ['GET'],
  })
  t.strictSame(guardPlan(entry({ host: '*', ports: [8080], methods: ['GET'] }), 'a.example', 8080), {
    kind: 'http',
    name: 'a.example',
    port: 8080,
    methods: ['GET'],
  })
  t.end()
})

t.test('each plan has its guard', (t) => {
  const bytes = Uint8Array.from([0x53, 0x53, 0x48])
  t.equal(createGuard({ kind: 'none' }), undefined)
  t.match(createGuard({ kind: 'other', name: 'a.example' })?.take(bytes), { kind: 'pass', bytes: 3 })
  t.match(createGuard({ kind: 'tls', name: 'a.example' })?.take(bytes), { reason: 'not_tls' })
  const http = createGuard({ kind: 'http', name: 'a.example', port: 80, methods: undefined })
  t.match(http?.take(bytes), { kind: 'pass', bytes: 0 })
  t.end()
})
