/**
 * Orders in the words of tools are found whatever option they stand behind, and words that only speak of them are not.
 * @module
 */
import t from 'tap'
import { commandsOf, lineOf, pathsOf } from '../unwrap-staged.ts'

const RUN: readonly (readonly [string, string])[] = [
  [`dotnet build -p:PreBuildEvent='rm -rf /srv/x'`, 'rm -rf /srv/x'],
  ['pdm run rm -rf /srv/x', 'rm -rf /srv/x'],
  ['zig test --test-cmd rm --test-cmd -rf x.zig', 'rm -rf'],
  [`TOX_OVERRIDE='testenv.commands=rm -rf /srv/x' tox`, 'rm -rf /srv/x'],
  [`scons --interactive <<< 'shell rm -rf /srv/x'`, 'rm -rf /srv/x'],
]

t.test('a command in a text, in a variable, on the input or among the words of a tool runs', (t) => {
  for (const [line, expected] of RUN) {
    const lines = commandsOf(line).map(lineOf)
    t.ok(
      lines.some((one) => one.endsWith(expected)),
      `${line}: ${lines.join(' | ')}`,
    )
  }
  t.end()
})

t.test('a text that changes files writes to them', (t) => {
  for (const line of [
    `sbt 'set x := { IO.delete(file("/opt/a")) }' x`,
    `cargo script -e 'std::fs::remove_dir_all("/opt/a")'`,
  ])
    t.ok(pathsOf(commandsOf(line)).includes('write /opt/a'), line)
  t.end()
})

t.test('what a tool is told to load from where anybody writes is a program', (t) => {
  for (const line of [
    'sbt --sbt-jar /tmp/x compile',
    'dotnet build -p:CustomBeforeTargets=/tmp/x',
    'bun run -r /tmp/x index.ts',
    'gprbuild --compiler-subst=ada,/tmp/x',
  ])
    t.ok(
      commandsOf(line)
        .map(lineOf)
        .some((one) => one.endsWith('/tmp/x')),
      line,
    )
  for (const line of [
    'pytest --junit-xml=/tmp/x',
    'npm ci --cache /tmp/c',
    'cargo build --target-dir /tmp/x',
  ])
    t.equal(commandsOf(line).length, 1, line)
  t.end()
})

t.test('options that a tool hands on say where is written', (t) => {
  for (const line of [
    "gradle run --args='--output /opt/a'",
    "make run ARGS='--output /opt/a'",
    'cargo run --bin gen -- --output /opt/a',
    'npm run gen -- --out-dir=/opt/a',
  ])
    t.ok(pathsOf(commandsOf(line)).includes('write /opt/a'), line)
  for (const line of ['cargo run -- --config /opt/a', "make run ARGS='--data /opt/a'"])
    t.notOk(pathsOf(commandsOf(line)).includes('write /opt/a'), line)
  t.end()
})

t.test('names of tests, targets and their kin run nothing', (t) => {
  for (const line of ['cargo test rm', 'make rm-cache', 'npm run rm', 'pytest -k rm tests', 'just find'])
    t.equal(commandsOf(line).length, 1, line)
  t.end()
})
