/**
 * The verbs of `sass-edge intent` about envelopes on their way: dropped as files, handed in, listed, taken, judged again.
 * Rules: docs/intent.md.
 * @module
 */
import type { VerbGroup } from './verbs.ts'

export const MAILING: VerbGroup = {
  verbs: {
    send: {
      usage: ['intent send FILE [--directory DIR]'],
      words: [1, 1],
      run: async (context, word) => (await import('./inbox.node.ts')).send(context, word),
    },
    submit: {
      usage: ['intent submit FILE'],
      words: [1, 1],
      run: async (context, word) => (await import('./inbox.node.ts')).submit(context, word),
    },
    inbox: {
      usage: ['intent inbox [take ID | quarantine | release NAME | discard NAME] [--all | --show-key]'],
      words: [0, 2],
      run: async (context, word, more) => (await import('./inbox.node.ts')).inbox(context, word, more),
    },
  },
  options: [
    {
      name: 'directory',
      value: 'DIR',
      description: 'send: in place of the inboxes of this device, like that of a stick',
    },
    { name: 'all', description: 'inbox: as the operator, what waits for anybody; take what is the device’s' },
    { name: 'show-key', description: 'inbox: the name and the public key of the device as a sender' },
  ],
  examples: [
    { line: 'sass-edge intent submit work.satl.json', does: 'hands it in, and says whether it was accepted' },
    { line: 'sass-edge intent inbox quarantine', does: 'what was refused, and why' },
  ],
}
