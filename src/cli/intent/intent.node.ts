/**
 * `sass-edge intent VERB`: work that arrives signed. One file a group of verbs, each loaded when it is wanted.
 * Rules: docs/intent.md.
 * @module
 */
import { SassError } from '../../errors.ts'
import { DEVICE_OPTIONS } from '../common/device.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { SUMMARIES } from '../words/summaries.ts'

/** With how many words after it (at most, where `least` says less), and what it does. */
type Verb = {
  readonly words: number
  readonly least?: number
  readonly run: (context: CommandContext, word: string, more?: string) => number | Promise<number>
}

const VERBS: Readonly<Record<string, Verb>> = {
  pack: { words: 0, run: async (context) => (await import('./pack.node.ts')).pack(context) },
  send: { words: 1, run: async (context, word) => (await import('./inbox.node.ts')).send(context, word) },
  submit: { words: 1, run: async (context, word) => (await import('./inbox.node.ts')).submit(context, word) },
  inbox: {
    words: 2,
    least: 0,
    run: async (context, word, more) => (await import('./inbox.node.ts')).inbox(context, word, more),
  },
  vault: {
    words: 1,
    run: async (context, word) => (await import('./publish.node.ts')).makeVault(context, word),
  },
  digest: {
    words: 1,
    run: async (context, word) => (await import('./publish.node.ts')).showDigest(context, word),
  },
  publish: {
    words: 1,
    run: async (context, word) => (await import('./publish.node.ts')).publish(context, word),
  },
  rotate: { words: 0, run: async (context) => (await import('./publish.node.ts')).rotate(context) },
}

export const command: Command = {
  name: 'intent',
  summary: SUMMARIES.intent,
  usage: [
    'intent pack --agent NAME --key FILE --to NAME --template ID@VERSION --vault DIR --payload FILE',
    'intent send FILE [--directory DIR]',
    'intent submit FILE',
    'intent inbox [take ID | quarantine | release NAME | discard NAME] [--all | --show-key]',
    'intent vault DIR --dispatcher FILE.pub [--identity]',
    'intent digest FILE',
    'intent publish FILE --vault DIR --dispatcher FILE [--recipient AGE]',
    'intent rotate --vault DIR --dispatcher FILE --next FILE.pub',
  ],
  options: [
    {
      name: 'agent',
      value: 'NAME',
      description: 'pack: who sends it; submit and inbox: the name to authenticate as',
    },
    {
      name: 'key',
      value: 'FILE',
      description: 'its private key, 32 raw bytes of mode 0600',
    },
    {
      name: 'to',
      value: 'NAME',
      description: 'pack: for whom it is, an agent of the device or the device itself',
    },
    {
      name: 'template',
      value: 'ID@VERSION|FILE',
      description: 'pack: what it asks for; without --vault the file of a manifest',
    },
    {
      name: 'capability-set',
      value: 'ID@VERSION',
      description: 'pack: that of the template, where the vault cannot be opened here',
    },
    { name: 'payload', value: 'FILE', description: 'pack: one JSON object; - for stdin' },
    {
      name: 'session',
      value: 'ID',
      description: 'pack: the session it belongs to, unchanged from envelope to envelope; else a new one',
    },
    { name: 'say', value: 'TEXT', description: 'pack: a text for people, signed and read by no decision' },
    {
      name: 'out',
      value: 'PATH',
      description: 'pack: where the file goes, a directory or a new file; - for stdout',
    },
    { name: 'vault', value: 'DIR', description: 'the directory of a vault' },
    {
      name: 'dispatcher',
      value: 'FILE',
      description: 'the key of whoever publishes: private, but for vault',
    },
    {
      name: 'identity',
      description: 'vault: make its age identity too, for a vault that stays on this machine',
    },
    {
      name: 'recipient',
      value: 'AGE',
      repeat: true,
      description: 'publish: who can open it (age1…), once for each; else the identity of the vault',
    },
    {
      name: 'sha256',
      value: 'HEX',
      description: 'publish: the SHA-256 that was reviewed, in place of typing it',
    },
    {
      name: 'directory',
      value: 'DIR',
      description: 'send: in place of the inboxes of this device, like that of a stick',
    },
    { name: 'all', description: 'inbox: as the operator, what waits for anybody; take what is the device’s' },
    { name: 'show-key', description: 'inbox: the name and the public key of the device as a sender' },
    { name: 'target', value: 'TARGET', description: 'the device; else that of the nearest .sass-edge' },
    ...DEVICE_OPTIONS.filter(({ name }) => name === 'delegation' || name === 'metered'),
    { name: 'next', value: 'FILE', description: 'rotate: the public key that follows' },
  ],
  examples: [
    {
      line: 'sass-edge intent vault vault --dispatcher dispatcher.pub --identity',
      does: 'makes an empty vault, and prints the pin of its key and the recipient of its identity',
    },
    {
      line: 'sass-edge intent publish blog.json --vault vault --dispatcher dispatcher.key',
      does: 'asks for the SHA-256 of the template, signs and seals it',
    },
    {
      line: 'sass-edge intent pack --agent ci --key ci.key --to device --template blog@1 --vault vault --payload article.json',
      does: 'writes a signed envelope into this directory',
    },
    { line: 'sass-edge intent submit work.satl.json', does: 'hands it in, and says whether it was accepted' },
    { line: 'sass-edge intent inbox quarantine', does: 'what was refused, and why' },
  ],
  async run(context) {
    const [name = '', word, more] = takeWords(context, 3)
    const given = [word, more].filter((one) => one !== undefined).length
    const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined
    if (verb !== undefined && given <= verb.words && given >= (verb.least ?? verb.words))
      return verb.run(context, word ?? '', more)
    throw new SassError('USAGE', `intent can ${Object.keys(VERBS).join(', ')}: see sass-edge intent --help.`)
  },
}
