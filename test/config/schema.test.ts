import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { parseConfig } from '../../src/config/config.ts'
import { configSchema } from '../../src/config/schema.ts'

type Schema = { readonly [key: string]: unknown }

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value
}

/** The keywords that the schema uses, as JSON Schema 2020-12 defines them; an unknown keyword fails the test. */
function complaints(schema: Schema, value: unknown, path = ''): string[] {
  const found: string[] = []
  const say = (text: string) => found.push(`${path} ${text}`)
  const members = typeOf(value) === 'object' ? Object.entries(value as Schema) : []
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>
  for (const [keyword, rule] of Object.entries(schema)) {
    switch (keyword) {
      case '$schema':
      case 'title':
      case 'description':
      case 'default':
        break
      case 'type':
        if (![rule].flat().includes(typeOf(value))) say(`is no ${String(rule)}`)
        break
      case 'enum':
        if (!(rule as unknown[]).includes(value)) say('is not in the enum')
        break
      case 'required':
        for (const key of rule as string[]) if (!members.some(([name]) => name === key)) say(`lacks ${key}`)
        break
      case 'anyOf':
        if ((rule as Schema[]).every((one) => complaints(one, value, path).length > 0)) say('is none of them')
        break
      case 'properties':
        for (const [key, inner] of members) {
          const property = properties[key]
          if (property !== undefined) found.push(...complaints(property, inner, `${path}.${key}`))
        }
        break
      case 'additionalProperties':
        for (const [key, inner] of members) {
          if (Object.hasOwn(properties, key)) continue
          if (rule === false) say(`has the unknown key ${key}`)
          else found.push(...complaints(rule as Schema, inner, `${path}.${key}`))
        }
        break
      case 'propertyNames':
        for (const [key] of members) found.push(...complaints(rule as Schema, key, `${path}.${key}`))
        break
      case 'maxProperties':
        if (members.length > (rule as number)) say('has too many keys')
        break
      case 'items':
        if (Array.isArray(value))
          for (const item of value) found.push(...complaints(rule as Schema, item, `${path}[]`))
        break
      case 'maxItems':
        if (Array.isArray(value) && value.length > (rule as number)) say('is too long')
        break
      case 'minLength':
        if (typeof value === 'string' && value.length < (rule as number)) say('is too short')
        break
      case 'maxLength':
        if (typeof value === 'string' && value.length > (rule as number)) say('is too long')
        break
      case 'pattern':
        if (typeof value === 'string' && !new RegExp(rule as string, 'u').test(value)) say('does not match')
        break
      case 'minimum':
        if (typeof value === 'number' && value < (rule as number)) say('is too small')
        break
      case 'maximum':
        if (typeof value === 'number' && value > (rule as number)) say('is too large')
        break
      default:
        say(`meets the unknown keyword ${keyword}`)
    }
  }
  return found
}

const otherKey = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x
const key = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x

t.test('what the parser takes, the schema takes', async (t) => {
  const values = [
    {},
    { $schema: './x.json', listen: { address: '::1', port: 0 } },
    { agents: [{ name: 'a', public_key: key }], acl: { allow: [] } },
    {
      agents: [{ name: 'a', public_key: key, role: 'operator', capability: 'build' }],
      capabilities: {
        build: { allowed_commands: ['git status', '*'], allowed_env: ['LC_*', '*'], timeout_seconds: null },
      },
      acl: { allow: ['*', '10.0.0.0/8', '::ffff:10.0.0.0/104'] },
      tls: { client_ca: 'ca.pem', groups: 'metered' },
    },
    {
      agents: [
        { name: 'a', public_key: key, tier: 'T5', tools: ['*'], delegated_by: null },
        { name: 'b', public_key: otherKey, tier: 'T1', tools: ['Read'], delegated_by: 'a' },
      ],
      security: {
        blocked_commands: ['rm -rf'],
        executables: [{ path: '/usr/bin/id', sha256: 'ab'.repeat(32) }],
        reachable_addresses: ['10.0.0.0/8'],
      },
      policy: { rules_file: null, disabled_rules: ['disk.overwrite'] },
    },
  ]
  for (const value of values) {
    t.equal(parseConfig(value, { configDirectory: '/' }).ok, true)
    t.same(complaints(configSchema(), value), [])
  }
})

t.test('what an editor can see, the schema refuses as the parser does', async (t) => {
  const values = [
    { listne: {} },
    { listen: { port: 65_536 } },
    { listen: { port: '1' } },
    { agents: [{ name: 'a' }] },
    { agents: [{ name: 'a b', public_key: key }] },
    { log: { level: 'loud' } },
    { capabilities: { 'a b': {} } },
    { state_directory: '' },
    { acl: { allow: 'x' } },
    { agents: [{ name: 'a', public_key: key, tier: 'T0' }] },
    { security: { executables: [{ sha256: 'ab'.repeat(32) }] } },
    { security: { executables: [{ path: '/a', sha256: 'AB'.repeat(32) }] } },
    { policy: { disabled_rules: ['NOT A RULE'] } },
  ]
  for (const value of values) {
    t.equal(parseConfig(value, { configDirectory: '/' }).ok, false, JSON.stringify(value))
    t.not(complaints(configSchema(), value).length, 0, JSON.stringify(value))
  }
})
