/**
 * What an interpreter is given as a module or as an installed script is judged as the program that it is.
 * @module
 */
import t from 'tap'
import { commandsOf, lineOf } from '../unwrap-staged.ts'

const RUN: readonly (readonly [string, string])[] = [
  ['python3 -m esptool erase_flash', 'esptool erase_flash'],
  ['python3 -mcan.player -c can0 x', 'canplayer -c can0 x'],
  ['venv/bin/python -m pip list', 'venv/bin/pip list'],
  ['python3 /usr/local/bin/x a', '/usr/local/bin/x a'],
  ['node node_modules/.bin/x a', 'node_modules/.bin/x a'],
  ['ruby -S x a', 'x a'],
  ['sh /usr/bin/x a', '/usr/bin/x a'],
]

t.test('a module or an installed script is the program of that name', (t) => {
  for (const [line, expected] of RUN) {
    const lines = commandsOf(line).map(lineOf)
    t.ok(
      lines.some((one) => one.endsWith(expected)),
      `${line}: ${lines.join(' | ')}`,
    )
  }
  t.end()
})

t.test('other modules and scripts are code of their own', (t) => {
  for (const line of ['python3 -m plant', 'python3 tools/x.py', 'node bin/x.js', 'perl x.pl'])
    t.equal(commandsOf(line).length, 1, line)
  t.end()
})
