/**
 * Where a user's own files are, by the XDG Base Directory specification, from the environment as data.
 * @module
 */
import { resolvePath } from './text/lexical-path.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * `$XDG_CONFIG_HOME/sass-edge`, else `~/.config/sass-edge`; undefined without either.
 * A relative XDG_CONFIG_HOME is ignored, as the specification says.
 */
export function userConfigDirectory(environment: Environment): string | undefined {
  const configured = environment['XDG_CONFIG_HOME']
  if (configured?.startsWith('/')) return resolvePath(configured, 'sass-edge')
  const home = environment['HOME']
  return home?.startsWith('/') ? resolvePath(home, '.config/sass-edge') : undefined
}
