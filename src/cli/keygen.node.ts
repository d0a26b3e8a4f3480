/**
 * `sass-edge keygen PATH`: a new pair of keys as PATH.key and PATH.pub. The private half is never printed.
 * @module
 */
import { resolve } from 'node:path'
import { encodeBase64Url } from '../base/base64.ts'
import { createKeyFiles } from '../edge/key-file.node.ts'
import { SassError } from '../errors.ts'
import type { Command } from './command.ts'
import { EXIT } from './exit-codes.ts'
import { takeWords } from './local-config.node.ts'
import { SUMMARIES } from './summaries.ts'

export const command: Command = {
  name: 'keygen',
  summary: SUMMARIES.keygen,
  usage: ['keygen PATH'],
  options: [],
  examples: [
    {
      line: 'sass-edge keygen ~/.config/sass-edge/laptop',
      does: 'make laptop.key (private, mode 0600) and laptop.pub',
    },
    { line: 'sass-edge agent add laptop --key laptop.pub', does: 'then let it in, on the device' },
  ],
  async run(context) {
    const word = takeWords(context, 1)[0]
    if (word === undefined || word === '') {
      throw new SassError('USAGE', 'No name for the keys is given: write sass-edge keygen PATH.')
    }
    const base = resolve(context.cwd, word.endsWith('.key') ? word.slice(0, -4) : word)
    const publicKey = encodeBase64Url(createKeyFiles(base).publicKey)
    context.output.result(
      { private_key_file: `${base}.key`, public_key_file: `${base}.pub`, public_key: publicKey },
      [`private key  ${base}.key (keep it here)`, `public key   ${base}.pub`, `             ${publicKey}`],
    )
    return EXIT.OK
  },
}
