/**
 * What a link that is paid by the byte changes of a configuration, and what it leaves.
 * @module
 */
import t from 'tap'
import { parseConfig } from '../../src/config/config.ts'

function parsed(value: Record<string, unknown>) {
  const result = parseConfig(value, { configDirectory: '/c' })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config
}

function told({ session, defense, tls, listen }: ReturnType<typeof parsed>) {
  return [listen.profile, session.keepalive_seconds, defense.tarpit.mode, tls.groups]
}

t.test('by default nothing', (t) => {
  t.strictSame(told(parsed({})), ['default', 60, 'drip', 'default'])
  t.strictSame(told(parsed({ listen: { profile: 'default' }, session: { keepalive_seconds: 300 } })), [
    'default',
    300,
    'drip',
    'default',
  ])
  t.end()
})

t.test('where it is paid by the byte, what has its default, written or not', (t) => {
  const listen = { profile: 'metered' }
  const wanted = ['metered', 300, 'hold', 'metered']
  const config = parsed({ listen })
  t.strictSame(told(config), wanted)
  const written = {
    session: { keepalive_seconds: 60 },
    defense: { tarpit: { mode: 'drip' } },
    tls: { groups: 'default' },
  }
  t.strictSame(told(parsed({ listen, ...written })), wanted)
  t.ok(Object.isFrozen(config.session) && Object.isFrozen(config.defense.tarpit) && Object.isFrozen(config))
  t.equal(config.defense.tarpit.chunk_bytes, parsed({}).defense.tarpit.chunk_bytes, 'the rest stays')
  t.end()
})

t.test('what somebody chose stays', (t) => {
  const config = parsed({ listen: { profile: 'metered' }, session: { keepalive_seconds: 120 } })
  t.strictSame(told(config), ['metered', 120, 'hold', 'metered'])
  t.end()
})

t.test('there are two profiles', (t) => {
  const result = parseConfig({ listen: { profile: 'meterd' } }, { configDirectory: '/c' })
  t.match(result, { ok: false, problems: [{ path: 'listen.profile', hint: 'did you mean "metered"?' }] })
  t.end()
})

/** What happens to what people may be asked about. */
const asked = (value: Record<string, unknown>) => {
  const { sensitive_files, toxic_combinations, unlisted_domains, opaque } = parsed(value).security
  return [sensitive_files, toxic_combinations, unlisted_domains, opaque]
}

t.test('how much people are asked is one word, and what somebody chose for one thing stays', (t) => {
  t.strictSame(asked({}), ['ask', 'ask', 'ask', 'ask'])
  t.strictSame(asked({ security: { questions: 'standard' } }), asked({}))
  t.strictSame(asked({ security: { questions: 'strict' } }), ['deny', 'deny', 'deny', 'deny'])
  t.strictSame(asked({ security: { questions: 'permissive' } }), ['ask', 'audit', 'ask', 'ask'])
  const chosen = { opaque: 'allow', toxic_combinations: 'deny' }
  t.strictSame(asked({ security: { questions: 'strict', ...chosen } }), ['deny', 'deny', 'deny', 'allow'])
  t.strictSame(asked({ security: { questions: 'permissive', ...chosen } }), ['ask', 'deny', 'ask', 'allow'])
  t.ok(Object.isFrozen(parsed({ security: { questions: 'strict' } }).security))
  t.end()
})

t.test('an older file lists in security.allowed_domains what the gate lets through', (t) => {
  const hosts = (value: Record<string, unknown>) => parsed(value).sandbox.egress.map(({ host }) => host)
  const shipped = hosts({})
  t.ok(shipped.includes('deb.debian.org'))
  t.strictSame(hosts({ security: { allowed_domains: ['*'] } }), shipped)
  t.strictSame(hosts({ security: { allowed_domains: ['*.example.com', '2001:db8::1'] } }), [
    '*.example.com',
    '[2001:db8::1]',
  ])
  t.strictSame(hosts({ security: { allowed_domains: [] } }), [])
  t.strictSame(
    hosts({ security: { allowed_domains: ['a.example'] }, sandbox: { egress: ['b.example'] } }),
    ['b.example'],
    'its own list holds',
  )
  t.end()
})
