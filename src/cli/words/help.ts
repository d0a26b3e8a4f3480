/**
 * Help texts, made from the tables that the parser itself uses.
 * @module
 */

import type { OptionSpec } from './arguments.ts'
import { COMMON_OPTIONS, optionSpecs } from './arguments.ts'
import type { NamedCommand } from './command.ts'
import { SUMMARIES } from './summaries.ts'

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}

function optionRow(spec: OptionSpec): readonly [string, string] {
  const short = spec.short === undefined ? '    ' : `-${spec.short}, `
  const value = spec.value === undefined ? '' : ` ${spec.value}`
  return [
    `${short}--${spec.name}${value}`,
    spec.repeat === true ? `${spec.description} (may be repeated)` : spec.description,
  ]
}

/** The help of one command. */
export function commandHelp(command: NamedCommand): string {
  const usage = command.usage
    .map((form, index) => `${index === 0 ? 'Usage:' : '      '} sass-edge ${form}`)
    .join('\n')
  const options = columns([...optionSpecs(command.options), ...COMMON_OPTIONS].map(optionRow))
  const examples = columns(Object.entries(command.examples))
  return `sass-edge ${command.name}: ${command.summary}\n\n${usage}\n\nOptions:\n${options}\n\nExamples:\n${examples}\n`
}

/** The help of the whole program. */
export function overviewHelp(): string {
  return `sass-edge: run commands on edge devices under policy, with proof

Usage: sass-edge COMMAND [OPTIONS]
       sass-edge --config FILE          (the same as run --config FILE)

Commands:
${columns(Object.entries(SUMMARIES))}

Every command takes --help, --json, --yes and --config FILE.
A device is named [AGENT@]HOST[:PORT].
Exit codes: a remote exit passes through; 124 timed out, 125 local usage or configuration, 126 and 127 not executable or
not found on the device, 254 started but outcome unknown, 255 not started.

Examples:
${columns([
  ['sass-edge init', 'make an installation in ./.sass-edge'],
  ['sass-edge run', 'start the daemon with it'],
  ['sass-edge exec -- uname -a', 'run a command on it'],
])}
`
}
