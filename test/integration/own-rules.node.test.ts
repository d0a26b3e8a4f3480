/**
 * Own rules on a whole daemon: they are data in a file, hold from a reload on without anything else being changed, and a
 * file that cannot be read, or says what no rule may, keeps the daemon from starting.
 * @module
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { decisions, outcome } from './agentic.node.ts'
import { client } from './agents.node.ts'
import { auditEvents, install, type Json, sassEdge, startDaemon, until } from './daemon.node.ts'

const TOLD = { defense: { deny_response: 'reason', levels: { automatic: false } } }
const rule = (name: string, action = 'deny') => ({
  id: `own.${name}`,
  argv: { program: [name] },
  action,
  severity: 'medium',
  description: 'A rule of the test.',
  why: 'It is a test.',
  examples: { match: [`${name} 1`], pass: ['true'] },
})

t.test('patterns are data: what a reload reads holds for the next request (JF-N11, JF-N15)', async (t) => {
  const directory = await install(t, { ...TOLD, policy: { rules_file: 'rules.json' } })
  const path = join(directory, '.sass-edge/rules.json')
  const write = (...rules: object[]) => writeFileSync(path, JSON.stringify({ rules }))
  write()
  const daemon = await startDaemon(t, directory)
  const agent = await client(daemon)
  const came = async () => {
    const before = decisions(daemon).length
    const ends = [await outcome(agent.execute('uname')), await outcome(agent.execute('nproc'))]
    await until('both records', () => decisions(daemon).length === before + 2)
    return [
      ...ends,
      ...decisions(daemon)
        .slice(before)
        .map(({ rule: by }) => by),
    ]
  }
  const reload = async (code = 0) => t.equal((await daemon.cli(['reload'])).code, code)
  t.same(await came(), ['done', 'done', 'all_passed', 'all_passed'])
  write(rule('uname'))
  t.same(await came(), ['done', 'done', 'all_passed', 'all_passed'], 'not before it is told to')
  await reload()
  t.same(await came(), ['CAPABILITY_CMD_DENIED', 'done', 'own.uname', 'all_passed'])
  write(rule('nproc'), rule('uname', 'allow'))
  await reload()
  t.same(await came(), ['done', 'CAPABILITY_CMD_DENIED', 'all_passed', 'own.nproc'])
  writeFileSync(path, '{"rules": [{}]}')
  await reload(125)
  t.same(await came(), ['done', 'CAPABILITY_CMD_DENIED', 'all_passed', 'own.nproc'], 'the old ones hold')
  await agent.close()
})

t.test(
  'a start says whether somebody has changed the rules since the last one (JF-012, JF-040, JF-R41)',
  async (t) => {
    const directory = await install(t, TOLD)
    const started = async (): Promise<Json | undefined> => {
      const daemon = await startDaemon(t, directory)
      await daemon.stop()
      return auditEvents(directory).findLast(({ what }) => what === 'started')
    }
    t.match(await started(), { configuration: 'FIRST', care: undefined })
    t.match(await started(), { configuration: 'VALID', care: undefined })
    const path = join(directory, '.sass-edge/sass.edge.json')
    const config = JSON.parse(readFileSync(path, 'utf8')) as { security: Json }
    writeFileSync(path, JSON.stringify({ ...config, security: { ...config.security, allow_shell: false } }))
    const drifted = await started()
    t.match(drifted, { configuration: 'DRIFT_DETECTED', care: 'C3', severity: 'warning' })
    t.not(drifted?.['denied'], drifted?.['denied_from'])
    t.match(await started(), { configuration: 'VALID', care: undefined })
  },
)

t.test('rules that cannot be read keep the daemon from starting, and nothing is let in', async (t) => {
  const directory = await install(t, { policy: { rules_file: 'rules.json' } })
  const path = join(directory, '.sass-edge/rules.json')
  const spoilt: Readonly<Record<string, () => void>> = {
    'not there': () => {},
    'a directory': () => mkdirSync(path),
    'not JSON': () => writeFileSync(path, '{'),
    'not UTF-8': () => writeFileSync(path, Buffer.from([0x22, 0xff, 0x22])),
    'no rules': () => writeFileSync(path, '{"rules": 7}'),
    'too large': () => writeFileSync(path, `{"rules": [${' '.repeat(20_000_000)}]}`),
    'a rule that is none': () =>
      writeFileSync(path, JSON.stringify({ rules: [{ ...rule('x'), action: 'no' }] })),
  }
  for (const [name, spoil] of Object.entries(spoilt)) {
    rmSync(path, { recursive: true, force: true })
    spoil()
    const { code, stdout, stderr } = await sassEdge(['run', '--json'], { cwd: directory, timeoutMs: 15_000 })
    t.equal(code, 125, `${name}: ${stderr}`)
    t.notMatch(stdout.toString(), '"address"', 'it never listened')
    t.match(stderr, /rules\.json/, name)
  }
  rmSync(path, { recursive: true, force: true })
  writeFileSync(path, '{"rules": []}')
  const daemon = await startDaemon(t, directory)
  const agent = await client(daemon)
  t.equal(await outcome(agent.execute('true')), 'done')
  await agent.close()
  t.ok(auditEvents(directory).some(({ what }) => what === 'started'))
})
