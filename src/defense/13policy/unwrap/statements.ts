/**
 * What a client of a database is told to do: the statements in its arguments, its input and the scripts that the request
 * has made, read as far as it takes to see that they destroy. Letters large or small, comments and line breaks make no
 * other statement; what stands in quotes is data, unless the statement itself runs text.
 * Rules: ISO/IEC 9075 (SQL); the manuals of PostgreSQL, MySQL and Cypher.
 * @module
 */

import { type Flow, type Maker, madeFile } from './flow.ts'
import { goesBy } from './names.ts'

/** Clients that take statements. A database that is a file of the workspace is the workspace's own, and has rules of its own. */
const CLIENTS: ReadonlySet<string> = new Set(
  'psql mysql mariadb pgcli mycli usql cockroach clickhouse clickhouse-client chc cqlsh ycqlsh ysqlsh influx influx3 isql iusql sqlcmd go-sqlcmd sqlplus sqlcl mssql-cli tsql bsqldb fisql db2 hive beeline presto trino vsql snowsql snow bq spark-sql impala-shell rqlite turso surreal ksql taos steampipe octosql crash mclient isql-fb exaplus mysqlsh edgedb gel cypher-shell wrangler supabase neonctl pscale databricks questdb risingwave-cli proton timescale heroku fly flyctl'.split(
    ' ',
  ),
)

/** Those of a file, whose rows are its owner's, though not what they load: `INSTALL x FROM 'https://h'`. */
const FILE_CLIENTS: ReadonlySet<string> = new Set(['duckdb'])

/** Options by which they are given a script. */
const SCRIPTS: ReadonlySet<string> = new Set(['-f', '--file', '-i', '--input-file'])

/** Statements that are looked at; whoever sends more of them hides nothing that comes first. */
const STATEMENTS_MAX = 256
/** Of one text. */
const TEXT_MAX = 65_536

/** A word that makes another text run as a statement: then what stands in quotes counts too. */
const RUNS_TEXT = /\b(?:execute|prepare|do|call|exec|dblink\w*|query_to_xml)\b/i

const OBJECTS =
  'table|database|schema|keyspace|user|role|view|materialized|index|sequence|owned|series|measurement|bucket|type|function|tablespace|collection|stream|topic|warehouse|namespace|constraint|column|policy|trigger|extension|event|retention|shard|stage|catalog|login|server|publication|subscription|graph|all|if|foreign|procedure|dictionary|partition'

const MEANINGS: readonly (readonly [string, RegExp])[] = Object.freeze([
  [
    'sql:drop',
    new RegExp(
      `\\bdrop\\s+(?:${OBJECTS})\\b|\\bdetach\\s+delete\\b|\\bremove\\s+(?:table|database|namespace)\\b`,
      'i',
    ),
  ],
  ['sql:drop', /^\s*truncate\s+\S|\btruncate\s+table\b/i],
  [
    'sql:accounts',
    /\b(?:create|alter)\s+(?:user|role|login)\b|^\s*(?:grant|revoke)\s+\S|\bset\s+(?:global\s+)?password\b|\balter\s+(?:system|database)\b/i,
  ],
  // What only its owner does to a server: it stops, loads code, forgets its logs, or reads its directories.
  [
    'sql:server',
    /^\s*shutdown\s*$|^\s*load\s+'|^\s*(?:force\s+)?install\s+[^;]{1,128}\sfrom\s|^\s*(?:un)?install\s+(?:plugin|component)\b|\bset\s+(?:@@)?(?:global|persist)\b|^\s*(?:reset|change|purge)\s+(?:master|replica|slave|binary|replication)\b|^\s*stop\s+(?:slave|replica)\b|\bpg_(?:reload_conf|rotate_logfile|terminate_backend|switch_wal|promote|ls_\w{1,32}|read_\w{1,32}|stat_file)\s*\(/i,
  ],
  ['sql:change', /^\s*alter\s+(?:table|schema|view|index)\b|\brename\s+table\b/i],
])

/** Without a condition, or with one that always holds, all rows are meant. */
const ROWS = /\b(?:delete\s+from|update\s+\S+\s+set)\b/i
const CONDITION = /\bwhere\b(?![\s(]*(?:true\b|'?1'?\s*=|1\s*$|'[^']*'\s*=\s*'))/i

/** Without comments; what MySQL takes out of one (`/*!50000 DROP TABLE x`) runs. */
function withoutComments(text: string): string {
  let kept = ''
  let from = 0
  for (let at = text.indexOf('/*'); at !== -1; at = text.indexOf('/*', from)) {
    const end = text.indexOf('*/', at + 2)
    const isRun = text.charAt(at + 2) === '!'
    const stop = end === -1 ? text.length : end
    kept += `${text.slice(from, at)} ${isRun ? text.slice(at + 3, stop).replace(/^\d+/, '') : ''}`
    from = Math.min(stop + 2, text.length)
  }
  return (kept + text.slice(from)).replace(/--[^\n]*/g, ' ')
}

function statementsOf(text: string): readonly string[] {
  return withoutComments(text.slice(0, TEXT_MAX)).split(';', STATEMENTS_MAX)
}

function meaningsOf(statement: string): readonly string[] {
  const bare = RUNS_TEXT.test(statement) ? statement : statement.replace(/'[^']*'/g, "''")
  const found = MEANINGS.flatMap(([call, form]) => (form.test(bare) ? [call] : []))
  if (!ROWS.test(bare)) return found
  return [...found, CONDITION.test(statement) ? 'sql:rows' : 'sql:all-rows']
}

/** Texts that may be statements, or begin with an option's name: `--command=DROP TABLE x`. */
function textsOf(flow: Flow, { words, parsed, stdin, cwd }: Maker): readonly string[] {
  const texts = words.slice(1).map(({ text, stands }) => (stands ?? text).replace(/^--?[\w-]+=/, ''))
  if (stdin.kind === 'text') texts.push(stdin.word.text)
  else if (stdin.kind === 'pipe' && stdin.output !== undefined) texts.push(stdin.output)
  for (const { option, word } of parsed.values) {
    const made = SCRIPTS.has(option) ? madeFile(flow, word, cwd) : undefined
    if (made?.kind === 'text') texts.push(made.text)
  }
  return texts
}

/** What the statements do that a client of a database is given, as calls; none for any other program. */
export function statementCalls(flow: Flow, maker: Maker): readonly string[] {
  const ofFile = goesBy(maker.names, FILE_CLIENTS)
  if (!ofFile && !goesBy(maker.names, CLIENTS)) return NONE
  const calls = [...new Set(textsOf(flow, maker).flatMap((text) => statementsOf(text).flatMap(meaningsOf)))]
  return ofFile ? calls.filter((call) => call === 'sql:server') : calls
}

const NONE: readonly never[] = Object.freeze([])
