/**
 * `sass-edge version`: the program, its protocol, and what it runs on.
 * @module
 */

import { programVersion } from '../../edge/host/version.node.ts'
import { ALPN_PROTOCOL } from '../../limits.ts'
import { takeWords } from '../common/local-config.node.ts'
import type { Command } from '../words/command.ts'

export const command: Command = {
  usage: ['version'],
  options: {},
  examples: {
    'sass-edge version --json': 'the same for a script',
  },
  async run(context) {
    takeWords(context, 0)
    const value = {
      version: programVersion(),
      protocol: ALPN_PROTOCOL,
      node: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    }
    return context.output.result(value, [
      `sass-edge ${value.version} (${value.protocol}, node ${value.node}, ${value.platform})`,
    ])
  },
}
