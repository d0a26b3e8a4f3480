/**
 * `sass-edge intent ACTION`: work that arrives signed. One table of actions, each loaded when it is wanted.
 * Rules: docs/plans.md.
 * @module
 */
import { SassError } from '../../errors.ts'
import { DEVICE_OPTIONS } from '../common/device.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { SUMMARIES } from '../words/summaries.ts'

type Action = {
  readonly usage: readonly string[]
  /** Whether a word follows. */
  readonly takesWord: boolean
  run(context: CommandContext, word: string): Promise<number> | number
}

const ACTIONS: Readonly<Record<string, Action>> = Object.freeze({
  plan: {
    usage: ['intent plan FILE --agent NAME --key FILE [--expires SECONDS] [--out FILE]'],
    takesWord: true,
    run: async (context, word) => (await import('./sign-plan.node.ts')).signPlanFile(context, word),
  },
  run: {
    usage: ['intent run FILE|SESSION_ID'],
    takesWord: true,
    run: async (context, word) => (await import('./run-plan.node.ts')).runPlan(context, word),
  },
  status: {
    usage: ['intent status PLAN_ID', 'intent status --session SESSION_ID'],
    takesWord: true,
    run: async (context, word) => (await import('./run-plan.node.ts')).planStatus(context, word),
  },
  tools: {
    usage: ['intent tools'],
    takesWord: false,
    run: async (context) => (await import('./run-plan.node.ts')).listTools(context),
  },
})

export const command: Command = {
  name: 'intent',
  summary: SUMMARIES.intent,
  usage: Object.values(ACTIONS).flatMap(({ usage }) => usage),
  options: [
    {
      name: 'expires',
      value: 'SECONDS',
      description: 'plan: how long it may be run from now on; a day if absent',
    },
    { name: 'out', value: 'FILE', description: 'plan: where the signed plan goes; stdout if absent' },
    { name: 'session', description: 'status: the word is the session of the plan' },
    { name: 'target', value: 'TARGET', description: 'the device; else that of the nearest .sass-edge' },
    ...DEVICE_OPTIONS,
  ],
  examples: [
    {
      line: 'sass-edge intent plan calls.json --agent over_agent --key over_agent.key --out work.plan.json',
      does: 'signs the calls of calls.json',
    },
    { line: 'sass-edge intent run work.plan.json', does: 'runs them on the device, once' },
    { line: 'sass-edge intent tools', does: 'the tools that plans may call there' },
  ],
  async run(context) {
    const [name = '', word] = takeWords(context, 2)
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
    if (action === undefined || action.takesWord === (word === undefined))
      throw new SassError(
        'USAGE',
        `intent can ${Object.keys(ACTIONS).join(', ')}: see sass-edge intent --help.`,
      )
    return action.run(context, word ?? '')
  },
}
