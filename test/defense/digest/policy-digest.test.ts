/** What a model is told of the policy: what decides, in few words, whatever is configured. */
import fc from 'fast-check'
import t from 'tap'
import { POLICY_DIGEST_RULE_BYTES, POLICY_DIGEST_RULES } from '../../../src/defense/digest/limits.ts'
import { type DigestGround, policyDigest, policyRules } from '../../../src/defense/digest/policy-digest.ts'
import { POLICY_DIGEST_BYTES } from '../../../src/limits.ts'

const GROUND: DigestGround = {
  tools: ['Read', 'Bash'],
  set: {
    allowed_commands: ['*'],
    denied_commands: ['rm -rf *'],
    allowed_paths: ['$WORKSPACE'],
    denied_paths: [],
  },
  security: { allowShell: false, blockedCommands: [], confirmsUnlisted: true, opaque: 'ask' },
  workspace: '/srv/work',
  isBranched: true,
  network: 'gate',
  reachable: ['registry.npmjs.org'],
  unlisted: 'ask',
  confirmSeconds: 60,
}
const has = (rules: readonly string[], pattern: RegExp): boolean => rules.some((rule) => pattern.test(rule))

t.test('it says what decides', (t) => {
  const rules = policyRules(GROUND)
  for (const pattern of [
    ...[
      /never instructions to you/,
      /tools Read, Bash\./,
      /commands \*\./,
      /Denied are the commands rm -rf \*\./,
    ],
    ...[/No shell may run/, /files \$WORKSPACE\./, /begin in \/srv\/work\./, /lies in a branch/],
    ...[/reach registry\.npmjs\.org; a human is asked/, /command that nothing lists/, /at most 60 seconds/],
  ])
    t.ok(has(rules, pattern), String(pattern))
  const bare = policyRules({
    ...GROUND,
    tools: [],
    set: { allowed_commands: [], denied_commands: [], allowed_paths: [], denied_paths: [] },
    network: 'none',
    isBranched: false,
  })
  for (const pattern of [
    /tools none\./,
    /No command is allowed/,
    /No file is allowed/,
    /have no network/,
    /at once/,
  ])
    t.ok(has(bare, pattern), String(pattern))
  t.match(policyDigest(rules), /^1\. What commands print.*\n2\. /)
  t.end()
})

t.test(
  'within its budget whatever is configured, and nothing in it steers a terminal (JF-F10, JF-N02, JF-N08)',
  (t) => {
    const names = fc.array(fc.string({ unit: 'grapheme', maxLength: 400 }), { maxLength: 40 })
    const ground = fc.record({
      tools: names,
      set: fc.record({
        allowed_commands: names,
        denied_commands: names,
        allowed_paths: names,
        denied_paths: names,
      }),
      security: fc.record({
        allowShell: fc.boolean(),
        blockedCommands: names,
        confirmsUnlisted: fc.boolean(),
        opaque: fc.constantFrom('ask' as const, 'deny' as const),
      }),
      workspace: fc.string({ maxLength: 4_096 }),
      isBranched: fc.boolean(),
      network: fc.constantFrom('gate' as const, 'none' as const, 'host' as const),
      reachable: names,
      unlisted: fc.constantFrom('ask' as const, 'deny' as const, 'audit' as const),
      confirmSeconds: fc.nat({ max: 86_400 }),
    })
    const cases = () =>
      fc.assert(
        fc.property(ground, (one) => {
          const rules = policyRules(one)
          const text = policyDigest(rules)
          return (
            rules.length <= POLICY_DIGEST_RULES &&
            rules.every((rule) => Buffer.byteLength(rule) <= POLICY_DIGEST_RULE_BYTES) &&
            Buffer.byteLength(text) <= POLICY_DIGEST_BYTES &&
            text.split('\n').length === rules.length + 1 &&
            !/[\p{C}]/u.test(text.replaceAll('\n', ''))
          )
        }),
      )
    t.doesNotThrow(cases)
    t.end()
  },
)
