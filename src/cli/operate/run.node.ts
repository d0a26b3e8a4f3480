/**
 * `sass-edge run`, and `sass-edge --config FILE`: the daemon in the foreground. Without a configuration it makes an
 * installation in ./.sass-edge, says so, and prints what to paste into a second terminal.
 * @module
 */
import { join } from 'node:path'
import { shellWord } from '../../base/text/shell-word.ts'
import { READ_PLACES } from '../../config/sandbox-fields.ts'
import { startDaemon } from '../../daemon.node.ts'
import { openLogSink } from '../../edge/host/log-sink.node.ts'
import { enterOwnNamespaces, wordOfFirst } from '../../edge/host/own-namespaces.node.ts'
import { programName } from '../../edge/host/own-program.node.ts'
import { serviceManager } from '../../edge/host/service-manager.node.ts'
import { findConfig, LOCAL_DIRECTORY, loadConfig } from '../../edge/setup/config-file.node.ts'
import { makeInstallation } from '../../edge/setup/setup.node.ts'
import { linesOfReadToo, takeWords } from '../common/local-config.node.ts'
import { emphasis } from '../common/output.node.ts'
import { optionValue } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'

/** Of a configuration that was made by this start. */
const NEW = 'new'

/** The configuration to run, made first where there is none. */
function configPath(context: CommandContext): { readonly path: string; readonly isNew: boolean } {
  const named = optionValue(context.arguments.options, 'config')
  const found = named ?? findConfig(context.cwd, context.environment)
  if (found !== undefined) return { path: found, isNew: false }
  const directory = join(context.cwd, LOCAL_DIRECTORY)
  const made = makeInstallation(directory, { workspaceRoot: context.cwd, environment: context.environment })
  return { path: made.configPath, isNew: true }
}

/** Resolves with the signal that asked the daemon to stop; a second one ends the process at once. */
function askedToStop(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.kill(process.pid, 'SIGKILL'))
        resolve(signal)
      })
    }
  })
}

export const command: Command = {
  usage: ['run [--ack-incident HASH]', '--config FILE'],
  options: {
    '--ack-incident HASH':
      'the incident that halted the daemon and was looked into: it starts as usual again',
  },
  examples: {
    'sass-edge run': 'the daemon of the nearest .sass-edge, made here where there is none',
    'sass-edge --config /etc/sass-edge/sass.edge.json': 'as a service file writes it',
  },
  async run(context) {
    takeWords(context, 0)
    const { path, isNew: isMade } = configPath(context)
    const isNew = isMade || wordOfFirst(process.env) === NEW
    const { config, path: loaded } = loadConfig(path)
    const problem = enterOwnNamespaces(config.sandbox.require, process.env, isNew ? NEW : 'known')
    const manager = serviceManager(process.env)
    const stop = askedToStop()
    let reload = () => {}
    // To read the configuration again; a terminal that goes away must not end the device's daemon.
    process.on('SIGHUP', () => reload())
    // What rotates logs sends one of these to some daemons. Left alone, the one would open a port for Node's debugger,
    // which asks nobody who he is, and the other would end the daemon.
    for (const signal of ['SIGUSR1', 'SIGUSR2'] as const)
      process.on(signal, () =>
        context.output.warn(
          `${signal} does nothing here: SIGHUP reads the configuration and opens the log anew.`,
        ),
      )
    const ackIncident = optionValue(context.arguments.options, 'ack-incident')
    const sink = openLogSink(config.log, process.env)
    const daemon = await startDaemon(config, sink, {
      configPath: loaded,
      listener: manager.listener,
      ...(ackIncident === undefined ? {} : { ackIncident }),
    })
    if (problem !== undefined) context.output.warn(problem)
    reload = () =>
      void daemon.reload().catch((error: unknown) => {
        context.output.warn(error instanceof Error ? error.message : String(error))
      })
    manager.ready(`Listens on ${daemon.address}`, daemon.adminSocket)
    const name = programName()
    const named = optionValue(context.arguments.options, 'config')
    const ofConfig = named === undefined ? '' : ` --config ${shellWord(named)}`
    const bold = (text: string) => emphasis(context.output, text)
    context.output.result(
      {
        address: daemon.address,
        admin_socket: daemon.adminSocket,
        fingerprint: daemon.fingerprint,
        config: path,
        made: isNew,
      },
      [
        ...(isNew
          ? [
              `No configuration was found, so one was made: ${path} (keys, certificate, loopback only).`,
              ...linesOfReadToo(config.sandbox.read.filter((one) => !READ_PLACES.includes(one))),
            ]
          : []),
        `sass-edge listens on ${bold(daemon.address)}, device key ${daemon.fingerprint}`,
        ...(manager.isPresent
          ? []
          : [
              '',
              'In a second terminal, in this directory:',
              `  ${bold(`${name} exec${ofConfig} -- uname -a`)}`,
              `  ${name} shell${ofConfig}`,
              `  ${name} jobs${ofConfig}`,
              '',
              '^C stops it.',
            ]),
      ],
    )
    const by = await Promise.race([stop, daemon.askedToStop])
    manager.stopping(daemon.stopSeconds)
    await daemon.stop(by)
    sink.close()
    return EXIT.OK
  },
}
