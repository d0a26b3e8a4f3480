import fc from 'fast-check'
import t from 'tap'
import { parseHosts, parseTarget, resolveTarget, targetAddress } from '../../../src/cli/words/target.ts'

const good = (text: string) => {
  const result = parseTarget(text)
  if (!result.ok) throw new Error(`${text}: ${result.problem}`)
  return result.target
}

t.test('reads agent, host and port, each where it stands', async (t) => {
  t.same(good('edge7'), { agent: undefined, host: 'edge7', port: 19284 })
  t.same(good('edge7.example:22'), { agent: undefined, host: 'edge7.example', port: 22 })
  t.same(good('ci@edge7'), { agent: 'ci', host: 'edge7', port: 19284 })
  t.same(good('ci.bot-1@192.0.2.7:1'), { agent: 'ci.bot-1', host: '192.0.2.7', port: 1 })
  t.same(good('my_device.local.'), { agent: undefined, host: 'my_device.local.', port: 19284 })
})

t.test('reads IPv6 in brackets with a port, and without a port also bare', async (t) => {
  t.same(good('[::1]:2222'), { agent: undefined, host: '::1', port: 2222 })
  t.same(good('[2001:db8::1]'), { agent: undefined, host: '2001:db8::1', port: 19284 })
  t.same(good('2001:db8::1'), { agent: undefined, host: '2001:db8::1', port: 19284 })
  t.same(good('ops@[fe80::1]:7'), { agent: 'ops', host: 'fe80::1', port: 7 })
})

t.test('refuses everything else with what to write', async (t) => {
  const bad = [
    '',
    '@host',
    'a b@host',
    'host:',
    'host:0',
    'host:65536',
    'host:x',
    'host:1:2',
    '[::1',
    '[::1]x',
    '[::1]:',
    '[host]:1',
  ]
  bad.push(
    '[127.0.0.1]:1',
    'ho st',
    '-host',
    'host-',
    'a..b',
    '.',
    '1.2.3',
    '1.2.3.4.5',
    '256.0.0.1',
    'a@b@c',
    'host/x',
    '::1%eth0',
  )
  bad.push(`${'a'.repeat(64)}.x`, 'ä', 'host\n')
  for (const text of bad) {
    const result = parseTarget(text)
    t.notOk(result.ok, JSON.stringify(text))
    if (!result.ok) t.match(result.hint, '[AGENT@]HOST[:PORT]')
  }
})

t.test('one device has one address, however it is spelled', async (t) => {
  t.equal(targetAddress(good('Edge7.Example.')), 'edge7.example:19284')
  t.equal(targetAddress(good('[2001:0DB8:0:0::1]:1')), '[2001:db8::1]:1')
  t.equal(targetAddress(good('::ffff:10.0.0.1')), '10.0.0.1:19284')
  t.equal(targetAddress(good(targetAddress(good('::1')))), '[::1]:19284')
})

t.test('a name of hosts.json stands for its target, and an agent on the command line wins', async (t) => {
  const parsed = parseHosts({
    pump: 'ci@edge7.example:22',
    gate: { target: '192.0.2.7', key: '/k/gate.key' },
    buoy: { target: 'buoy.example', metered: true },
    pier: { target: 'pier.example', metered: false },
  })
  if (!parsed.ok) throw new Error(parsed.problem)
  t.same(resolveTarget('pump', parsed.hosts), {
    ok: true,
    target: { agent: 'ci', host: 'edge7.example', port: 22 },
  })
  t.same(resolveTarget('ops@gate', parsed.hosts), {
    ok: true,
    target: { agent: 'ops', host: '192.0.2.7', port: 19284, key: '/k/gate.key' },
  })
  t.match(resolveTarget('buoy', parsed.hosts), { target: { host: 'buoy.example', metered: true } })
  t.match(resolveTarget('pier', parsed.hosts), { target: { host: 'pier.example', metered: undefined } })
  t.same(resolveTarget('other:1', parsed.hosts), {
    ok: true,
    target: { agent: undefined, host: 'other', port: 1 },
  })
  t.same(resolveTarget('ops@gate:7', parsed.hosts), {
    ok: true,
    target: { agent: 'ops', host: '192.0.2.7', port: 7, key: '/k/gate.key' },
  })
  t.match(resolveTarget('gate:x', parsed.hosts), { ok: false, problem: /the port is not a number/ })
  t.match(resolveTarget('pum/p', parsed.hosts), { ok: false, hint: 'did you mean pump?' })
  t.match(resolveTarget('bad name@pump', parsed.hosts), { ok: false })
})

t.test('hosts.json is refused for unknown keys, bad names and targets that are none', async (t) => {
  for (const value of [
    [],
    null,
    'x',
    { 'a b': 'h' },
    { a: 1 },
    { a: { key: 'k' } },
    { a: { target: 'h', port: 1 } },
    { a: 'h:0' },
    { a: { target: 'h', metered: 'yes' } },
  ]) {
    t.equal(parseHosts(value).ok, false, JSON.stringify(value))
  }
  t.equal(parseHosts(JSON.parse('{"__proto__": "h"}')).ok, false)
  t.equal(parseHosts({ a: { target: 'h', key: '' } }).ok, false)
  t.same(parseHosts({}), { ok: true, hosts: {} })
})

t.test('never throws, and what it accepts has a port in range', async (t) => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const result = parseTarget(text)
      if (result.ok) t.ok(result.target.port >= 1 && result.target.port <= 65_535)
    }),
    { numRuns: 300 },
  )
})
