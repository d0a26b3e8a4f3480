/**
 * Single things: characters that nobody sees, pinned programs, the daemon's own files.
 * @module
 */
import t from 'tap'
import { adjudicate } from '../../../src/defense/adjudicator.ts'
import type { ExecuteAction, Facts } from '../../../src/defense/facts.ts'
import type { Policy } from '../../../src/defense/layer.ts'
import { executing, exposed, FACTS, LEDGER, OPERATOR, policyWith } from '../staged-facts.ts'

function outcome(
  action: ExecuteAction,
  policy: Policy = policyWith({}),
  change: Partial<Facts> = {},
): string {
  const verdict = adjudicate({ ...FACTS, action, ...change }, policy, LEDGER)
  return `${verdict.kind === 'response' ? verdict.response : verdict.kind} ${verdict.rule}`
}

const HIDDEN = [
  ...[
    '\u200b',
    '\u200c',
    '\u200d',
    '\u200e',
    '\u200f',
    '\u2028',
    '\u2029',
    '\u202a',
    '\u202e',
    '\u2060',
    '\u2066',
  ],
  ...[
    '\u2069',
    '\ufeff',
    '\u00ad',
    '\u061c',
    '\u180e',
    '\u0080',
    '\u009b',
    '\u001b',
    '\u{e0001}',
    '\u{e0041}',
  ],
  ...['\u{e0100}', '\u{e01ef}'],
]

t.test('a character that nobody sees is refused in a program and an option, and noted in text', (t) => {
  for (const hidden of HIDDEN) {
    const name = `U+${hidden.codePointAt(0)?.toString(16)}`
    t.equal(outcome(executing([`l${hidden}s`])), 'VI_SWAP argument.hidden', `${name} in the program`)
    t.equal(outcome(executing(['ls', `-l${hidden}`])), 'VI_SWAP argument.hidden', `${name} in an option`)
    t.equal(
      outcome(executing(['ls', 'x', `--a${hidden}=b`])),
      'VI_SWAP argument.hidden',
      `${name} in a later option`,
    )
    t.equal(
      outcome(executing(['git', 'commit', `--message=a${hidden}b`])),
      'EXECUTE argument.hidden',
      `${name} in a value`,
    )
    t.equal(outcome(executing(['echo', `a${hidden}b`])), 'EXECUTE argument.hidden', `${name} in text`)
    t.equal(
      outcome(executing(['echo', `a${hidden}b`, `-x${hidden}`])),
      'VI_SWAP argument.hidden',
      `${name} in text does not hide one in an option`,
    )
  }
  t.end()
})

t.test('what people write in their languages is text like any other', (t) => {
  for (const text of [
    'naïve',
    'Привет',
    '中文',
    'שלום',
    'هلا',
    'é',
    'a b',
    'tab\there',
    'line\nbreak',
    '👍',
    '💚',
    '𝒳',
    '\u00a0',
  ])
    t.equal(
      outcome(executing(['echo', text, `--x=${text}`, `-${text}`])),
      'EXECUTE all_passed',
      JSON.stringify(text),
    )
  t.equal(
    outcome(executing(['git', 'commit', '--message=👩\u200d💻'])),
    'EXECUTE argument.hidden',
    'joined emoji',
  )
  t.end()
})

const withHash = (sha256: string | null, path = '/usr/bin/ls'): ExecuteAction => ({
  ...executing(),
  executable: { path, device: '1', inode: '2', sha256 },
})

t.test('a pinned program runs with exactly the content that was pinned', (t) => {
  const pinned = policyWith({}, { pins: { '/usr/bin/ls': 'aa' } })
  t.equal(outcome(withHash('aa'), pinned), 'EXECUTE all_passed')
  t.equal(outcome(withHash('bb'), pinned), 'VI_SWAP executables.changed')
  t.equal(outcome(withHash('AA'), pinned), 'VI_SWAP executables.changed')
  t.equal(outcome(withHash(null), pinned), 'VI_SWAP executables.changed')
  t.equal(
    outcome(withHash(null, '/usr/bin/cat'), pinned),
    'EXECUTE all_passed',
    'another program is not pinned',
  )
  const only = policyWith({}, { pins: { '/usr/bin/ls': 'aa' }, pinnedOnly: true })
  t.equal(outcome(withHash('aa'), only), 'EXECUTE all_passed')
  t.equal(outcome(withHash('aa', '/usr/bin/cat'), only), 'status executables.unpinned')
  t.equal(outcome(withHash(null, '/toString'), only), 'status executables.unpinned')
  t.equal(
    outcome(withHash('aa', 'toString'), only),
    'status executables.unpinned',
    'what every object inherits',
  )
  t.equal(
    outcome(withHash('bb'), only, { identity: OPERATOR }),
    'VI_SWAP executables.changed',
    'nor for an operator',
  )
  t.end()
})

t.test(
  "no command names the daemon's own files, by whatever way, and the workspace among them is free",
  (t) => {
    const own = 'VI_SWAP protected.daemon'
    for (const line of [
      'ls /var/lib/edge/keys',
      'find /var/lib/edge -type f',
      'tar czf x.tgz /var/lib/edge',
      'grep -r key /var/lib/edge',
      'ls /var/lib/edge/*',
      'cat /var/lib/edge/audit.jsonl',
      'cat /var/lib/edge/x/../key',
      'cat /var/lib/ed*/key',
      'cat /var/l?b/edge/*',
      'cat < /var/lib/edge/key',
      'echo x > /var/lib/edge/key',
      'cd /var/lib/edge && cat key',
      'cd /var/lib; cat edge/key',
      'cp /var/lib/edge/key .',
    ])
      t.equal(outcome(executing(['sh', '-c', line])), own, line)
    for (const line of [
      'ls /var/lib',
      'ls /var/lib/edges',
      'ls /var/lib/*',
      'ls /var/lib/edge',
      'ls /var/lib/edge/workspace',
      'cat /var/lib/edge/workspace/*',
      'echo /var/lib/edge',
      'cat x',
    ])
      t.equal(outcome(executing(['sh', '-c', line])), 'EXECUTE all_passed', line)
    for (const line of [
      'cmake /var/lib/edge',
      'cat /var/lib/edge/README.md',
      'cat /var/lib/edge/lib/../keys/x',
      'cp -r src /var/lib/edge/lib',
      'make -C /var/lib/edge',
    ])
      t.equal(outcome(executing(['sh', '-c', line])), own, line)
    const link = (real: string) => ({ realPaths: [{ path: '/srv/work/link', real }] })
    t.equal(outcome(executing(['cat', 'link']), undefined, link('/var/lib/edge/key')), own)
    t.equal(
      outcome(executing(['cat', 'link']), undefined, link('/var/lib/edge/workspace/a')),
      'EXECUTE all_passed',
    )
    t.equal(
      outcome(executing(['find', '/var/lib/edge']), undefined, { identity: OPERATOR }),
      own,
      'nor an operator',
    )
    t.end()
  },
)

t.test('of several things the strictest decides, and then the first', (t) => {
  const both = exposed(executing(['python3', '.env']), 'host_network')
  t.equal(outcome(both, policyWith({}, { opaque: 'deny' })), 'status opaque.interpreter', 'a refusal first')
  t.equal(
    outcome(both, policyWith({}, { opaque: 'allow' })),
    'THROTTLE sensitive_files',
    'a question before a class',
  )
  t.equal(
    outcome(both, policyWith({}, { opaque: 'allow', sensitiveFiles: 'audit' })),
    'EXECUTE sensitive_files',
    'a note before a class',
  )
  t.end()
})
