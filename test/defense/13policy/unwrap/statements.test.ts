/**
 * What clients of databases are told to do, wherever the statement stands and however it is written.
 * @module
 */
import t from 'tap'
import { commandsOf } from '../unwrap-staged.ts'

function callsOf(line: string): readonly string[] {
  const calls = commandsOf(line).flatMap((command) => command.calls)
  return [...new Set(calls.filter((call) => call.startsWith('sql:')))].sort()
}

const STATEMENTS: readonly (readonly [string, readonly string[]])[] = [
  ["psql -c 'DROP TABLE users'", ['sql:drop']],
  ["psql --command='dRoP\n tAbLe users'", ['sql:drop']],
  ["psql -c 'drop/**/table/* */users'", ['sql:drop']],
  ["mysql -e '/*!50000 DROP TABLE users */'", ['sql:drop']],
  ["psql -c 'select 1; TRUNCATE users'", ['sql:drop']],
  ["psql <<< 'drop table users'", ['sql:drop']],
  ["psql <<'E'\nselect 1;\ndrop schema public cascade;\nE", ['sql:drop']],
  ["echo 'drop table t' | sudo mysql app", ['sql:drop']],
  ["echo 'drop table t' > x.sql; psql -f x.sql", ['sql:drop']],
  ["echo 'drop table t' > x.sql; mysql app < x.sql", ['sql:drop']],
  ["docker exec db psql -c 'drop table t'", ['sql:drop']],
  ['psql -c "do \\$\\$ begin execute \'drop table t\'; end \\$\\$"', ['sql:drop']],
  ["mysql -e 'delete from t'", ['sql:all-rows']],
  ["mysql -e 'delete from t where 1=1'", ['sql:all-rows']],
  ["mysql -e 'delete from t where (true)'", ['sql:all-rows']],
  ["mysql -e 'update t set a = 1'", ['sql:all-rows']],
  ["mysql -e 'delete from t where id = 4'", ['sql:rows']],
  ["mysql -e 'update t set a = 1 where id = 1'", ['sql:rows']],
  ["psql -c 'alter table t add b int'", ['sql:change']],
  ["psql -c 'grant all on t to x'", ['sql:accounts']],
  ["mysql -e 'shutdown'", ['sql:server']],
  ['psql -c "load \'/x.so\'"', ['sql:server']],
  ['psql -c "select pg_reload_conf()" app', ['sql:server']],
  ["cypher-shell 'MATCH (n) DETACH DELETE n'", ['sql:drop']],
]

/** They tell a database nothing of the kind, or no database at all. */
const HARMLESS: readonly string[] = [
  "psql -c 'select 1'",
  'psql -c "select * from t where a = \'drop table x\'"',
  "psql -c 'select 1 -- drop table x'",
  "psql -c '/* drop table x */ select 1'",
  "psql -c 'insert into t values (1)'",
  "psql -c 'create table t (dropped int)'",
  'psql -f schema.sql shop',
  'psql -d truncate',
  "grep 'DROP TABLE' schema.sql",
  'git commit -m "drop table users"',
  "sqlite3 x.db 'drop table t'",
]

t.test('statements that destroy are seen in arguments, inputs and scripts', (t) => {
  for (const [line, expected] of STATEMENTS) t.strictSame(callsOf(line), expected, line)
  t.end()
})

t.test('statements that only ask, and text that is no statement, are none', (t) => {
  for (const line of HARMLESS) t.strictSame(callsOf(line), [], line)
  t.end()
})

t.test('many openings of comments and blanks cost no more than their length', (t) => {
  const text = `${'/*'.repeat(2_000)}${' '.repeat(2_000)}drop table t`
  t.strictSame(callsOf(`psql -c '${text}'`), [])
  t.strictSame(callsOf(`psql -c 'delete from t where${' '.repeat(10_000)}a = 1'`), ['sql:rows'])
  t.end()
})

t.test('what a database of a file loads from elsewhere is told, and its own rows are not', async (t) => {
  t.same(callsOf(`duckdb -c "install x from 'http://h/x'"`), ['sql:server'])
  t.same(callsOf('duckdb x.db -c "drop table t"'), [])
})
