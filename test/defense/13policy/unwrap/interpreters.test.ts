/**
 * The code of interpreters: the commands that it runs, the names that it calls, and what of it is not known.
 * @module
 */
import t from 'tap'
import { callsOf, commandsOf, lineOf, opaqueOf, pathsOf } from '../unwrap-staged.ts'

/** Code, and a command that it runs. */
const RUN: readonly (readonly [string, string])[] = [
  ['python3 -c "import os; os.system(\'rm x\')"', 'python -c: rm x'],
  ['python3.11 -Ic "import os; os.system(\'rm x\')"', 'python -c: rm x'],
  ['python -c "import os as o; o.system(\'rm x\')"', 'python -c: rm x'],
  ['python -c "from os import system; system(\'rm x\')"', 'python -c: rm x'],
  ['python -c "from os import system as s; s(\'rm x\')"', 'python -c: rm x'],
  ['python -c "from os import *; system(\'rm x\')"', 'python -c: rm x'],
  ["python -c \"from subprocess import *; run(['rm','x'])\"", 'python -c: rm x'],
  ["python -c \"import subprocess; subprocess.run(['rm', '-rf', '/'])\"", 'python -c: rm -rf /'],
  ['python -c "import subprocess; subprocess.Popen(\'rm x\', shell=True)"', 'python -c: rm x'],
  ["python -c \"import subprocess as s; s.check_output(args=['rm','x'])\"", 'python -c: rm x'],
  ["python -c \"__import__('os').system('rm x')\"", 'python -c: rm x'],
  ["python -c \"import importlib; importlib.import_module('os').system('rm x')\"", 'python -c: rm x'],
  ["python -c \"import os; getattr(os, 'sys'+'tem')('rm x')\"", 'python -c: rm x'],
  ["python -c \"getattr(__import__('os'), 'system')('rm x')\"", 'python -c: rm x'],
  ['python -c "import os; s = os.system; s(\'rm x\')"', 'python -c: rm x'],
  ['python -c "import os; c = \'rm x\'; os.system(c)"', 'python -c: rm x'],
  ["python -c \"import os; os.system('rm' + ' x')\"", 'python -c: rm x'],
  ["python -c \"import os; os.system('rm' ' x')\"", 'python -c: rm x'],
  ["python -c \"import os; os.execvp('rm', ['rm', 'x'])\"", 'python -c: rm x'],
  ["python -c \"import os; os.execl('/bin/rm', 'rm', 'x')\"", 'python -c: /bin/rm x'],
  ["python -c \"import os; os.spawnlp(os.P_WAIT, 'rm', 'rm', 'x')\"", 'python -c: rm x'],
  ['python -c "import pty; pty.spawn(\'/bin/sh\')"', 'python -c: /bin/sh'],
  ['ucode -e \'system("rm x")\'', 'ucode -e: rm x'],
  ["ghc -e ':!rm x'", 'ghc -e: rm x'],
  ["ipython3 -c '!rm x'", 'ipython3 -c: rm x'],
  ['nim --eval:\'import osproc; execShellCmd("rm x")\'', 'nim --eval: rm x'],
  ['echo \'main(){system("rm x");}\' > t.c; gcc t.c', 'sh -c > project: rm x'],
  ['echo \'func main(){exec.Command("rm", "x").Run()}\' > t.go; go run t.go', 'sh -c > project: rm x'],
  ['echo \'fn main(){Command::new("rm").status();}\' > t.rs; rustc t.rs', 'sh -c > project: rm'],
  ['python -c "exec(\'import os; os.system(\\"rm x\\")\')"', 'python -c: rm x'],
  ["python <<'E'\nimport os\nos.system('rm x')\nE\n", 'sh -c > python: rm x'],
  ['echo "import os; os.system(\'rm x\')" | python3', 'sh -c > python: rm x'],
  ["node -e \"require('child_process').execSync('rm x')\"", 'node -e: rm x'],
  ["node -e \"const cp = require('node:child_process'); cp.exec('rm x')\"", 'node -e: rm x'],
  ["node -e \"const {exec} = require('child_process'); exec('rm x')\"", 'node -e: rm x'],
  ["node -e \"const {exec: e} = require('child_process'); e('rm x')\"", 'node -e: rm x'],
  ["node --input-type=module -e \"import {execSync as e} from 'child_process'; e('rm x')\"", 'node -e: rm x'],
  ["node --eval=\"require('child_process').spawn('rm', ['x'])\"", 'node --eval: rm x'],
  ["nodejs -p \"require('child_process')['execSync']('rm x')\"", 'node -p: rm x'],
  ["python3 -c \"__import__('o'+'s').__dict__['system']('rm x')\"", 'python -c: rm x'],
  ["python3 -c \"vars(__import__('os'))['system']('rm x')\"", 'python -c: rm x'],
  ['python3 -c "import ctypes; ctypes.CDLL(None).system(b\'rm x\')"', 'python -c: rm x'],
  ["python3 -m timeit \"__import__('os').system('rm x')\"", 'python -m: rm x'],
  ['ruby -e \'Kernel.send(:system, "rm x")\'', 'ruby -e: rm x'],
  ['ruby -e \'Object.send("sys"+"tem", "rm x")\'', 'ruby -e: rm x'],
  ['php -r \'$f="sys"."tem"; $f("rm x");\'', 'php -r: rm x'],
  ['php -r \'("sys"."tem")("rm x");\'', 'php -r: rm x'],
  ['php -r \'call_user_func("system", "rm x");\'', 'php -r: rm x'],
  ['perl -pe \'s/.*/system "rm x"/ee\' f', 'perl -e: rm x'],
  ['lua -e \'_G["os"]["exe".."cute"]("rm x")\'', 'lua -e: rm x'],
  ['luajit -e \'require("ffi").C.system("rm x")\'', 'lua -e: rm x'],
  ['sbcl --eval \'(sb-ext:run-program "/bin/rm" (list "x"))\'', 'sbcl --eval: /bin/rm x'],
  ['ghc -e \'System.Process.callCommand "rm x"\'', 'ghc -e: rm x'],
  ['swipl -g \'shell("rm x")\' -t halt', 'swipl -g: rm x'],
  ['gforth -e \'s" rm x" system bye\'', 'gforth -e: rm x'],
  ['groovy -e \'"rm x".execute()\'', 'groovy -e: rm x'],
  ['groovy -e \'["rm", "x"].execute()\'', 'groovy -e: rm x'],
  ['scala -e \'import sys.process._; "rm x".!\'', 'scala -e: rm x'],
  ['elixir -e \'System.cmd("rm", ["x"])\'', 'elixir -e: rm x'],
  ['csharp -e \'System.Diagnostics.Process.Start("rm", "-f x")\'', 'csharp -e: rm -f x'],
  ['gjs -c \'imports.gi.GLib.spawn_command_line_sync("rm x")\'', 'gjs -c: rm x'],
  ['crystal eval \'system "rm x"\'', 'crystal eval: rm x'],
  ['raku -e \'shell "rm x"\'', 'raku -e: rm x'],
  ["node -e \"process.getBuiltinModule('child_process').execSync('rm x')\"", 'node -e: rm x'],
  ["deno eval \"new Deno.Command('rm', {args: ['x']})\"", 'deno eval: rm x'],
  ["bun -e \"require('child_process').execSync('rm x')\"", 'bun -e: rm x'],
  ['perl -e \'system("rm x")\'', 'perl -e: rm x'],
  ['perl -e \'system "rm", "x"\'', 'perl -e: rm x'],
  ['perl -e \'exec "rm x"\'', 'perl -e: rm x'],
  ["perl -le 'print `rm x`'", 'perl -e: rm x'],
  ["perl -e 'print qx(rm x)'", 'perl -e: rm x'],
  ['perl -e \'open(F, "rm x|")\'', 'perl -e: rm x'],
  ['perl -e \'open(F, "-|", "rm", "x")\'', 'perl -e: rm x'],
  ['perl -e \'system("rm" . " x")\'', 'perl -e: rm x'],
  ['ruby -e \'system("rm x")\'', 'ruby -e: rm x'],
  ['ruby -e \'exec "rm", "x"\'', 'ruby -e: rm x'],
  ["ruby -e 'puts `rm x`'", 'ruby -e: rm x'],
  ["ruby -e 'puts %x(rm x)'", 'ruby -e: rm x'],
  ['ruby -e \'IO.popen("rm x")\'', 'ruby -e: rm x'],
  ['ruby -e \'IO.popen(["rm", "x"])\'', 'ruby -e: rm x'],
  ['php -r \'system("rm x");\'', 'php -r: rm x'],
  ['php -r \'echo shell_exec("rm x");\'', 'php -r: rm x'],
  ["php -r 'echo `rm x`;'", 'php -r: rm x'],
  ['lua -e \'os.execute("rm x")\'', 'lua -e: rm x'],
  ["lua -e 'io.popen([[rm x]])'", 'lua -e: rm x'],
  ['Rscript -e \'system("rm x")\'', 'Rscript -e: rm x'],
  ['guile -c \'(system "rm x")\'', 'guile -c: rm x'],
  ['osascript -e \'do shell script "rm x"\'', 'osascript -e: rm x'],
  ['awk \'BEGIN { system("rm x") }\'', 'awk: rm x'],
  ['gawk \'BEGIN { "rm x" | getline }\'', 'awk: rm x'],
  ['mawk \'{ print | "rm x" }\'', 'awk: rm x'],
  ['awk \'BEGIN { c = "rm x"; c | getline }\'', 'awk: rm x'],
  ["expect -c 'spawn rm x'", 'expect -c: rm x'],
  ["tclsh <<'E'\nexec rm x\nE\n", 'sh -c > tclsh: rm x'],
  ['node --require /dev/stdin -e 0 <<< \'require("child_process").execSync("rm x")\'', 'sh -c > node: rm x'],
  ['ruby -r/dev/stdin -e 1 <<< \'system "rm x"\'', 'sh -c > ruby: rm x'],
  ['lua -l /dev/stdin <<< \'os.execute("rm x")\'', 'sh -c > lua: rm x'],
  ['php -f /dev/stdin <<< \'<?php system("rm x");\'', 'sh -c > php: rm x'],
  ['echo \'exec("rm x")\' > k.nims && nim e k.nims', 'sh -c > nim: rm x'],
]

t.test('what the code of an interpreter gives to a shell or starts is a command', (t) => {
  for (const [line, expected] of RUN) {
    const lines = commandsOf(line).map(lineOf)
    t.ok(lines.includes(expected), `${line}\n${expected}\n${lines.join('\n')}`)
  }
  t.end()
})

/** Code, and names that it calls. */
const CALLED: readonly (readonly [string, readonly string[]])[] = [
  ["python -c 'import os; print(os.environ)'", ['os.environ']],
  ["python -c 'import socket; s = socket.socket()'", ['socket.socket']],
  ["python -c 'eval(x)'", ['eval']],
  ["python -c '__import__(x)'", ['__import__']],
  ["python -c 'import ctypes'", ['import:ctypes']],
  ["python -c 'import base64; exec(base64.b64decode(x))'", ['base64.b64decode', 'exec']],
  ["python -c \"open('x', mode='a')\"", ['open:w']],
  ['python -c "open(\'x\')"', ['open:r']],
  ["python -c 'import os; os.open(p, os.O_WRONLY)'", ['open:w']],
  ['node -e "process.binding(\'fs\')"', ['process.binding']],
  ['node -e "import(\'fs\')"', ['import', 'import:fs']],
  ["node -e \"require('child_process').exec('ls')\"", ['child_process.exec']],
  ["perl -e 'unlink $x'", ['unlink']],
  ["perl -e 'print `ls`'", ['backticks']],
  ["php -r 'passthru($x);'", ['passthru']],
  ["lua -e 'io.popen(x)'", ['io.popen']],
  ["ruby -e 'FileUtils.rm_rf(x)'", ['FileUtils.rm_rf']],
  ["awk 'BEGIN { system(x) }'", ['system']],
  ["sed 's/a/b/e' f", ['s///e']],
]

t.test('the names that code calls are told', (t) => {
  for (const [line, expected] of CALLED) {
    const calls = callsOf(commandsOf(line))
    for (const name of expected) t.ok(calls.includes(name), `${line}: ${name} in ${calls.join(' ')}`)
  }
  t.end()
})

/** A command line, and all that is not known of it. */
const OPAQUE: readonly (readonly [string, readonly string[]])[] = [
  ['ls', []],
  ["python -c 'print(1)'", []],
  ['python -c "exec(\'print(1)\')"', []],
  ["python -c 'import os; os.system(x)'", ['eval']],
  ['python -c "import os; os.system(\'rm \' + x)"', ['eval']],
  ['python -c "import os; os.system(f\'rm {x}\')"', ['eval']],
  ["python -c 'exec(open(x).read())'", ['eval']],
  ["python -c 'import base64; exec(base64.b64decode(x))'", ['decoded', 'eval']],
  ["python -c 'import os; getattr(os, x)()'", ['eval']],
  ["node -e 'eval(x)'", ['eval']],
  ["node -e 'require(x)'", ['eval']],
  ['node -e "eval(Buffer.from(x, \'base64\').toString())"', ['decoded', 'eval']],
  ["perl -e 'eval { die }'", []],
  ["perl -e 'system($x)'", ['eval']],
  ['perl -e \'eval pack("H*", $x)\'', ['decoded', 'eval']],
  ["php -r 'eval(base64_decode($x));'", ['decoded', 'eval']],
  ["awk 'BEGIN { system($1) }'", ['eval']],
  ['awk \'{ print $1 | "sort" }\'', []],
  ['sh', ['stdin']],
  ['sh -s', ['stdin']],
  ['sh -', ['stdin']],
  ['bash -i', ['stdin']],
  ['python3', ['stdin']],
  ['python3 -', ['stdin']],
  ['python3 --version', []],
  ['bash --version', []],
  ['node --test', []],
  ['python3 -v', ['stdin']],
  ['python3 -m http.server', []],
  ['python3 x.py', []],
  ['sh x.sh', []],
  ['sh < x.sh', []],
  ['node', ['stdin']],
  ['perl', ['stdin']],
  ['curl u | sh', ['piped']],
  ['curl u | sudo bash -s -- x', ['piped']],
  ['curl u | python3', ['piped']],
  ['curl u | tee x | sh', ['piped']],
  ['echo x | base64 -d | sh', ['decoded']],
  ['echo x | base64 --decode | bash', ['decoded']],
  ['xxd -r -p x | sh', ['decoded']],
  ['openssl enc -d -aes256 -in x | sh', ['decoded']],
  ['openssl base64 -d -in x | sh', ['decoded']],
  ['gunzip -c x | sh', ['decoded']],
  ['zcat x | bash', ['decoded']],
  ['gzip -dc x | sh', ['decoded']],
  ['xz -d x | sh', ['decoded']],
  ['echo x | rev | sh', ['decoded']],
  ['echo x | tr a-z n-za-m | sh', ['decoded']],
  ['echo x | base64 | cat', []],
  ['bash <(curl u)', ['eval', 'piped', 'substitution']],
  ['source <(curl u)', ['eval', 'piped', 'substitution']],
  ['. /dev/stdin; true', ['stdin']],
  ['eval "$X"', ['eval', 'expansion']],
  ['eval "$(curl u)"', ['eval', 'substitution']],
  ['sh -c "$(echo x | base64 -d)"', ['decoded', 'substitution']],
  ['sh -c "rm $X"', ['eval', 'expansion']],
  ['rm $X', ['expansion']],
  ['$X y', ['expansion', 'program']],
  ['/b?n/rm y', ['program']],
  ['find . -exec rm {} \\;', ['expansion']],
  ['xargs rm', ['expansion']],
  ["sh -c '\"'", ['syntax']],
  ['make -f -', ['stdin']],
  ['crontab -', ['stdin']],
  ['at now', ['stdin']],
]

t.test('what cannot be known beforehand is said', (t) => {
  for (const [line, expected] of OPAQUE) t.strictSame(opaqueOf(commandsOf(line)), expected, line)
  t.end()
})

t.test('a part of a known text is not known', (t) => {
  for (const [program, code] of [
    ['python3 -c', 'import os; os.system("mr"[::-1] + " -rf /")'],
    ['python3 -c', 'import os; x = "mr"; os.system(x[::-1])'],
    ['node -e', 'require("child_process").execSync("ls;rm x"[0])'],
  ] as const)
    t.ok(opaqueOf(commandsOf([...program.split(' '), code])).includes('eval'), code)
  t.end()
})

t.test('where a language is not told apart, the name of a call tells that it writes', (t) => {
  for (const line of [
    'ghc -e \'System.Directory.removeDirectoryRecursive "/opt/a"\'',
    'kotlin -e \'java.io.File("/opt/a").deleteRecursively()\'',
    'swift -e \'try FileManager.default.removeItem(atPath:"/opt/a")\'',
    'nim --eval:\'import os; removeDir("/opt/a")\'',
    'sbcl --eval \'(sb-ext:delete-directory "/opt/a" :recursive t)\'',
    'python3 -m zipfile -e a.zip /opt/a',
    'python3 -m venv /opt/a',
  ])
    t.ok(pathsOf(commandsOf(line)).includes('write /opt/a'), line)
  for (const line of [
    'kotlin -e \'java.io.File("/opt/a").readText()\'',
    'swift -e \'print(removed, "/opt/a")\'',
    'python3 -m zipfile -l a.zip /opt/a',
  ])
    t.notOk(pathsOf(commandsOf(line)).includes('write /opt/a'), line)
  t.end()
})
