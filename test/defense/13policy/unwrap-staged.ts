/**
 * Command lines for tests, and what becomes of them in one line each.
 * @module
 */
import type { CommandSurroundings, EffectiveCommand } from '../../../src/defense/13policy/effective.ts'
import { parseShell } from '../../../src/defense/13policy/shell/shell.ts'
import { effectiveCommands } from '../../../src/defense/13policy/unwrap.ts'

export const SURROUNDINGS: CommandSurroundings = {
  cwd: '/srv/work',
  home: '/home/agent',
  resolved: undefined,
  terminal: false,
  stdin: false,
}

/** One plain command as its argv; whatever a shell would have to read as what `sh -c` is given. */
export function argvOf(line: string): readonly string[] {
  const { commands, opaque } = parseShell(line, SURROUNDINGS)
  const [command] = commands
  if (
    command === undefined ||
    commands.length !== 1 ||
    opaque.length > 0 ||
    command.words.length === 0 ||
    command.assignments.length > 0 ||
    command.redirects.length > 0 ||
    command.words.some((word) => word.isGlob || word.opaque !== undefined)
  ) {
    return ['sh', '-c', line]
  }
  return command.words.map(({ text }) => text)
}

export function commandsOf(
  line: string | readonly string[],
  change: Partial<CommandSurroundings> = {},
): readonly EffectiveCommand[] {
  return effectiveCommands(typeof line === 'string' ? argvOf(line) : line, { ...SURROUNDINGS, ...change })
    .commands
}

/** `sudo > sh -c: rm -rf /`, or without what it was reached through where there is nothing. */
export function lineOf({ via, argv }: EffectiveCommand): string {
  return via.length === 0 ? argv.join(' ') : `${via.join(' > ')}: ${argv.join(' ')}`
}

/**
 * `write /etc/passwd`, with ` *` behind a glob and ` ...` behind a beginning. What is written elsewhere than where the
 * request runs stands once more with a mark, which is left out.
 */
export function pathsOf(commands: readonly EffectiveCommand[]): readonly string[] {
  const lines = commands.flatMap(({ paths }) =>
    withoutMark(paths).map(
      ({ use, path, isGlob, isOpaque }) => `${use} ${path}${isGlob ? ' *' : ''}${isOpaque ? ' ...' : ''}`,
    ),
  )
  return [...new Set(lines)].sort()
}

/** The paths without those that say of others that they lie elsewhere. */
export function withoutMark(paths: EffectiveCommand['paths']): EffectiveCommand['paths'] {
  return paths.filter(({ path }) => !/^\/<(?:elsewhere|listed)>/.test(path))
}

export function opaqueOf(commands: readonly EffectiveCommand[]): readonly string[] {
  return [...new Set(commands.flatMap(({ opaque }) => opaque))].sort()
}
