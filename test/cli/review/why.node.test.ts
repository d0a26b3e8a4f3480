import { join } from 'node:path'
import t from 'tap'
import { stagedJournal } from '../../audit/staged-journal.node.ts'
import { runMain } from '../run-main.node.ts'

/** An installation whose daemon does not run, and a chain that it has written. */
function installation(directory: string): void {
  const journal = stagedJournal(join(directory, 'state/audit'))
  journal.append({ type: 'daemon', what: 'started\u001b[2J' })
  journal.append({
    type: 'decision',
    source: '192.0.2.7',
    agent: 'ci',
    session: 'ab'.repeat(16),
    method: 'ExecuteStream',
    action: 'execute',
    action_digest: 'cd'.repeat(32),
    execution: null,
    response: 'R4',
    layer: 'capability',
    rule: 'default.denied_commands',
    code: 'CAPABILITY_CMD_DENIED',
    severity: 'critical',
  })
  journal.close()
}

// The socket is named, so that no daemon of this machine can be meant.
const CONFIG = '{"state_directory": "state", "listen": {"admin_socket": "/tmp/sass-edge-why-test/none.sock"}}'
const why = (directory: string, ...words: string[]) =>
  runMain(directory, ['why', ...words, '--config', 'c.json'])

t.test('where no daemon runs, the record of the chain is explained, its severity too (JF-N10)', async (t) => {
  const directory = t.testdir({ 'c.json': CONFIG })
  installation(directory)
  const run = await why(directory, '3')
  t.match(run, { code: 0, stderr: '' })
  for (const part of [
    /^asked +execute, of which the record has the digest (cd){32} alone$/m,
    /^response +R4 VI_SWAP$/m,
    /^decided by +capability, default\.denied_commands$/m,
    /^code +CAPABILITY_CMD_DENIED$/m,
    /^severity +critical$/m,
    /^what to do +Add the command or path to the capability set/m,
    /^who +ci, from 192\.0\.2\.7$/m,
    /^session +(ab){16}$/m,
    /^when +2026-01-02T03:04:05\.678Z$/m,
  ])
    t.match(run.stdout, part)
  t.notMatch(run.stdout, /execution/, 'what the record does not say is not there')
  const json = JSON.parse((await why(directory, '3', '--json')).stdout)
  t.match(json, { seq: 3, from: 'chain', response: 'R4 VI_SWAP', advice: /capability set/ })
  t.match(json.event, { agent: 'ci', code: 'CAPABILITY_CMD_DENIED' })
})

t.test('a record that is no decision is shown as what it is, and steers no terminal', async (t) => {
  const directory = t.testdir({ 'c.json': CONFIG })
  installation(directory)
  const run = await why(directory, '2')
  t.match(run, { code: 0, stderr: '' })
  t.match(
    run.stdout,
    /^Record 2 is no decision but: daemon, 2026-01-02T03:04:05.678Z\n(?: {2}[a-z]+ +[a-z]+\n){3} {2}what +started\\x1b\[2J\n$/,
  )
})

t.test('a number that is none, or of no record, is a local mistake', async (t) => {
  const directory = t.testdir({ 'c.json': CONFIG })
  installation(directory)
  t.match(await why(directory, '4'), { code: 125, stderr: /has no record 4; its last one is 3/ })
  for (const words of [[], ['0'], ['-1'], ['x'], ['1.5']])
    t.match(await why(directory, ...words), { code: 125, stderr: /^sass-edge: / }, words.join())
  t.match(await why(directory, '2', '2'), { code: 125, stderr: /one word too many/ })
})

t.test('another device is asked itself: its chain is not here', async (t) => {
  const directory = t.testdir({ 'c.json': CONFIG })
  installation(directory)
  const run = await why(directory, '3', '--target', '127.0.0.1:1')
  t.equal(run.code === 125 || run.code === 255, true)
  t.equal(run.stdout, '')
})
