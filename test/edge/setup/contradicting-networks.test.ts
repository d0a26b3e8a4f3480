import t from 'tap'
import { type Config, parseConfig } from '../../../src/config/config.ts'
import {
  egressLists,
  findNetworkContradictions,
  networkOf,
} from '../../../src/edge/setup/contradicting-networks.ts'

const AGENT = { name: 'a', public_key: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', capability: 'default' }

type Given = { readonly [key: string]: unknown }

function read(given: Given): Config {
  const result = parseConfig(given, { configDirectory: '/etc/sass-edge' })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config
}

function lines(given: Given): string[] {
  const written = (path: string): boolean =>
    path.split('.').reduce<unknown>((value, key) => (value as Given | undefined)?.[key], given) !== undefined
  return [...findNetworkContradictions(read(given), written)].map(
    ({ check, ok, detail, remedy }) =>
      `${ok ? (remedy === undefined ? 'ok' : 'warn') : 'fail'} ${check}: ${detail}`,
  )
}

t.test("an agent with the device's network is worth a look, where somebody has written it", async (t) => {
  const agents = [AGENT]
  t.match(lines({ agents, sandbox: { network: 'host', trust_network: true } }), [
    /^warn sandbox.network: gives a the network of the device/,
  ])
  t.strictSame(lines({ agents }), [])
  const capabilities = { default: { network: 'host' } }
  const sandbox = { network: 'gate', trust_network: true }
  t.match(lines({ agents, sandbox, capabilities }), [/^warn capabilities.default.network: gives a /])
  t.equal(lines({ agents: [{ ...AGENT, role: 'operator' }], sandbox, capabilities }).length, 0)
})

t.test('a list that holds nowhere is told', async (t) => {
  t.match(lines({ sandbox: { network: 'none', egress: ['a.example'] } }), [
    /^warn sandbox.egress: lists what commands reach, and no/,
  ])
  const capabilities = { default: { egress: ['a.example'] } }
  t.match(lines({ sandbox: { network: 'none' }, capabilities }), [
    /^fail capabilities.default.egress: .* "none"/,
  ])
  t.equal(lines({ sandbox: { network: 'gate' }, capabilities }).length, 0)
})

t.test('lists are as they were written, by their keys', async (t) => {
  const entry = { host: 'a.example', ports: [80], methods: ['GET'], bytes_per_hour: 5 }
  const config = read({
    sandbox: { egress: ['b.example:8443', entry] },
    capabilities: { default: { network: 'none' }, narrow: { network: 'gate', egress: [{ host: '*' }] } },
  })
  t.strictSame(egressLists(config), [
    { path: 'sandbox.egress', list: ['b.example:8443', entry] },
    { path: 'capabilities.narrow.egress', list: ['*'] },
  ])
  t.strictSame(
    Object.values(config.capabilities).map((set) => networkOf(config, set)),
    ['none', 'gate'],
  )
})
