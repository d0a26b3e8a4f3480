import t from 'tap'
import { parseConfig } from '../../src/config/config.ts'
import { egressSettings, listWithin } from '../../src/egress/egress-settings.ts'

function settingsOf(value: object) {
  const result = parseConfig({ ...value }, { configDirectory: '/etc/sass-edge' })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return egressSettings(result.config)
}

const texts = (list: readonly { readonly text: string }[]) => list.map(({ text }) => text)

t.test('what becomes of the unlisted, and of addresses inside', async (t) => {
  for (const unlisted of ['ask', 'deny', 'audit'] as const)
    t.equal(settingsOf({ security: { unlisted_domains: unlisted } }).unlisted, unlisted)
  t.equal(settingsOf({ security: { unlisted_domains: 'allow' } }).unlisted, 'audit', 'still worth a line')
  t.equal(settingsOf({}).refusesInternal, true)
  t.equal(settingsOf({ security: { internal_addresses: 'allow' } }).refusesInternal, false)
  const { reachable } = settingsOf({ security: { reachable_addresses: ['10.1.0.0/16', '2001:db8::1'] } })
  t.match(reachable, [{ prefixBits: 16 }, { prefixBits: 128 }])
})

t.test('a set narrows the list, and one that says nothing leaves it', async (t) => {
  const settings = settingsOf({ sandbox: { egress: ['*.a.example', 'b.example:8443'] } })
  t.strictSame(texts(settings.list), ['*.a.example', 'b.example:8443'])
  t.equal(listWithin(settings, null), settings.list)
  t.strictSame(listWithin(settings, []), [])
  const named = (host: string) => ({
    host,
    ports: null,
    protocol: 'tcp' as const,
    methods: null,
    bytes_per_hour: null,
  })
  t.strictSame(
    listWithin(settings, [named('x.a.example'), named('c.example')])
      .flatMap(({ host }) => (host.kind === 'name' ? [host.name] : []))
      .filter((name, index, all) => all.indexOf(name) === index),
    ['x.a.example'],
  )
})
