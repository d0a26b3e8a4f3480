/**
 * Who may authenticate: the list, and the proof that binds a key, a name, a nonce and this connection.
 * @module
 */
import t from 'tap'
import { publicKeyOf, signWith, verifyWith } from '../../../src/base/crypto/ed25519.node.ts'
import { checkProof, createIdentities } from '../../../src/session/callers/identities.ts'
import { authSigningInput } from '../../../src/wire/auth-input.ts'
import type { AuthRequest } from '../../../src/wire/messages.ts'
import { BINDING, seedOf } from '../stage.ts'

const text = (seed: number) => Buffer.from(publicKeyOf(seedOf(seed))).toString('base64url')
const RIGHTS = { tier: 'T3', tools: ['*'], delegated_by: null } as const
const identities = createIdentities([
  { name: 'bot', public_key: text(1), role: 'agent', capability: 'small', ...RIGHTS },
  { name: 'boss', public_key: text(3), role: 'operator', capability: 'large', ...RIGHTS },
])
const NONCE = new Uint8Array(16).fill(9)

function request(change: Partial<AuthRequest> & { seed?: number; signed?: Uint8Array } = {}): AuthRequest {
  const { seed = 1, signed, ...rest } = change
  const agent_name = rest.agent_name ?? 'bot'
  const input = signed ?? authSigningInput(agent_name, NONCE, BINDING)
  return {
    agent_name,
    public_key: publicKeyOf(seedOf(seed)),
    signature: signWith(seedOf(seed), input),
    nonce: NONCE,
    ...rest,
  } as AuthRequest
}

const check = (asked: AuthRequest, binding: Uint8Array | undefined = BINDING) =>
  checkProof(asked, identities, binding, verifyWith)

t.test('the right key under its name is let in, with name, role and set from the list', (t) => {
  t.match(check(request()), { ok: true, caller: { name: 'bot', role: 'agent', capability: 'small' } })
  t.match(check(request({ agent_name: 'boss', seed: 3 })), {
    ok: true,
    caller: { role: 'operator', capability: 'large' },
  })
  t.end()
})

t.test(
  'a name that is not listed, a key that is not listed, and a key under another name are refused alike',
  (t) => {
    const unlisted = [
      request({ agent_name: 'nobody' }),
      request({ seed: 9 }),
      request({ agent_name: 'boss', seed: 1 }),
      request({ agent_name: 'bot', seed: 3 }),
      request({ public_key: new Uint8Array(0) }),
      request({ public_key: publicKeyOf(seedOf(1)).subarray(0, 31) }),
    ]
    for (const asked of unlisted) t.match(check(asked), { ok: false, code: 'AUTH_KEY_NOT_FOUND' })
    for (const name of ['__proto__', 'toString', 'constructor'])
      t.match(check(request({ agent_name: name })), { ok: false, code: 'AUTH_KEY_NOT_FOUND' })
    t.end()
  },
)

t.test('a signature holds for one name, one nonce and one connection', (t) => {
  const other = new Uint8Array(BINDING).fill(8)
  const nonce = new Uint8Array(16).fill(1)
  const wrong: [string, AuthRequest][] = [
    ['of another connection', request({ signed: authSigningInput('bot', NONCE, other) })],
    ['of another nonce', request({ signed: authSigningInput('bot', nonce, BINDING) })],
    ['of another name', request({ signed: authSigningInput('boss', NONCE, BINDING) })],
    ['of the bare nonce', request({ signed: NONCE })],
    ['all zero', request({ signature: new Uint8Array(64) })],
    ['empty', request({ signature: new Uint8Array(0) })],
    ['a byte short', request({ signature: request().signature.subarray(0, 63) })],
    ['by another key', request({ public_key: publicKeyOf(seedOf(1)), seed: 2 })],
  ]
  for (const [which, asked] of wrong)
    t.match(check(asked), { ok: false, code: 'AUTH_SIGNATURE_INVALID' }, which)
  for (let bit = 0; bit < 512; bit += 37) {
    const { signature } = request()
    signature[bit >> 3] = (signature[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    t.match(check(request({ signature })), { ok: false, code: 'AUTH_SIGNATURE_INVALID' }, `bit ${bit}`)
  }
  t.match(check(request(), other), { ok: false, code: 'AUTH_SIGNATURE_INVALID' }, 'replayed elsewhere')
  t.end()
})

t.test('without a channel binding nobody is let in', (t) => {
  t.match(checkProof(request(), identities, undefined, verifyWith), { ok: false, code: 'AUTH_INVALID' })
  t.end()
})

t.test(
  'where clients show certificates, the name in it is the only one that the key may be used with',
  (t) => {
    const shown = (name: string, asked = request()) =>
      checkProof(asked, identities, BINDING, verifyWith, name)
    t.match(shown('bot'), { ok: true, caller: { name: 'bot' } })
    for (const name of ['boss', 'Bot', 'bot ', ''])
      t.match(shown(name), { ok: false, code: 'TLS_CLIENT_CERT_INVALID' }, JSON.stringify(name))
    t.match(shown('boss', request({ agent_name: 'boss', seed: 1 })), {
      ok: false,
      code: 'AUTH_KEY_NOT_FOUND',
    })
    t.notMatch(JSON.stringify(shown('evil')), /evil/, 'the reason does not repeat what a peer sent')
    t.end()
  },
)

t.test('reasons name the agent of the list, never what the peer sent', (t) => {
  const evil = 'x\u001b[2Jevil'
  const proof = check(request({ agent_name: evil }))
  t.notOk(proof.ok)
  t.notMatch(JSON.stringify(proof), /evil|u001b/)
  t.end()
})
