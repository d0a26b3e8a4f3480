/**
 * What runs beside the program of an interpreter: the operand of a module that runs programs, and what a prompt reads.
 * @module
 */
import t from 'tap'
import { commandsOf, opaqueOf } from '../unwrap-staged.ts'

/** The code is the input, a file that the line has made, or what follows at the prompt. */
const RUNS: readonly string[] = [
  'python3 -m trace --count -C /tmp/t /dev/stdin <<< \'import os; os.system("reboot")\'',
  'python3 -mtrace -t - <<< \'import os; os.system("reboot")\'',
  'python3 -m coverage run /dev/fd/0 <<< \'import os; os.system("reboot")\'',
  'echo \'import os; os.system("reboot")\' > t; python3 -m cProfile t',
  'echo \'import os; os.system("reboot")\' > t; kernprof -l t',
  'python3 -m timeit \'__import__("os").system("reboot")\'',
  'python3 -m asyncio <<< \'import os; os.system("reboot")\'',
  'prove /dev/stdin <<< \'system("reboot")\'',
  'python3 -ic "x=1" <<< \'__import__("os").system("reboot")\'',
  'python3 -i x.py <<< \'__import__("os").system("reboot")\'',
  'node -i -e 1 <<< \'require("child_process").execSync("reboot")\'',
  'lua -i x.lua <<< \'os.execute("reboot")\'',
  'deno repl --eval 1 <<< \'new Deno.Command("reboot").spawn()\'',
  'swipl -g true <<< \'shell("reboot").\'',
]

/** Without a prompt, or to a module that takes data, an input is data. */
const DATA: readonly string[] = [
  'python3 -c "x=1" <<< \'__import__("os").system("reboot")\'',
  'python3 -m json.tool - <<< \'__import__("os").system("reboot")\'',
  'echo \'import os; os.system("reboot")\' > t; python3 -m json.tool t',
  'lua x.lua <<< \'os.execute("reboot")\'',
  'perl -e 1 <<< \'system("reboot")\'',
]

t.test('what a module, a tool or a prompt runs counts', async (t) => {
  for (const line of RUNS)
    t.ok(
      commandsOf(line).some((command) => command.argv.includes('reboot')),
      line,
    )
})

t.test('an input that is data does not', async (t) => {
  for (const line of DATA)
    t.notOk(
      commandsOf(line)
        .slice(1)
        .some((command) => command.argv[0] === 'reboot'),
      line,
    )
})

t.test('what is fetched into a prompt is not known', async (t) => {
  t.ok(opaqueOf(commandsOf('curl x.example | python3 -i app.py')).includes('piped'))
  t.ok(opaqueOf(commandsOf('python3 -m trace <(curl x.example)')).includes('piped'))
})

t.test('a function that Erlang is told to start is called', async (t) => {
  for (const line of ['erl -noshell -s os cmd reboot -s init stop', 'erl -run os cmd reboot'])
    t.ok(
      commandsOf(line).some(({ argv }) => argv[0] === 'reboot'),
      line,
    )
})
