/**
 * `sass-edge check`: would the daemon start, and do what its configuration says? (Like `sshd -t`.) Every problem at
 * once; exit 0 or 125.
 * @module
 */
import type { ConfigProblem } from '../config.ts'
import { unsoundKeys } from '../config-keys.ts'
import { loadConfig, problemText } from '../edge/config-file.node.ts'
import { checkMachine, checkState, type Finding } from '../edge/preflight.node.ts'
import { checkPolicy } from '../edge/preflight-policy.node.ts'
import { asSassError } from '../errors.ts'
import { isGiven } from './arguments.ts'
import type { Command, CommandContext } from './command.ts'
import { EXIT } from './exit-codes.ts'
import { localConfigPath, takeWords } from './local-config.node.ts'
import { SUMMARIES } from './summaries.ts'

/** The problems of a file that was read and cannot be used; undefined for any other error. */
function problemsOf(error: unknown): readonly ConfigProblem[] | undefined {
  const known = asSassError(error)
  if (known?.code !== 'CONFIG_INVALID') return undefined
  // loadConfig alone makes this code, and it puts the list there.
  return known.details['problems'] as readonly ConfigProblem[]
}

function reportInvalid(context: CommandContext, path: string, problems: readonly ConfigProblem[]): number {
  const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`
  const reason = `${path} has ${count}, so the daemon would not start: correct what is listed.`
  context.output.result({ ok: false, config: path, reason, problems }, problems.map(problemText))
  context.output.warn(reason)
  return EXIT.LOCAL
}

function findingText({ check, ok, detail, remedy }: Finding): string {
  if (remedy === undefined) return `ok      ${check}: ${detail}`
  return `${ok ? 'warning' : 'FAILED '} ${check}: ${detail}; ${remedy}`
}

export const command: Command = {
  name: 'check',
  summary: SUMMARIES.check,
  usage: ['check'],
  options: [
    { name: 'no-port', description: 'the port is not tried: something holds it for the daemon' },
    {
      name: 'state',
      description:
        'nothing but whether this program may use the state that is there: before it replaces another one',
    },
  ],
  examples: [
    { line: 'sass-edge check', does: 'the nearest configuration' },
    { line: 'sass-edge check --config /etc/sass-edge/sass.edge.json --json', does: 'one for a script' },
  ],
  async run(context) {
    takeWords(context, 0)
    const path = localConfigPath(context)
    let loaded: ReturnType<typeof loadConfig>
    try {
      loaded = loadConfig(path)
      const unsound = [...unsoundKeys(loaded.config.agents).values()]
      if (unsound.length > 0) return reportInvalid(context, path, unsound)
    } catch (error) {
      const problems = problemsOf(error)
      if (problems === undefined) throw error
      return reportInvalid(context, path, problems)
    }
    const { options } = context.arguments
    const findings = isGiven(options, 'state')
      ? [checkState(loaded.config)]
      : [
          ...(await checkMachine(loaded.config, Date.now(), !isGiven(options, 'no-port'))),
          ...(await checkPolicy(loaded.config)),
        ]
    const failed = findings.filter((finding) => !finding.ok)
    const lines = findings.map(findingText)
    if (failed.length === 0) {
      context.output.result({ ok: true, config: loaded.path, findings }, lines)
      return EXIT.OK
    }
    const count = failed.length === 1 ? 'One check' : `${failed.length} checks`
    const reason = `${count} failed, so the daemon would not start with ${loaded.path} or not do what it says: do what is listed.`
    context.output.result({ ok: false, config: loaded.path, reason, findings }, lines)
    context.output.warn(reason)
    return EXIT.LOCAL
  },
}
