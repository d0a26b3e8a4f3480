/**
 * `sass-edge keygen PATH`: a new pair of keys as PATH.key and PATH.pub. The private half is never printed.
 * With --rotate another key in the place of the one that a device lists, with --device the key that the device of this
 * machine will show after the one that it shows; both in key-rotation.node.ts.
 * @module
 */
import { join, resolve } from 'node:path'
import { encodeBase64Url } from '../../base/encoding/base64.ts'
import { statOf } from '../../base/files.node.ts'
import { createKeyFiles } from '../../edge/state/key-file.node.ts'
import { misuse } from '../../errors.ts'
import { CALLER_OPTIONS } from '../common/device.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import { isGiven } from '../words/arguments.ts'
import type { Command } from '../words/command.ts'

export const command: Command = {
  usage: ['keygen PATH', 'keygen --rotate TARGET', 'keygen --device [--switch]'],
  options: {
    '--rotate': 'put a new key in the place of the one that TARGET lists',
    '--device': 'make the key that this device shows next, and announce it',
    '--switch': 'with --device: go over to that key',
    ...CALLER_OPTIONS,
  },
  examples: {
    'sass-edge keygen ~/.config/sass-edge/laptop': 'make laptop.key (private, mode 0600) and laptop.pub',
    'sass-edge agent add laptop --key laptop.pub': 'then let it in, on the device',
    'sass-edge keygen --rotate edge7': 'a new key for edge7; the old one is taken no more',
  },
  async run(context) {
    const word = takeWords(context, 1)[0]
    const { options } = context.arguments
    if (isGiven(options, 'rotate')) return (await import('./key-rotation.node.ts')).rotateKey(context, word)
    if (isGiven(options, 'device'))
      return (await import('./key-rotation.node.ts')).rotateDeviceKey(context, isGiven(options, 'switch'))
    if (word === undefined || word === '') {
      throw misuse('No name for the keys is given: write sass-edge keygen PATH.')
    }
    const base = resolve(context.cwd, word.endsWith('.key') ? word.slice(0, -4) : word)
    // The keys of a directory would lie beside it.
    if (!word.endsWith('.key') && (word.endsWith('/') || statOf(base)?.isDirectory()))
      throw misuse(
        `${word} is a directory, and no key was made: name a file in it, like ${join(word, 'laptop')}.`,
        { path: base },
      )
    const publicKey = encodeBase64Url(createKeyFiles(base).publicKey)
    return context.output.result(
      { private_key_file: `${base}.key`, public_key_file: `${base}.pub`, public_key: publicKey },
      [`private key  ${base}.key (keep it here)`, `public key   ${base}.pub`, `             ${publicKey}`],
    )
  },
}
