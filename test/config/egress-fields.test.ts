import t from 'tap'
import { type Config, parseConfig } from '../../src/config/config.ts'
import { EGRESS_SHIPPED, writtenEgress } from '../../src/config/egress-fields.ts'

const CONTEXT = { configDirectory: '/etc/sass-edge' }

function problems(egress: unknown): readonly string[] {
  const result = parseConfig({ sandbox: { egress } }, CONTEXT)
  return result.ok ? [] : result.problems.map(({ path, problem }) => `${path} ${problem}`)
}

function read(egress: unknown): Config['sandbox']['egress'] {
  const result = parseConfig(egress === undefined ? {} : { sandbox: { egress } }, CONTEXT)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config.sandbox.egress
}

t.test('a text stands for an entry with that host alone', async (t) => {
  const nothing = { ports: null, protocol: 'tcp', methods: null, bytes_per_hour: null }
  t.strictSame(read(['a.example', { host: '10.0.0.0/8:1883' }, { host: '*', ports: [1, 65_535] }]), [
    { host: 'a.example', ...nothing },
    { host: '10.0.0.0/8:1883', ...nothing },
    { host: '*', ...nothing, ports: [1, 65_535] },
  ])
  const ntp = { host: '192.0.2.1', ports: [123], protocol: 'udp' }
  t.strictSame(read([ntp]).map(writtenEgress), [ntp])
  t.strictSame(read([{ host: 'a.example', protocol: 'tcp' }]).map(writtenEgress), ['a.example'])
  t.strictSame(read([]), [])
  t.strictSame(read(undefined).map(writtenEgress), EGRESS_SHIPPED)
})

t.test('what is no entry is told with what to write', async (t) => {
  for (const [egress, found] of [
    ['a.example', /must be a list/],
    [[5], /egress\[0\] must be a text or an object/],
    [['https://a.example'], /egress\[0\] is an address of a page/],
    [['a b'], /egress\[0\] is no host/],
    [['a\0b'], /egress\[0\] is no host/],
    [['bücher.example'], /egress\[0\] is no host/],
    [[''], /egress\[0\] is no host/],
    [['a'.repeat(263)], /egress\[0\] is longer than 262 bytes/],
    [[{ ports: [80] }], /host is required/],
    [[{ host: 'a', port: 80 }], /port is not a known key/],
    [[{ host: 'a', ports: [0] }], /ports\[0\] is 0/],
    [[{ host: 'a', ports: ['80'] }], /ports\[0\] must be a whole number/],
    [[{ host: '192.0.2.1:123', protocol: 'icmp' }], /egress\[0\]\.protocol /],
    [[{ host: 'a', methods: ['get'] }], /methods\[0\] is no method/],
    [[{ host: 'a', bytes_per_hour: 0 }], /bytes_per_hour is 0/],
    [new Array(257).fill('a.example'), /more than 256 entries/],
  ] as const)
    t.match(problems(egress)[0], found)
})

t.test('a capability set has a list of its own, or none', async (t) => {
  const result = parseConfig({ capabilities: { default: {}, narrow: { egress: ['a.example'] } } }, CONTEXT)
  t.match(result, {
    ok: true,
    config: { capabilities: { default: { egress: null }, narrow: { egress: [{ host: 'a.example' }] } } },
  })
})

t.test('the network of the device is for an agent only where it is trusted', async (t) => {
  const key = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'
  const given = (role: string, trust: boolean) =>
    parseConfig(
      {
        agents: [{ name: 'a', public_key: key, role, capability: 'default' }],
        capabilities: { default: { network: 'host' } },
        sandbox: { trust_network: trust },
      },
      CONTEXT,
    )
  t.match(given('agent', false), { ok: false, problems: [{ path: 'capabilities.default.network' }] })
  t.equal(given('agent', true).ok, true)
  t.equal(given('operator', false).ok, true)
  const agents = [{ name: 'a', public_key: key, role: 'agent', capability: 'default' }]
  const all = (sandbox: Readonly<Record<string, unknown>>) => parseConfig({ agents, sandbox }, CONTEXT)
  t.match(all({ network: 'host' }), { ok: false, problems: [{ path: 'sandbox.network' }] })
  t.equal(all({ network: 'host', trust_network: true }).ok, true)
  t.equal(all({ network: 'host', require: 'none' }).ok, true, 'on the real files it is told otherwise')
})
