/**
 * Code that takes the whole environment, and code that asks for one variable or hands all of them on.
 * @module
 */
import t from 'tap'
import { takesWholeEnvironment } from '../../../../src/defense/13policy/code/whole-environment.ts'

const WHOLE: readonly string[] = [
  'print(os.environ)',
  'for k, v in os.environ.items(): print(k, v)',
  'from os import environ\nprint(environ)',
  'e = os.environ.copy(); print(e)',
  'console.log(process.env)',
  'const e = process.env; console.log(e)',
  'const { env } = process; console.log(env)',
  'Deno.env.toObject()',
  'print %ENV',
  'print Dumper(\\%ENV)',
  'puts ENV.to_h',
  'p ENV',
  'print_r(getenv());',
  'print_r($_SERVER);',
  'for (k in ENVIRON) print k',
  'Sys.getenv()',
  'System.getenv().forEach(System.out::println)',
  '(println (System/getenv))',
  'println(sys.env)',
  'for _, e := range os.Environ() {}',
  'for (k, v) in std::env::vars() {}',
  'extern char **environ; for (char **e = environ; *e; e++) puts(*e);',
  'puts [array get env]',
]

const OTHER: readonly string[] = [
  'print(os.environ["HOME"], os.environ.get("PATH"), "CI" in os.environ, len(os.environ))',
  'os.environ["A"] = "b"',
  'subprocess.run(["make"], env={**os.environ, "CI": "1"})',
  'e = os.environ.copy(); e["CI"] = "1"; subprocess.run(["make"], env=e)',
  'console.log(process.env.NODE_ENV, process.env["HOME"], "CI" in process.env)',
  'const { CI } = process.env',
  'spawnSync("make", [], { env: { ...process.env, CI: "1" } })',
  'print $ENV{PATH}',
  'puts ENV["HOME"], ENV.fetch("CI", "")',
  'echo getenv("HOME"), $_SERVER["argv"][0];',
  'print ENVIRON["HOME"]',
  'Sys.getenv("HOME")',
  'System.getenv("HOME")',
  'cmd.Env = append(os.Environ(), "A=b")',
  'print("the environ is fine")',
  'puts "RAILS_ENV is set"',
]

t.test('the whole environment is known in every language', (t) => {
  for (const code of WHOLE) t.ok(takesWholeEnvironment(code), code)
  t.end()
})

t.test('one variable, and what is handed on to a program, is not the whole environment', (t) => {
  for (const code of OTHER) t.notOk(takesWholeEnvironment(code), code)
  t.end()
})
