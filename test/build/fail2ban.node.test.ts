/**
 * The filter for fail2ban against lines as the daemon writes them: by its expressions, by fail2ban itself where that is
 * installed, and against whoever would have somebody else kept out.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { createLog } from '../../src/edge/host/log.node.ts'
import { authenticateFrame, tls } from '../integration/connections.node.ts'
import { install, ROOT, startDaemon, temporary, until } from '../integration/daemon.node.ts'
import { stageClock } from '../session/stage.ts'

const FILTER = join(ROOT, 'targets/install/fail2ban/filter.conf')
const JAIL = join(ROOT, 'targets/install/fail2ban/jail.conf')
/** What fail2ban takes out of a line before it asks the expressions. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/
const HOST = '(?<host>[0-9a-fA-F:.]+)'

/** The expressions of the filter, as fail2ban puts them together for a mode. */
function expressions(mode: 'normal' | 'aggressive'): RegExp[] {
  const values = new Map<string, string>()
  let last = ''
  for (const line of readFileSync(FILTER, 'utf8').split('\n')) {
    const match = /^(\w+) = ?(.*)$/.exec(line)
    if (match !== null) {
      last = match[1] ?? ''
      values.set(last, match[2] ?? '')
    } else if (/^\s+\S/.test(line)) values.set(last, `${values.get(last)}\n${line.trim()}`)
  }
  values.set('mode', mode)
  const filled = (text: string): string => {
    const next = text.replaceAll(/<(\w+)>/g, (tag, name: string) =>
      name === 'HOST' ? HOST : (values.get(name) ?? tag),
    )
    return next === text ? text : filled(next)
  }
  return (values.get('failregex') ?? '').split('\n').map((text) => new RegExp(filled(text)))
}

function hostOf(line: string, mode: 'normal' | 'aggressive' = 'normal'): string | undefined {
  const rest = line.replace(TIME, '').trimEnd()
  for (const expression of expressions(mode)) {
    const host = expression.exec(rest)?.groups?.['host']
    if (host !== undefined) return host
  }
  return undefined
}

type Fields = Readonly<Record<string, string | number>>

/** The line that the log writes of that. */
function lineOf(event: string, fields: Fields): string {
  const lines: string[] = []
  createLog('text', 'debug', stageClock(), (line) => lines.push(line) > 0).write('warn', event, fields)
  return lines[0] ?? ''
}

const refused = (change: Fields = {}): string =>
  lineOf('refused', {
    source: '192.0.2.7',
    agent: '-',
    method: 'Authenticate',
    response: 'TARPIT',
    layer: 'identity',
    rule: 'authenticate',
    seq: 12,
    reason: 'The signature is not right.',
    ...change,
  })

t.test('offences are found with their address, whatever family it is of', (t) => {
  for (const source of ['192.0.2.7', '2001:db8::7', '::1']) {
    for (const rule of [
      'authenticate',
      'before_authenticate',
      'challenge.wrong',
      'frame',
      'login_grace',
      'session.unknown',
      'tls',
    ])
      t.equal(hostOf(refused({ source, rule })), source, rule)
    t.equal(hostOf(lineOf('penalty', { source, reason: 'no_auth' })), source)
  }
  t.equal(hostOf(refused({ rule: 'acl.penalties' })), undefined)
  t.equal(hostOf(refused({ rule: 'acl.penalties' }), 'aggressive'), '192.0.2.7')
  t.equal(hostOf(refused(), 'aggressive'), '192.0.2.7')
  t.end()
})

t.test('what is no offence of a stranger is none here', (t) => {
  for (const change of [
    { agent: 'bot', method: 'Execute', layer: 'capability', rule: 'default.denied_commands' },
    { rule: 'acl.allow' },
    { rule: 'acl.early_drop' },
    { rule: 'crowd' },
    { rule: 'authenticated' },
    { rule: 'xframe' },
  ])
    t.equal(hostOf(refused(change), 'aggressive'), undefined, JSON.stringify(change))
  t.equal(hostOf(lineOf('listening', { address: '192.0.2.7:1' })), undefined)
  t.equal(hostOf(lineOf('tls', { source: '192.0.2.7', rule: 'tls' })), undefined)
  t.end()
})

t.test('nobody has somebody else kept out by what he calls himself or sends', (t) => {
  const forged = 'warn penalty source=203.0.113.9 reason=auth_failed'
  const lures = [
    forged,
    `\n2027-01-15T08:00:01.000Z ${forged}`,
    `" ${forged}`,
    `\\" ${forged}`,
    `x source=203.0.113.9 agent=- method=- response=DROP layer=acl rule=tls reason=y`,
    `host sass-edge[1]: ${forged}`,
    `<4>${forged}`,
    `203.0.113.9`,
  ]
  for (const lure of lures)
    for (const field of ['agent', 'method', 'response', 'layer', 'rule', 'reason'])
      for (const rule of ['authenticate', 'default.denied_commands']) {
        const line = refused({ rule, [field]: lure })
        t.equal(line.split('\n').length, 2, 'one line')
        const host = hostOf(line, 'aggressive')
        t.ok(host === undefined || host === '192.0.2.7', `${field}: ${lure}`)
      }
  for (const event of ['connection_failed', 'request_failed', 'confirmation', 'branch'])
    for (const lure of lures)
      for (const key of ['source', 'reason', 'agent', 'shown'])
        t.equal(hostOf(lineOf(event, { [key]: lure }), 'aggressive'), undefined)
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => {
      const host = hostOf(refused({ agent: text, method: text, reason: `${text} ${forged}` }), 'aggressive')
      return host === undefined || host === '192.0.2.7'
    }),
    { numRuns: 300 },
  )
  t.end()
})

t.test('the jail names the filter, and both are for the same unit', (t) => {
  t.match(
    readFileSync(JAIL, 'utf8'),
    /^\[sass-edge\]$[\s\S]*^filter {3}= sass-edge$[\s\S]*^port {5}= 19284$/m,
  )
  t.match(readFileSync(FILTER, 'utf8'), /^journalmatch = _SYSTEMD_UNIT=sass-edge\.service$/m)
  t.end()
})

/** The addresses that fail2ban itself finds in a file. */
function banned(log: string, mode: string): string[] {
  const { stdout, stderr, status } = spawnSync(
    'fail2ban-regex',
    ['-o', 'ip', log, `${FILTER}[mode=${mode}]`],
    {
      encoding: 'utf8',
    },
  )
  if (status !== 0) throw new Error(stderr)
  return stdout.split('\n').filter(Boolean)
}

t.test(
  'fail2ban finds those that a real daemon has refused, by both families, and nobody else',
  async (t) => {
    if (spawnSync('fail2ban-regex', ['--version']).status !== 0)
      return void t.comment('skipped: fail2ban-regex is not installed here (Debian: fail2ban)')
    const directory = await install(t, {
      listen: { address: '::' },
      log: { file: 'edge.log' },
      acl: { penalties: { exempt: [] } },
      defense: { tarpit: { mode: 'hold' } },
      capabilities: { default: { denied_commands: ['reboot'] } },
    })
    const daemon = await startDaemon(t, directory)
    const log = join(directory, '.sass-edge/edge.log')
    const text = (): string => readFileSync(log, 'utf8')
    await daemon.cli(['exec', '--timeout', '1', '--', 'reboot'], { timeoutMs: 4_000 })
    for (const host of ['127.0.0.1', '::1'])
      for (let count = 1; count <= 4; count++) {
        const wire = await tls(daemon.port, { host })
        const signature = new Uint8Array(64).fill(count)
        wire.socket.write(authenticateFrame(wire.socket, 'agent', daemon.seed(), { signature }))
        const line = new RegExp(` refused source=${host} .*rule=authenticate `, 'g')
        await until('it is refused', () => text().match(line)?.length === count)
      }
    await tls(daemon.port)
    await until('it is kept out', () => text().includes('rule=acl.penalties'))
    const count = (found: string[], host: string) => found.filter((one) => one === host).length
    const found = banned(log, 'normal')
    t.equal(count(found, '127.0.0.1'), 5, 'four proofs and a penalty')
    t.equal(count(found, '::1'), 5)
    t.equal(found.length, 10, 'and nothing of the agent that was refused a command')
    t.equal(count(banned(log, 'aggressive'), '127.0.0.1'), 6)
    const ours = text()
      .split('\n')
      .flatMap((line) => hostOf(line) ?? [])
    t.strictSame(ours, found, 'the expressions are read here as fail2ban reads them')

    // As the journal shows them.
    const journal = join(temporary(t), 'journal')

    writeFileSync(
      journal,
      text()
        .split('\n')
        .map((line) => line.replace(TIME, 'Nov 22 19:20:59 board sass-edge[123]:'))
        .join('\n'),
    )
    t.strictSame(banned(journal, 'normal'), found)
  },
)
