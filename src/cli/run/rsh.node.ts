/**
 * `sass-edge rsh [OPTIONS] HOST COMMAND`: what programs call that know ssh and nothing else, such as `rsync -e`,
 * GIT_SSH_COMMAND and Ansible. The command is given to a shell on the device, as ssh does, and is decided on there
 * like any other.
 * @module
 */
import { isatty } from 'node:tty'
import { misuse } from '../../errors.ts'
import { reconnecting } from '../common/device.node.ts'
import { hasNoInput } from '../common/stdio.node.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { connectRunning } from './connect-running.node.ts'
import { terminalOf } from './exec.node.ts'
import { createRemoteSession } from './remote-session.node.ts'
import { type RemoteCommand, readRshWords } from './rsh-words.ts'

/** The host that means the daemon of the nearest configuration, as the other commands without a TARGET do. */
const LOCAL = 'local'

/** The options of the other commands that say the same. */
function asOptions(context: CommandContext, { keyFile, compress }: RemoteCommand): CommandContext {
  const options = new Map<string, readonly string[]>()
  if (keyFile !== undefined) options.set('key', [keyFile])
  if (compress) options.set('compress', [])
  return { ...context, arguments: { options, positionals: [], rest: undefined } }
}

export const command: Command = {
  usage: ['rsh [-l AGENT] [-p PORT] [-i KEYFILE] [-C] [-n] [-t] [AGENT@]HOST COMMAND'],
  options: {},
  examples: {
    "rsync -a -e 'sass-edge rsh' src/ edge7:src/": 'copies a tree into the workspace of edge7',
    "GIT_SSH_COMMAND='sass-edge rsh' git clone edge7:repo":
      'clones a repository that is in the workspace there',
    'sass-edge rsh local uname -a': 'on the daemon of the nearest .sass-edge',
  },
  async run(given) {
    const read = readRshWords(given.arguments.rest ?? [])
    if (!read.ok) throw misuse(`sass-edge rsh: ${read.problem}: ${read.hint}.`)
    const { command: asked } = read
    const target = asked.target === LOCAL ? undefined : asked.target
    const context = asOptions(given, asked)
    const hasTerminal = asked.terminal === 'forced' || (asked.terminal === 'asked' && isatty(0))
    const session = createRemoteSession(context, target)
    const stdin = asked.stdin && (hasTerminal || !hasNoInput())
    const { output, onWaiting, onGap, onLink } = session
    const terminal = hasTerminal ? terminalOf(context) : undefined
    const options = { output, onWaiting, onGap, stdin, terminal }
    const first = { command: 'sh', args: ['-c', asked.text], options }
    const more = { ...reconnecting(context), onLink }
    const { client, execution } = await connectRunning(context, target, first, more)
    return session.follow(execution, { client, stdin, isTerminal: hasTerminal && isatty(0) })
  },
}
