/**
 * `sass-edge intent VERB`: work that arrives signed instead of live. The verbs are tables, one a subject; what each does
 * is loaded when it is wanted.
 * Rules: docs/intent.md, docs/plans.md.
 * @module
 */
import { SassError } from '../../errors.ts'
import { DEVICE_OPTIONS } from '../common/device.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import type { Command } from '../words/command.ts'
import { SUMMARIES } from '../words/summaries.ts'
import { MAILING } from './inbox-verbs.node.ts'
import { PLANNING } from './plan-verbs.node.ts'
import { SEALING } from './sealing-verbs.node.ts'
import type { Verb } from './verbs.ts'

const GROUPS = [SEALING, MAILING, PLANNING]
const VERBS: Readonly<Record<string, Verb>> = Object.assign({}, ...GROUPS.map(({ verbs }) => verbs))

export const command: Command = {
  name: 'intent',
  summary: SUMMARIES.intent,
  usage: Object.values(VERBS).flatMap(({ usage }) => usage),
  options: [
    ...GROUPS.flatMap(({ options }) => options),
    {
      name: 'session',
      value: 'ID',
      description: 'pack: the session it belongs to, unchanged from envelope to envelope; else a new one',
    },
    { name: 'out', value: 'PATH', description: 'pack, plan: where the file goes; - for stdout' },
    { name: 'target', value: 'TARGET', description: 'the device; else that of the nearest .sass-edge' },
    ...DEVICE_OPTIONS,
  ],
  examples: GROUPS.flatMap(({ examples }) => examples),
  async run(context) {
    const [name = '', ...words] = takeWords(context, 3)
    const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined
    if (verb === undefined || words.length < verb.words[0] || words.length > verb.words[1])
      throw new SassError(
        'USAGE',
        `intent can ${Object.keys(VERBS).join(', ')}: see sass-edge intent --help.`,
      )
    return verb.run(context, words[0] ?? '', words[1])
  },
}
