/**
 * How fast output passes the firewall, on one core: clean text beside memcpy and one naive alternation of the same key
 * words, and hostile text beside clean text, all in one run.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assessWindow, readInjectionTables } from '../src/defense/firewall/injections/assess.ts'
import { INJECTION_THRESHOLDS } from '../src/defense/firewall/injections/limits.ts'
import { createScreens, type Screens } from '../src/defense/firewall/screen.ts'
import { readSecretTables } from '../src/defense/firewall/secrets/kinds.ts'
import type { Record } from './bytes.node.ts'

const MB = 1_000_000
const SIZE = 24 * MB
const PIECE = 65_536
const ROUNDS = 5

/** Text that is nothing but the key words, the beginnings, or the quotes of secrets. */
const HOSTILE: readonly string[] = [
  ...['a', 'key=', 'key key ', 'password=', 'token ', 'ghp_', 'ghp_.', '://', '://a:b', 'sl_', '-----BEGIN '],
  ...[
    '-----BEGIN RSA PRIVATE KEY-----\n',
    'eyaaaaaaaaaaaaaaaaaaa.',
    '" ==',
    'curl -u ',
    'AKIA.',
    '\x1b[1m',
    '\x1b[1mtoken',
    '\x1b]0;root@gate: ~\x07',
    '\x1b]8;;file://gate/usr/bin/a\x1b\\\x1b[01;32ma\x1b[0m\x1b]8;;\x1b\\\n',
  ],
  ...[
    '\ndata:apiVersion:\ndata:\n a: aaaaaaaaaaaaaaaaaaaaa',
    'token_token_token_token = ',
    'password=hunter22 ',
  ],
]

/** The same for what steers a model: its words, what hides them, and what has to be decoded. */
const HOSTILE_WORDS: readonly string[] = [
  ...['ignore ', 'ignore all previous instructions ', 'you are now ', 'print the system prompt ', 'system: '],
  ...['<!-- ', '<|im_start|>', '\u200b', 'a\u0301', '\u{e0041}', '\u0410', '\uff03', '\x1b[2K\r', '\b'],
  ...['%41%42', '&#97;', '\\u0061', 'QUJDREVGR0hJ ', 'IGlnbm9yZSBhbGwg', 'base64 '],
]

/** At least so much of clean text passes for secrets alone, and all together; of no text less than a third of that. */
const CLEAN_MB_PER_SECOND = 150
const JUDGED_MB_PER_SECOND = 60

function filled(text: string | Buffer): Buffer {
  return Buffer.alloc(SIZE, text)
}

/** MB/s, the best of some rounds. */
function speed(text: Buffer, pass: (text: Buffer) => void): number {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    pass(text)
    best = Math.min(best, performance.now() - began)
  }
  return text.length / 1_000 / best
}

export function firewall(record: Record): void {
  const root = join(import.meta.dirname, '..')
  const readJson = (name: string) => JSON.parse(readFileSync(join(root, 'firewall', `${name}.json`), 'utf8'))
  const file = readJson('secrets')
  const tables = readSecretTables(file)
  if ('problems' in tables) throw new Error(tables.problems.join(' '))
  const injections = readInjectionTables(readJson('injections'), readJson('injection-weights'))
  if (!injections.ok) throw new Error(injections.problems.join(' '))
  const alone = createScreens(tables, undefined)
  const together = createScreens(tables, (bytes, start, end) =>
    assessWindow(injections.tables, bytes, start, end),
  )
  let out = 0
  const screenedBy = (screens: Screens) => (text: Buffer) => {
    const screen = screens.open(INJECTION_THRESHOLDS.standard)
    const emit = (bytes: Uint8Array) => {
      out += bytes.length
    }
    for (let at = 0; at < text.length; at += PIECE) screen.push(text.subarray(at, at + PIECE), emit)
    screen.finish(emit)
    if (out === 0) throw new Error('Nothing came out of the firewall.')
  }
  const screened = screenedBy(alone)
  const judged = screenedBy(together)
  const target = Buffer.alloc(PIECE)
  const copied = (text: Buffer) => {
    for (let at = 0; at < text.length; at += PIECE) text.copy(target, 0, at, at + PIECE)
  }
  const words = [
    ...Object.values(file.names).flat(),
    ...file.kinds.flatMap(({ near = [] }) => near),
  ] as string[]
  const alternation = new RegExp(words.map((word) => word.replace(/\W/g, '\\$&')).join('|'), 'gi')
  const searched = (text: Buffer) => {
    for (let at = 0; at < text.length; at += PIECE)
      out += text.toString('latin1', at, at + PIECE).match(alternation)?.length ?? 0
  }
  const line =
    'Nov 28 18:49:22 gate sshd[123]: Accepted publickey for root from 10.0.0.1 port 52022 ssh2: ED25519\n'
  const log = filled(line)
  const code = filled(readFileSync(join(root, 'src/session/executions/executions.ts')))
  const beside = `memcpy ${speed(log, copied).toFixed(0)}, one alternation ${speed(log.subarray(0, SIZE / 8), searched).toFixed(0)} MB/s`
  const [ofLog, ofCode] = [speed(log, screened), speed(code, screened)]
  const clean = Math.min(ofLog, ofCode)
  record(
    'secrets in clean text',
    clean,
    ' MB/s',
    CLEAN_MB_PER_SECOND,
    false,
    `log ${ofLog.toFixed(0)}, program ${ofCode.toFixed(0)}; ${beside}`,
  )
  const slowestOf = (texts: readonly string[], pass: (text: Buffer) => void) => {
    const speeds = texts.map((text) => ({ text, speed: speed(filled(text), pass) }))
    const [first, ...rest] = speeds.sort((a, b) => a.speed - b.speed)
    const slow = [first, ...rest.slice(0, 4)].map(
      (one) => `${JSON.stringify(one?.text.slice(0, 14))} ${one?.speed.toFixed(0)}`,
    )
    return { slowest: first?.speed ?? 0, slow: slow.join(', ') }
  }
  const hostile = slowestOf(HOSTILE, screened)
  record(
    'secrets in hostile text',
    hostile.slowest,
    ' MB/s',
    CLEAN_MB_PER_SECOND / 3,
    false,
    `${(hostile.slowest / clean).toFixed(2)} of clean text; slowest: ${hostile.slow}`,
  )
  const [logJudged, codeJudged] = [speed(log, judged), speed(code, judged)]
  record(
    'all of the firewall, clean text',
    Math.min(logJudged, codeJudged),
    ' MB/s',
    JUDGED_MB_PER_SECOND,
    false,
    `log ${logJudged.toFixed(0)}, program ${codeJudged.toFixed(0)}; ${beside}`,
  )
  const hostileJudged = slowestOf([...HOSTILE, ...HOSTILE_WORDS], judged)
  record(
    'all of the firewall, hostile text',
    hostileJudged.slowest,
    ' MB/s',
    JUDGED_MB_PER_SECOND / 3,
    false,
    `${(hostileJudged.slowest / Math.min(logJudged, codeJudged)).toFixed(2)} of clean text; slowest: ${hostileJudged.slow}`,
  )
}
