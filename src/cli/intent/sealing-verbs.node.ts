/**
 * The verbs of `sass-edge intent` that need no device: envelopes are packed, vaults made and filled.
 * Rules: docs/intent.md section 2.
 * @module
 */
import type { VerbGroup } from './verbs.ts'

export const SEALING: VerbGroup = {
  verbs: {
    pack: {
      usage: [
        'intent pack --agent NAME --key FILE --to NAME --template ID@VERSION --vault DIR --payload FILE',
      ],
      words: [0, 0],
      run: async (context) => (await import('./pack.node.ts')).pack(context),
    },
    vault: {
      usage: ['intent vault DIR --dispatcher FILE.pub [--identity]'],
      words: [1, 1],
      run: async (context, word) => (await import('./publish.node.ts')).makeVault(context, word),
    },
    digest: {
      usage: ['intent digest FILE'],
      words: [1, 1],
      run: async (context, word) => (await import('./publish.node.ts')).showDigest(context, word),
    },
    publish: {
      usage: ['intent publish FILE --vault DIR --dispatcher FILE [--recipient AGE]'],
      words: [1, 1],
      run: async (context, word) => (await import('./publish.node.ts')).publish(context, word),
    },
    rotate: {
      usage: ['intent rotate --vault DIR --dispatcher FILE --next FILE.pub'],
      words: [0, 0],
      run: async (context) => (await import('./publish.node.ts')).rotate(context),
    },
  },
  options: [
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
    { name: 'say', value: 'TEXT', description: 'pack: a text for people, signed and read by no decision' },
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
  ],
}
