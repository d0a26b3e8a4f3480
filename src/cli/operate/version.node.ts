/**
 * `sass-edge version`: the program, its protocol, and what it runs on.
 * @module
 */

import { programVersion } from '../../edge/host/version.node.ts'
import { ALPN_PROTOCOL } from '../../limits.ts'
import { takeWords } from '../common/local-config.node.ts'
import type { Command } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'
import { SUMMARIES } from '../words/summaries.ts'

export const command: Command = {
  name: 'version',
  summary: SUMMARIES.version,
  usage: ['version'],
  options: [],
  examples: [{ line: 'sass-edge version --json', does: 'the same for a script' }],
  async run(context) {
    takeWords(context, 0)
    const value = {
      version: programVersion(),
      protocol: ALPN_PROTOCOL,
      node: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    }
    context.output.result(value, [
      `sass-edge ${value.version} (${value.protocol}, node ${value.node}, ${value.platform})`,
    ])
    return EXIT.OK
  },
}
