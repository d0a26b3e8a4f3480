/**
 * The configuration that a local command works on: that of --config, else the nearest one.
 * @module
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findConfig, type LoadedConfig, loadConfig } from '../../edge/setup/config-file.node.ts'
import { checkStateFormat } from '../../edge/state/state-format.node.ts'
import { misuse, SassError } from '../../errors.ts'
import { optionValue } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'

/** The path of the configuration. SassError CONFIG_LOAD_FAILED where none is named and none is found. */
export function localConfigPath(context: CommandContext): string {
  const path =
    optionValue(context.arguments.options, 'config') ?? findConfig(context.cwd, context.environment)
  if (path !== undefined) return path
  // As `init DIRECTORY` leaves it. It is not taken by itself: a directory of somebody's files may have one that means another device.
  const here = join(context.cwd, 'sass.edge.json')
  if (existsSync(here))
    throw new SassError(
      'CONFIG_LOAD_FAILED',
      `There is no .sass-edge/sass.edge.json in ${context.cwd} or above it, but there is ${here}, which is used where it is named alone: add --config sass.edge.json if you mean that one.`,
      { path: here },
    )
  throw new SassError(
    'CONFIG_LOAD_FAILED',
    `There is no configuration in ${context.cwd}, above it, or in /etc/sass-edge: make one with sass-edge init, or name it with --config.`,
  )
}

/** Reads and checks it. SassError CONFIG_LOAD_FAILED or CONFIG_INVALID. */
export function localConfig(context: CommandContext): LoadedConfig {
  return loadConfig(localConfigPath(context))
}

/**
 * The same, for a command that reads the state itself, which must be of no newer format than this program knows.
 * @throws SassError STATE_FORMAT as well
 */
export function localState(context: CommandContext): LoadedConfig {
  const loaded = localConfig(context)
  checkStateFormat(loaded.config.state_directory)
  return loaded
}

/** Refuses words that the command does not take. SassError USAGE. */
export function takeWords(context: CommandContext, most: number): readonly string[] {
  const { positionals, rest } = context.arguments
  const extra = positionals[most] ?? rest?.[0]
  if (extra === undefined) return positionals
  throw misuse(`${JSON.stringify(extra.slice(0, 64))} is one word too many: see --help.`)
}

/** Says what of whoever made an installation commands can read, beside what every installation lists. */
export function linesOfReadToo(paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return []
  return [
    'Commands can also read these, where programs of your PATH lie, and your settings of git (sandbox.read):',
    ...paths.map((path) => `  ${path}`),
  ]
}
