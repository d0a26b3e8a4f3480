/**
 * `sass-edge init [DIR]`: an installation in one directory, and what to do next.
 * @module
 */
import { join, resolve } from 'node:path'
import { LOCAL_DIRECTORY } from '../edge/config-file.node.ts'
import { makeInstallation } from '../edge/setup.node.ts'
import { SassError } from '../errors.ts'
import { optionValue, wholeNumber } from './arguments.ts'
import type { Command } from './command.ts'
import { EXIT } from './exit-codes.ts'
import { takeWords } from './local-config.node.ts'
import { emphasis } from './output.node.ts'
import { SUMMARIES } from './summaries.ts'

export const command: Command = {
  name: 'init',
  summary: SUMMARIES.init,
  usage: ['init [DIR]'],
  options: [
    { name: 'agent', value: 'NAME', description: 'the name of the first agent (agent)' },
    { name: 'port', value: 'PORT', description: 'the TCP port, 0 for any free one (19284)' },
  ],
  examples: [
    {
      line: 'sass-edge init',
      does: 'an installation in ./.sass-edge, which every command here finds by itself',
    },
    { line: 'sass-edge init /srv/edge', does: 'one in a directory of its own' },
  ],
  async run(context) {
    const directory = resolve(context.cwd, takeWords(context, 1)[0] ?? LOCAL_DIRECTORY)
    const { options } = context.arguments
    const portText = optionValue(options, 'port')
    const port = portText === undefined ? undefined : wholeNumber(portText, 0, 65_535)
    if (portText !== undefined && port === undefined) {
      throw new SassError(
        'USAGE',
        '--port is not a number from 0 to 65535: write a port, or 0 for any free one.',
      )
    }
    const agentName = optionValue(options, 'agent')
    const made = makeInstallation(directory, {
      environment: context.environment,
      ...(agentName === undefined ? {} : { agentName }),
      ...(port === undefined ? {} : { port }),
    })
    const found = directory === join(context.cwd, LOCAL_DIRECTORY) ? '' : ` --config ${made.configPath}`
    context.output.result(
      {
        directory: made.directory,
        config: made.configPath,
        workspace: made.workspaceRoot,
        agent: { name: made.agent.name, key_file: made.agent.keyPath, public_key: made.agent.publicKey },
        operator: {
          name: made.operator.name,
          key_file: made.operator.keyPath,
          public_key: made.operator.publicKey,
        },
      },
      [
        `Made an installation in ${emphasis(context.output, made.directory)}, reachable from this machine only.`,
        `  configuration  ${made.configPath}`,
        `  agent          ${made.agent.name}, key ${made.agent.keyPath}`,
        `  operator       ${made.operator.name}, key ${made.operator.keyPath}`,
        `  workspace      ${made.workspaceRoot}`,
        'Next:',
        `  sass-edge check${found}`,
        `  sass-edge run${found}`,
      ],
    )
    return EXIT.OK
  },
}
