/**
 * Code in the one form of its language: modules of Lua that are asked for through `pcall`, places of Scala.
 * @module
 */
import t from 'tap'
import { plainOf } from '../../../../src/defense/13policy/code/plain-code.ts'

t.test('a module of Lua that is asked for with care is the module', async (t) => {
  t.equal(plainOf('local ok, s = pcall(require, "socket")', 'lua', 'lua -e'), 's = require("socket")')
  t.equal(
    plainOf("select(2, pcall(require, 'posix')).kill(1, 9)", 'lua', 'lua -e'),
    "require('posix').kill(1, 9)",
  )
  t.equal(plainOf('pcall(print, "x")', 'lua', 'lua -e'), 'pcall(print, "x")')
})

t.test('a place of Scala and what is divided from it is one path', async (t) => {
  t.equal(plainOf('os.remove.all(os.root / "etc" / "ssh")', 'other', 'amm -c'), 'os.remove ("/etc/ssh")')
  t.equal(plainOf("rm! root/'etc", 'other', 'amm -c'), 'os.rm "/etc"')
  t.equal(plainOf('os.write.append(os.home/".bashrc", x)', 'other', 'amm -c'), 'os.write ("~/.bashrc", x)')
  t.equal(plainOf('x = root/n', 'other', 'R -e'), 'x = root/n')
})
