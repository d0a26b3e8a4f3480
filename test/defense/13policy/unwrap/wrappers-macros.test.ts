/**
 * Macros of m4 that run commands, also by names and texts that other macros make.
 * @module
 */
import t from 'tap'
import { commandsOf } from '../unwrap-staged.ts'

const RUNS: readonly string[] = [
  "m4 <<< 'syscmd(`reboot'\\'')'",
  "m4 -Dx='syscmd(reboot)' f.m4",
  "m4 -Dx=syscmd <<< 'x(reboot)'",
  "echo 'define(a, reboot)syscmd(a)' | m4",
  "echo 'indir(syscmd, reboot)' | m4",
  "echo 'define(x, defn(syscmd))x(reboot)' | m4",
  "m4 <<< 'sys`'\\''cmd(reboot)'",
]

t.test('what a macro gives to a shell is run', async (t) => {
  for (const line of RUNS)
    t.ok(
      commandsOf(line).some(({ argv }) => argv[0] === 'reboot'),
      line,
    )
})

t.test('what is only defined or put out is not', async (t) => {
  for (const line of ["m4 <<< 'define(a, reboot)a'", 'm4 -Da=reboot f.m4'])
    t.notOk(
      commandsOf(line).some(({ argv }) => argv[0] === 'reboot'),
      line,
    )
})
