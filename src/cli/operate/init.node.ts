/**
 * `sass-edge init [DIR]`: an installation in one directory, with the key that the device shows, a line to paste on a first
 * client, and what to do next.
 * @module
 */
import { join, resolve } from 'node:path'
import { shellWord } from '../../base/text/shell-word.ts'
import { DEFAULT_CAPABILITY } from '../../config/caller-fields.ts'
import type { Config } from '../../config/config.ts'
import { TEXT_FORMATS } from '../../config/formats.ts'
import { createClock, createRandom } from '../../edge/host/clock.node.ts'
import { LOCAL_DIRECTORY, loadConfig } from '../../edge/setup/config-file.node.ts'
import { makeInstallation } from '../../edge/setup/setup.node.ts'
import { ensureCertificate } from '../../edge/sockets/certificate.node.ts'
import { openEnrolments } from '../../edge/state/identity-book.node.ts'
import { misuse } from '../../errors.ts'
import { INVITATION_SECONDS } from '../../limits.ts'
import { linesOfReadToo, takeWords } from '../common/local-config.node.ts'
import { utcTime } from '../common/operator.node.ts'
import { emphasis } from '../common/output.node.ts'
import { lineFor, reachedHere } from '../devices/agent-invite.node.ts'
import { optionValue, wholeNumber } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'

/** A line for a client of this machine, which is all that an installation lets in at first. */
function firstInvitation(
  context: CommandContext,
  config: Config,
): { readonly line: string; readonly agent: string; readonly expires_at: number } | undefined {
  const taken = config.agents.map(({ name }) => name)
  const agent = ['client', 'client-2', 'client-3'].find((name) => !taken.includes(name)) ?? 'client-4'
  const enrolments = openEnrolments(config.state_directory, createClock(), createRandom())
  const rights = { name: agent, role: 'agent', capability: DEFAULT_CAPABILITY } as const
  const invitation = enrolments.invite(rights, INVITATION_SECONDS)
  if (invitation === undefined) return undefined
  const { token, expiresAt } = invitation
  return {
    line: lineFor(reachedHere(context, config), { agent, token, expiresAt }),
    agent,
    expires_at: expiresAt,
  }
}

export const command: Command = {
  usage: ['init [DIR]'],
  options: {
    '--agent NAME': 'the name of the first agent (agent)',
    '--strict': 'with founding rules: new agents only read, and three breaches contain at once',
    '--port PORT': 'the TCP port, 0 for any free one (19284)',
    '--egress HOSTS': "what commands may reach, joined by commas; '*' for everything (public registries)",
  },
  examples: {
    'sass-edge init': 'an installation in ./.sass-edge, which every command here finds by itself',
    'sass-edge init /srv/edge': 'one in a directory of its own',
  },
  async run(context) {
    const directory = resolve(context.cwd, takeWords(context, 1)[0] ?? LOCAL_DIRECTORY)
    const { options } = context.arguments
    const portText = optionValue(options, 'port')
    const port = portText === undefined ? undefined : wholeNumber(portText, 0, 65_535)
    if (portText !== undefined && port === undefined) {
      throw misuse('--port is not a number from 0 to 65535: write a port, or 0 for any free one.')
    }
    const egress = optionValue(options, 'egress')?.split(',')
    for (const host of egress ?? []) {
      const fault = TEXT_FORMATS.egress.check(host)
      if (fault !== undefined)
        throw misuse(`--egress: ${JSON.stringify(host)} ${fault.problem}: ${fault.hint}.`)
    }
    const agentName = optionValue(options, 'agent')
    const made = makeInstallation(directory, {
      environment: context.environment,
      ...(agentName === undefined ? {} : { agentName }),
      ...(port === undefined ? {} : { port }),
      ...(egress === undefined ? {} : { egress }),
      isStrict: options.has('strict'),
    })
    const { config } = loadConfig(made.configPath)
    const { fingerprint } = await ensureCertificate(config.tls.key, config.tls.certificate, {
      commonName: 'sass-edge',
    })
    const enrolment = port === 0 ? undefined : firstInvitation(context, config)
    const found =
      directory === join(context.cwd, LOCAL_DIRECTORY) ? '' : ` --config ${shellWord(made.configPath)}`
    return context.output.result(
      {
        directory: made.directory,
        config: made.configPath,
        workspace: made.workspaceRoot,
        read_too: [...made.readToo],
        agent: { name: made.agent.name, key_file: made.agent.keyPath, public_key: made.agent.publicKey },
        operator: {
          name: made.operator.name,
          key_file: made.operator.keyPath,
          public_key: made.operator.publicKey,
        },
        fingerprint,
        enrolment: enrolment ?? null,
      },
      [
        `Made an installation in ${emphasis(context.output, made.directory)}, reachable from this machine only.`,
        `  configuration  ${made.configPath}`,
        `  agent          ${made.agent.name}, key ${made.agent.keyPath}`,
        `  operator       ${made.operator.name}, key ${made.operator.keyPath}`,
        `  workspace      ${made.workspaceRoot}`,
        `  fingerprint    ${fingerprint}`,
        ...linesOfReadToo(made.readToo),
        ...(enrolment === undefined
          ? []
          : [
              `For a client, once, until ${utcTime(enrolment.expires_at)} (later ones: sass-edge agent invite NAME):`,
              `  sass-edge enroll ${enrolment.line}`,
            ]),
        'Next:',
        `  sass-edge check${found}`,
        `  sass-edge run${found}`,
      ],
    )
  },
}
