/**
 * `sass-edge config show`: the configuration as it is, as it takes effect, or what applies to one caller
 * (like `sshd -T -C`).
 * @module
 */

import { createAllowList } from '../../base/allow-list.ts'
import { formatJson } from '../../base/encoding/json-text.ts'
import { parseIpAddress } from '../../base/ip-address.ts'
import { nearest } from '../../base/text/suggest.ts'
import { grantedTools } from '../../base/tool-name.ts'
import type { Config } from '../../config/config.ts'
import { withEnrolled } from '../../edge/state/identity-book.node.ts'
import { misuse } from '../../errors.ts'
import { localConfig, takeWords } from '../common/local-config.node.ts'
import { isGiven, optionValue } from '../words/arguments.ts'
import type { Command } from '../words/command.ts'

/** Which entry of acl.allow lets `from` in; null: none does. */
function admitting(config: Config, from: string): string | null {
  const address = parseIpAddress(from)
  if (address === undefined) throw misuse('--from is not an IP address: write one like 192.0.2.7.')
  return createAllowList(config.acl.allow)(address) ?? null
}

/** What holds for one caller: who it is, what bounds it, and whether its address is let in. */
function callerView(
  config: Config,
  as: string | undefined,
  from: string | undefined,
): Record<string, unknown> {
  const view: Record<string, unknown> = {}
  if (as !== undefined) {
    const agent = config.agents.find((candidate) => candidate.name === as)
    if (agent === undefined) {
      const meant = nearest(
        as,
        config.agents.map((candidate) => candidate.name),
      )
      const hint = meant === undefined ? 'sass-edge agent list shows them' : `the nearest is ${meant}`
      throw misuse(`There is no agent of this name in the configuration: ${hint}.`)
    }
    view['agent'] = agent.name
    view['role'] = agent.role
    view['capability'] = agent.capability
    view['bounds'] = config.capabilities[agent.capability]
    view['tier'] = agent.tier
    view['tools'] = grantedTools(agent.tier, agent.tools)
    const above = config.agents.find(({ name }) => name === agent.delegated_by)
    // Whoever acts for another may do only what both may.
    view['acts_for'] =
      above === undefined
        ? null
        : {
            agent: above.name,
            capability: above.capability,
            bounds: config.capabilities[above.capability],
            tools: grantedTools(above.tier, above.tools),
          }
    view['security'] = config.security
    view['session'] = config.session
    view['deny_response'] = config.defense.deny_response
  }
  if (from !== undefined) {
    const entry = admitting(config, from)
    view['from'] = from
    view['admitted'] = entry !== null
    view['admitted_by'] = entry
  }
  return view
}

export const command: Command = {
  usage: ['config show [--effective]', 'config show [--as AGENT] [--from ADDRESS]'],
  options: {
    '--effective': 'with every default and every path absolute',
    '--as AGENT': 'what applies to this agent',
    '--from ADDRESS': 'whether this address may connect',
  },
  examples: {
    'sass-edge config show --effective': 'what the daemon works with',
    'sass-edge config show --as agent --from 192.0.2.7': 'what this caller may do',
  },
  async run(context) {
    if (takeWords(context, 1)[0] !== 'show') throw misuse('config can show: write sass-edge config show.')
    const loaded = localConfig(context)
    const config = withEnrolled(loaded.config)
    const { options } = context.arguments
    const as = optionValue(options, 'as')
    const from = optionValue(options, 'from')
    let shown: unknown = loaded.value
    if (as !== undefined || from !== undefined) shown = callerView(config, as, from)
    else if (isGiven(options, 'effective')) shown = config
    context.output.note(`# ${loaded.path}`)
    return context.output.result(shown as object, [formatJson(shown)])
  },
}
