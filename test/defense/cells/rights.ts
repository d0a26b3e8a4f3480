/**
 * The cells of the layers about rights: tools, delegation, capability.
 * @module
 */
import type { Facts, HandedOn } from '../../../src/defense/facts.ts'
import { executing, OPEN_SET, OPERATOR, POLICY, policyWith } from '../staged-facts.ts'
import {
  agent,
  asked,
  type Cell,
  OPEN,
  PASSED,
  questions,
  reads,
  refused,
  runs,
  SHELLS,
  violated,
} from './cell.ts'

/** A session that was begun with a token; `above`: the set of the one who has handed it on. */
function handed(change: Partial<HandedOn>, above = 'default'): Partial<Facts> {
  const what: HandedOn = {
    user: 'configuration',
    orchestrator: 'a-20260101T000000Z-00000000',
    allowed_commands: ['*'],
    allowed_paths: ['*'],
    ...change,
  }
  return agent({
    delegation: { chain: [{ name: 'a', capability: above, tools: ['*'] }], hops: 1, handed: what },
  })
}

export const RIGHTS_CELLS: readonly Cell[] = [
  {
    name: "tool_access: an agent with an operator's method",
    facts: asked({ audience: 'operator' }),
    gives: violated('CAPABILITY_DENIED', 'tool_access', 'method.operator'),
  },
  {
    name: "tool_access: an operator with an operator's method passes",
    facts: { identity: OPERATOR, ...asked({ audience: 'operator' }) },
    gives: PASSED,
  },
  {
    name: 'tool_access: more than the tier gives',
    facts: { ...runs(['touch', 'x']), ...agent({ tier: 'T1' }) },
    policy: OPEN,
    gives: violated('CAPABILITY_DENIED', 'tool_access', 'tools.T1'),
  },
  {
    name: 'tool_access: more than the list gives',
    facts: { ...runs(['touch', 'x']), ...agent({ tools: ['Read', 'Bash'] }) },
    policy: OPEN,
    gives: violated('CAPABILITY_DENIED', 'tool_access', 'tools.T5'),
  },
  {
    name: 'tool_access: an empty list gives nothing',
    facts: agent({ tools: [] }),
    gives: violated('CAPABILITY_DENIED', 'tool_access', 'tools.T5'),
  },
  {
    name: 'tool_access: a method beyond the tier',
    facts: { ...reads('FileUpload'), ...agent({ tier: 'T1' }) },
    gives: violated('CAPABILITY_DENIED', 'tool_access', 'tools.T1'),
  },
  {
    name: 'tool_access: a method within the tier passes',
    facts: { ...reads('FileDownload'), ...agent({ tier: 'T1' }) },
    gives: PASSED,
  },
  {
    name: 'tool_access: within the tier passes',
    facts: agent({ tier: 'T1', tools: ['Glob'] }),
    gives: PASSED,
  },
  {
    name: 'tool_access: what needs no tool passes without any',
    facts: { ...reads('Ping'), ...agent({ tools: [] }) },
    gives: PASSED,
  },

  ...(
    [
      [
        'two above',
        {
          chain: [
            { name: 'a', capability: 'default', tools: ['*'] },
            { name: 'b', capability: 'default', tools: ['*'] },
          ],
          hops: 2,
        },
        'depth',
      ],
      ['three hands', { chain: [{ name: 'a', capability: 'default', tools: ['*'] }], hops: 3 }, 'hops'],
      [
        'a tool that the one above has not',
        { chain: [{ name: 'a', capability: 'default', tools: ['Read'] }], hops: 1 },
        'rights',
      ],
      [
        'one above that is not there any more',
        { chain: [{ name: 'a', capability: '', tools: [] }], hops: 1 },
        'rights',
      ],
    ] as const
  ).map(
    ([name, delegation, rule]): Cell => ({
      name: `delegation: ${name}`,
      facts: agent({ delegation }),
      gives: violated('CAPABILITY_DENIED', 'delegation', `delegation.${rule}`),
    }),
  ),
  {
    name: 'delegation: a file that the one above may not write',
    facts: {
      ...reads('FileUpload'),
      ...agent({ delegation: { chain: [{ name: 'a', capability: 'default', tools: ['Read'] }], hops: 1 } }),
    },
    gives: violated('CAPABILITY_DENIED', 'delegation', 'delegation.rights'),
  },
  {
    name: 'delegation: what both may passes',
    facts: agent({ delegation: { chain: [{ name: 'a', capability: 'default', tools: ['Glob'] }], hops: 2 } }),
    gives: PASSED,
  },
  ...(['unknown', 'used', 'expired', 'not_its', 'orchestrator_gone', 'twice'] as const).map(
    (token): Cell => ({
      name: `delegation: a token that is ${token}`,
      facts: {
        ...reads('Authenticate'),
        action: { kind: 'authenticate', name: 'agent', isNew: true, token },
      },
      gives: [
        'status',
        'CAPABILITY_DENIED',
        'delegation',
        `delegation.token_${token}`,
        token === 'used' || token === 'not_its' ? 'critical' : 'warning',
        ...(token === 'not_its' ? ['violation'] : []),
      ],
    }),
  ),
  {
    name: 'delegation: handing on what was handed on, whatever the tools',
    facts: {
      ...agent({
        tier: 'T1',
        delegation: { chain: [{ name: 'a', capability: 'default', tools: ['*'] }], hops: 1 },
      }),
      action: { kind: 'delegate', worker: 'b', tools: ['*'], commands: ['*'], paths: ['*'], seconds: 60 },
    },
    gives: violated('CAPABILITY_DENIED', 'delegation', 'delegation.depth'),
  },
  {
    name: 'delegation: a command that was handed on passes',
    facts: handed({}),
    gives: PASSED,
  },
  {
    name: 'capability: a command that was not handed on',
    facts: handed({ allowed_commands: ['git status'] }),
    gives: refused('CAPABILITY_DENIED', 'capability', 'delegation.allowed_commands'),
  },
  {
    name: 'capability: nothing that was handed on',
    facts: handed({ allowed_commands: [] }),
    gives: refused('CAPABILITY_DENIED', 'capability', 'delegation.allowed_commands'),
  },
  {
    name: 'capability: a directory that was not handed on',
    facts: handed({ allowed_paths: ['/srv/other'] }),
    gives: refused('CAPABILITY_DENIED', 'capability', 'delegation.allowed_paths'),
  },
  {
    name: 'capability: work that was handed on between two users',
    policy: policyWith(
      {},
      {},
      { capabilities: { default: OPEN_SET, above: { ...OPEN_SET, run_as: 'other' } } },
    ),
    facts: handed({}, 'above'),
    gives: refused('CAPABILITY_DENIED', 'capability', 'delegation.user'),
  },
  {
    name: 'delegation: looking passes',
    facts: {
      ...reads('Ping'),
      ...agent({ delegation: { chain: [{ name: 'a', capability: '', tools: [] }], hops: 1 } }),
    },
    gives: PASSED,
  },

  {
    name: 'capability: a set that does not exist',
    policy: { ...POLICY, capabilities: {} },
    gives: violated('CAPABILITY_DENIED', 'capability', 'capability.missing'),
  },
  {
    name: 'capability: the name of something that every object inherits',
    facts: agent({ capability: 'toString' }),
    gives: violated('CAPABILITY_DENIED', 'capability', 'capability.missing'),
  },
  {
    name: 'capability: a denied command, though a pattern allows it',
    facts: runs(['git', 'push']),
    policy: policyWith({ denied_commands: ['git push'] }),
    gives: refused('CAPABILITY_CMD_DENIED', 'capability', 'default.denied_commands'),
  },
  {
    name: 'capability: an unlisted command',
    facts: runs(['rm', 'x']),
    gives: refused('CAPABILITY_CMD_DENIED', 'capability', 'default.allowed_commands'),
  },
  {
    name: 'capability: a command that security does not list',
    facts: runs(['rm', 'x']),
    policy: policyWith({}, { allowedCommands: ['ls'] }),
    gives: refused('CAPABILITY_CMD_DENIED', 'capability', 'security.allowed_commands'),
  },
  {
    name: 'capability: a command that security blocks, though it is allowed',
    facts: runs(['rm', '-r', '-f', 'x']),
    policy: policyWith({}, { blockedCommands: ['rm -rf'] }),
    gives: refused('CAPABILITY_CMD_DENIED', 'capability', 'security.blocked_commands'),
  },
  {
    name: 'capability: a command beside a blocked one passes',
    facts: runs(['rm', '-r', 'x']),
    policy: policyWith({}, { blockedCommands: ['rm -rf'] }),
    gives: PASSED,
  },
  ...questions(
    'capability: an unlisted command where humans are asked',
    'CAPABILITY_CMD_DENIED',
    'capability',
    'default.allowed_commands',
    {
      facts: runs(['touch', 'x']),
      policy: policyWith({ allowed_commands: ['ls'] }, { confirmsUnlisted: true }),
    },
  ),
  ...questions(
    'capability: a command that security does not list where humans are asked',
    'CAPABILITY_CMD_DENIED',
    'capability',
    'security.allowed_commands',
    {
      facts: runs(['touch', 'x']),
      policy: policyWith({}, { allowedCommands: ['ls'], confirmsUnlisted: true }),
    },
  ),
  {
    name: 'capability: nobody is asked about a command in a denied directory',
    facts: { action: executing(['touch', 'x'], '/usr/bin/touch', '/srv/work/secret') },
    policy: policyWith(
      { allowed_commands: ['ls'], denied_paths: ['/srv/work/secret'] },
      { confirmsUnlisted: true },
    ),
    gives: violated('CAPABILITY_PATH_DENIED', 'capability', 'default.denied_paths'),
  },
  {
    name: 'capability: nobody is asked where the one above is denied it',
    facts: {
      ...runs(['touch', 'x']),
      ...agent({ delegation: { chain: [{ name: 'a', capability: 'above', tools: ['*'] }], hops: 1 } }),
    },
    policy: policyWith(
      {},
      { confirmsUnlisted: true },
      {
        capabilities: {
          default: { ...OPEN_SET, allowed_commands: ['ls'] },
          above: { ...OPEN_SET, denied_commands: ['touch'] },
        },
      },
    ),
    gives: refused('CAPABILITY_CMD_DENIED', 'capability', 'above.denied_commands'),
  },
  {
    name: 'capability: the one above has no set',
    facts: agent({ delegation: { chain: [{ name: 'a', capability: 'gone', tools: ['*'] }], hops: 1 } }),
    gives: violated('CAPABILITY_DENIED', 'capability', 'capability.missing'),
  },
  {
    name: 'capability: no command at all',
    facts: { action: executing([], '/usr/bin/rm') },
    gives: refused('CAPABILITY_CMD_DENIED', 'capability', 'default.allowed_commands'),
  },
  {
    name: 'capability: a denied directory',
    facts: { action: executing(['ls'], '/usr/bin/ls', '/srv/work/secret/deep') },
    gives: violated('CAPABILITY_PATH_DENIED', 'capability', 'default.denied_paths'),
  },
  {
    name: 'capability: an unlisted directory',
    facts: { action: executing(['ls'], '/usr/bin/ls', '/srv/workshop') },
    gives: refused('CAPABILITY_PATH_DENIED', 'capability', 'default.allowed_paths'),
  },
  {
    name: 'capability: a denied path among the arguments',
    facts: runs(['ls', 'secret/deep']),
    gives: violated('CAPABILITY_PATH_DENIED', 'capability', 'default.denied_paths'),
  },
  {
    name: 'capability: a program that was not found is judged by its name',
    facts: { action: { ...executing(), executable: null } },
    gives: PASSED,
  },
  ...SHELLS.flatMap((shell): Cell[] => [
    {
      name: `capability: ${shell} by name`,
      facts: runs([shell, '-c', 'x']),
      policy: policyWith({}, { allowShell: false }),
      gives: refused('CAPABILITY_CMD_DENIED', 'capability', 'security.allow_shell'),
    },
    {
      name: `capability: ${shell} behind another name`,
      facts: { action: executing(['/srv/work/harmless'], `/bin/${shell}`) },
      policy: policyWith({}, { allowShell: false }),
      gives: refused('CAPABILITY_CMD_DENIED', 'capability', 'security.allow_shell'),
    },
    {
      name: `capability: ${shell} behind another program`,
      facts: runs(['env', shell, '-c', 'x']),
      policy: policyWith({}, { allowShell: false }),
      gives: refused('CAPABILITY_CMD_DENIED', 'capability', 'security.allow_shell'),
    },
    {
      name: `capability: ${shell} where shells are allowed passes`,
      facts: runs([shell]),
      policy: policyWith({}, { allowShell: true }),
      gives: ['EXECUTE', undefined, 'specifics', 'opaque.computed', 'info'],
    },
  ]),
]
