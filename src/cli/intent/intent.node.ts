/**
 * `sass-edge intent VERB`: work that arrives signed instead of live. The verbs are tables, one a subject; what each does
 * is loaded when it is wanted.
 * Rules: docs/intent.md, docs/plans.md.
 * @module
 */
import { misuse } from '../../errors.ts'
import { takeWords } from '../common/local-config.node.ts'
import { OPERATOR_OPTIONS } from '../common/operator.node.ts'
import type { Command, CommandContext } from '../words/command.ts'

type Verb = {
  readonly usage: string
  /** At least and at most. */
  readonly words: readonly [number, number]
  run(context: CommandContext, word: string, more?: string): Promise<number> | number
}

const VERBS: Readonly<Record<string, Verb>> = {
  pack: {
    usage: 'intent pack --agent NAME --key FILE --to NAME --template ID@VERSION --vault DIR --payload FILE',
    words: [0, 0],
    run: async (context) => (await import('./pack.node.ts')).pack(context),
  },
  vault: {
    usage: 'intent vault DIR --dispatcher FILE.pub [--identity]',
    words: [1, 1],
    run: async (context, word) => (await import('./publish.node.ts')).makeVault(context, word),
  },
  digest: {
    usage: 'intent digest FILE',
    words: [1, 1],
    run: async (context, word) => (await import('./publish.node.ts')).showDigest(context, word),
  },
  publish: {
    usage: 'intent publish FILE --vault DIR --dispatcher FILE [--recipient AGE]',
    words: [1, 1],
    run: async (context, word) => (await import('./publish.node.ts')).publish(context, word),
  },
  rotate: {
    usage: 'intent rotate --vault DIR --dispatcher FILE --next FILE.pub',
    words: [0, 0],
    run: async (context) => (await import('./publish.node.ts')).rotate(context),
  },
  send: {
    usage: 'intent send FILE [--directory DIR]',
    words: [1, 1],
    run: async (context, word) => (await import('./inbox.node.ts')).send(context, word),
  },
  submit: {
    usage: 'intent submit FILE',
    words: [1, 1],
    run: async (context, word) => (await import('./inbox.node.ts')).submit(context, word),
  },
  inbox: {
    usage: 'intent inbox [take ID | quarantine | release NAME | discard NAME] [--all | --show-key]',
    words: [0, 2],
    run: async (context, word, more) => (await import('./inbox.node.ts')).inbox(context, word, more),
  },
  plan: {
    usage: 'intent plan FILE --agent NAME --key FILE [--expires SECONDS] [--out FILE]',
    words: [1, 1],
    run: async (context, word) => (await import('./sign-plan.node.ts')).signPlanFile(context, word),
  },
  run: {
    usage: 'intent run FILE|SESSION_ID',
    words: [1, 1],
    run: async (context, word) => (await import('./run-plan.node.ts')).runPlan(context, word),
  },
  status: {
    usage: 'intent status PLAN_ID|SESSION_ID',
    words: [1, 1],
    run: async (context, word) => (await import('./run-plan.node.ts')).planStatus(context, word),
  },
  tools: {
    usage: 'intent tools',
    words: [0, 0],
    run: async (context) => (await import('./run-plan.node.ts')).listTools(context),
  },
}

export const command: Command = {
  usage: Object.values(VERBS).map(({ usage }) => usage),
  options: {
    '--to NAME': 'pack: for whom it is, an agent of the device or the device itself',
    '--template ID@VERSION|FILE': 'pack: what it asks for; without --vault the file of a manifest',
    '--capability-set ID@VERSION': 'pack: that of the template, where the vault cannot be opened here',
    '--payload FILE': 'pack: one JSON object; - for stdin',
    '--say TEXT': 'pack: a text for people, signed and read by no decision',
    '--vault DIR': 'the directory of a vault',
    '--dispatcher FILE': 'the key of whoever publishes: private, but for vault',
    '--identity': 'vault: make its age identity too, for a vault that stays on this machine',
    '--recipient AGE...':
      'publish: who can open it (age1…), once for each; needed for a vault made without --identity',
    '--sha256 HEX': 'publish: the SHA-256 that was reviewed, in place of typing it',
    '--next FILE': 'rotate: the public key that follows',
    '--directory DIR': 'send: in place of the inboxes of this device, like that of a stick',
    '--all': 'inbox: as the operator, what waits for anybody; take what is the device’s',
    '--show-key': 'inbox: the name and the public key of the device as a sender',
    '--expires SECONDS': 'plan: how long it may be run from now on; a day if absent',
    '--session ID': 'pack: the session it belongs to, unchanged from envelope to envelope; else a new one',
    '--out PATH': 'pack, plan: where the file goes; - for stdout',
    ...OPERATOR_OPTIONS,
  },
  examples: {
    'sass-edge intent vault vault --dispatcher dispatcher.pub --identity':
      'makes an empty vault, and prints the pin of its key and the recipient of its identity',
    'sass-edge intent publish blog.json --vault vault --dispatcher dispatcher.key':
      'asks for the SHA-256 of the template, signs and seals it',
    'sass-edge intent pack --agent ci --key ci.key --to device --template blog@1 --vault vault --payload article.json':
      'writes a signed envelope into this directory',
    'sass-edge intent submit work.satl.json': 'hands it in, and says whether it was accepted',
    'sass-edge intent inbox quarantine': 'what was refused, and why',
    'sass-edge intent plan calls.json --agent over_agent --key over_agent.key --out work.plan.json':
      'signs the calls of calls.json',
    'sass-edge intent run work.plan.json': 'runs them on the device, once',
    'sass-edge intent tools': 'the tools that plans may call there',
  },
  async run(context) {
    const [name = '', ...words] = takeWords(context, 3)
    const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined
    if (verb === undefined)
      throw misuse(`intent can ${Object.keys(VERBS).join(', ')}: see sass-edge intent --help.`)
    const {
      words: [least, most],
      usage,
    } = verb
    const missing = words.length < least ? usage.split(' ')[2 + words.length] : undefined
    if (missing !== undefined) throw misuse(`No ${missing} is given: write sass-edge ${usage}.`)
    takeWords(context, 1 + most)
    return verb.run(context, words[0] ?? '', words[1])
  },
}
