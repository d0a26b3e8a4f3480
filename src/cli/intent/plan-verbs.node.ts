/**
 * The verbs of `sass-edge intent` about plans: signed here, run on a device.
 * Rules: docs/plans.md.
 * @module
 */
import type { VerbGroup } from './verbs.ts'

export const PLANNING: VerbGroup = {
  verbs: {
    plan: {
      usage: ['intent plan FILE --agent NAME --key FILE [--expires SECONDS] [--out FILE]'],
      words: [1, 1],
      run: async (context, word) => (await import('./sign-plan.node.ts')).signPlanFile(context, word),
    },
    run: {
      usage: ['intent run FILE|SESSION_ID'],
      words: [1, 1],
      run: async (context, word) => (await import('./run-plan.node.ts')).runPlan(context, word),
    },
    status: {
      usage: ['intent status PLAN_ID|SESSION_ID'],
      words: [1, 1],
      run: async (context, word) => (await import('./run-plan.node.ts')).planStatus(context, word),
    },
    tools: {
      usage: ['intent tools'],
      words: [0, 0],
      run: async (context) => (await import('./run-plan.node.ts')).listTools(context),
    },
  },
  options: [
    {
      name: 'expires',
      value: 'SECONDS',
      description: 'plan: how long it may be run from now on; a day if absent',
    },
  ],
  examples: [
    {
      line: 'sass-edge intent plan calls.json --agent over_agent --key over_agent.key --out work.plan.json',
      does: 'signs the calls of calls.json',
    },
    { line: 'sass-edge intent run work.plan.json', does: 'runs them on the device, once' },
    { line: 'sass-edge intent tools', does: 'the tools that plans may call there' },
  ],
}
