/**
 * Commands that only ask a program what it is and how it is used: `insmod --help`, `hostapd -v`, `kubectl apply --help`.
 * The question is all that they are given, for with more some programs do what the rest says.
 * Rules: GNU Coding Standards, 4.8.1 and 4.8.2; the manual pages of the programs named.
 * @module
 */

import type { EffectiveCommand } from '../effective.ts'
import { goesBy } from './names.ts'

const EVERYWHERE: readonly string[] = Object.freeze(['--help', '--version'])
const NEARLY_EVERYWHERE: readonly string[] = Object.freeze(['-h', '-V'])
/** To them `-h` is a way to stop, `-V` a signal or nothing, and the machine or its processes may be gone. */
const NOT_SHORT: ReadonlySet<string> = new Set(
  'halt poweroff reboot shutdown init telinit killall5 suspend pm-suspend hibernate nologin'.split(' '),
)
/** They take the word for a file to run or a version to install, or look at none. */
const NEVER: ReadonlySet<string> = new Set(
  'tclsh wish jimsh start-stop-daemon rpi-update firstboot jffs2reset factoryreset factory-reset factory_reset'.split(
    ' ',
  ),
)
/** @param subcommands words of the program behind which `--help` is also a question */
export function asksOnly({ argv, names, opaque }: EffectiveCommand, subcommands: readonly string[]): boolean {
  if (opaque.length > 0 || names.length === 0 || goesBy(names, NEVER)) return false
  const question = argv.at(-1) ?? ''
  if (argv.length === 2) {
    if (EVERYWHERE.includes(question)) return true
    if (NEARLY_EVERYWHERE.includes(question)) return !goesBy(names, NOT_SHORT)
  }
  return question === '--help' && subcommands.includes(argv.slice(1, -1).join(' '))
}
