import t from 'tap'
import { readCode } from '../../../../src/defense/13policy/code/words.ts'
import type { Language } from '../../../../src/defense/13policy/unwrap/inner.ts'

function isOpaque([language, text]: readonly [Language, string]): boolean {
  return readCode(text, language, 'x').opaque.includes('eval')
}

t.test('a module of power that is handed on as a value cannot be followed', async (t) => {
  const handed: readonly (readonly [Language, string])[] = [
    ['python', '(lambda s: s.Popen("x", shell=True))(__import__("subprocess"))'],
    ['python', 'import os\ndef f(m): m.system("x")\nf(os)'],
    ['python', 'import os\ndef f(m=os): m.system("x")\nf()'],
    ['python', 'import os\nfor m in [os]: m.remove("x")'],
    ['python', 'import os\n(m := os).system("x")'],
    ['python', 'import os\na.o = os\na.o.system("x")'],
    ['python', 'import os\nm, n = os, 1\nm.system("x")'],
    ['python', 'import os, operator\noperator.methodcaller("system", "x")(os)'],
    ['python', 'import shutil\nd = {"a": shutil}\nd["a"].rmtree("x")'],
    ['javascript', '(m => m.execSync("x"))(require("child_process"))'],
    ['javascript', 'const o = {c: require("child_process")}; o.c.execSync("x")'],
    ['javascript', '[require("fs")].forEach(f => f.rmSync("x"))'],
    ['javascript', 'function f(m = require("child_process")) { m.execSync("x") } f()'],
    ['javascript', 'with (require("child_process")) execSync("x")'],
    ['ruby', '[Kernel].each { |k| k.system "x" }'],
    ['ruby', '->(k) { k.rm_rf "x" }.(FileUtils)'],
    ['lua', 'local t = {os} t[1].execute("x")'],
    ['lua', 'pcall(os.execute, "x")'],
    ['lua', 'setmetatable({}, {__index = os}).execute("x")'],
    ['perl', 'my $f = \\&CORE::system; $f->("x")'],
    ['php', '$x = ["system"]; usort($y, $x[0]);'],
    ['php', 'filter_var("x", FILTER_CALLBACK, ["options" => "system"]);'],
  ]
  for (const one of handed) t.equal(isOpaque(one), true, one[1])
})

t.test('a module that has a name given, is shown or is used is none that is handed on', async (t) => {
  const kept: readonly (readonly [Language, string])[] = [
    ['python', 'import os as o\nm = o\nprint(m.getcwd())'],
    ['python', 'import os, sys\nprint(os, dir(os), hasattr(os, "fork"))'],
    ['python', 'import os\nprint(list(map(os.path.basename, os.listdir("."))))'],
    ['javascript', 'const fs = require("fs"), path = require("path"); fs.existsSync("x")'],
    ['javascript', 'const { readFileSync } = require("fs"); readFileSync("x")'],
    ['javascript', 'console.log(Object.keys(require("fs")))'],
    ['javascript', 'console.log(["a"].filter(fs.existsSync))'],
    ['ruby', 'include FileUtils; puts [1].map(&:to_s)'],
    ['lua', 'local o = os\nprint(o.time(), pcall(error, "x"))'],
    ['php', 'var_dump(function_exists("exec"), in_array("exec", $x));'],
    ['perl', 'my $f = \\&add; print $f->(1)'],
  ]
  for (const one of kept) t.equal(isOpaque(one), false, one[1])
})

t.test('a class that holds a module uses it by its own name', async (t) => {
  const { calls } = readCode('import os\nclass A: m = os\nA.m.setns(3)', 'python', 'x')
  t.ok(calls.includes('unknown:os.setns'))
})
