/**
 * How much one command and one session may have: time, output, tokens, and the place below which all of it stays.
 * @module
 */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { question } from './agents.node.ts'
import { ON_REAL_FILES, sleep, startNew, until } from './daemon.node.ts'

const REFUSES = { defense: { deny_response: 'reason', levels: { automatic: false } } }

t.test(
  'a command over its time is ended with everything that it started, also what ignores it (OS-13)',
  async (t) => {
    const daemon = await startNew(t, { ...ON_REAL_FILES, quota: { tool_timeout_seconds: 1 } })
    const script =
      'trap "" TERM; (trap "" TERM; sleep 7654; echo a >ended) & echo $$ >leader; sleep 7655; echo b >ended'
    const { code, stderr } = await daemon.cli(['exec', '--', 'sh', '-c', script])
    t.equal(code, 124)
    t.match(stderr, /time of the command was over/)
    const leader = readFileSync(join(daemon.workspace, 'leader'), 'utf8').trim()
    await until('the end of its group', () => {
      try {
        process.kill(-Number(leader), 0)
        return false
      } catch {
        return true
      }
    })
    t.notOk(existsSync(join(daemon.workspace, 'ended')), 'nothing of it went on')
  },
)

t.test('what an agent has left can be asked for, and its time ends it (JF-R03)', async (t) => {
  const daemon = await startNew(t, { ...ON_REAL_FILES, quota: { tool_timeout_seconds: 3 } })
  const { port, fingerprint: pin } = daemon
  const privateKey = daemon.seed()
  const device = await connect({ host: '127.0.0.1', port, agent: 'agent', privateKey, pin })
  const { id, started, exit } = device.stream('sh', ['-c', 'echo $$ >left; sleep 7656'], { output() {} })
  exit.catch(() => {})
  await started
  await device.close()
  const state = async () => {
    const { stdout } = await daemon.cli(['jobs', '--all', '--json'])
    const { jobs } = JSON.parse(stdout.toString()) as { jobs: { id: string; state: string; agent: string }[] }
    return jobs.find((job) => job.id === id)
  }
  t.match(await state(), { agent: 'agent', state: 'running' })
  await until('its end', async () => (await state())?.state === 'finished')
  const left = Number(readFileSync(join(daemon.workspace, 'left'), 'utf8'))
  t.throws(() => process.kill(left, 0), { code: 'ESRCH' })
})

t.test(
  'output over its bound is cut off, said to be, and the command goes on to its end (OS-14, JF-047)',
  async (t) => {
    const daemon = await startNew(t, { ...ON_REAL_FILES, quota: { output_bytes: 1_000_000 } })
    const script = 'head -c 3000000 /dev/zero; head -c 10 /dev/zero >&2; echo done >done'
    const { code, stdout, stderr } = await daemon.cli(['exec', '--', 'sh', '-c', script])
    t.equal(code, 0)
    t.equal(stdout.length, 1_000_000)
    t.match(stderr, /output went over the limit of the device/)
    t.equal(readFileSync(join(daemon.workspace, 'done'), 'utf8'), 'done\n')
    const exact = await daemon.cli(['exec', '--', 'head', '-c', '1000000', '/dev/zero'])
    t.equal(exact.stdout.length, 1_000_000)
    t.equal(exact.stderr, '', 'what is just at the bound is whole')
  },
)

t.test('a session that has been given its tokens gets no work until a human says so (OS-12)', async (t) => {
  // Four bytes are a token: each command delivers 1,000 of them.
  const daemon = await startNew(t, { ...REFUSES, quota: { tokens_per_session: 1_500 } })
  const { port, fingerprint: pin } = daemon
  const device = await connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: daemon.seed(), pin })
  t.teardown(() => device.close())
  const work = () => device.execute('head', ['-c', '4000', '/dev/zero'])
  for (const _ of [1, 2]) t.equal((await work()).stdout.length, 4_000)
  for (const answer of ['deny', 'approve']) {
    const asked = work().then(
      ({ stdout }) => stdout.length,
      ({ code }: { code?: unknown }) => code,
    )
    const { id, rule } = await question(daemon)
    t.equal(rule, 'quota.tokens_per_session')
    t.equal((await daemon.cli(['confirm', answer, id, '--yes'])).code, 0)
    t.equal(await asked, answer === 'approve' ? 4_000 : 'CONFIRMATION_DENIED')
  }
  t.equal((await work()).stdout.length, 4_000, 'what a human allowed counts anew')
})

t.test(
  'a session past its time gives its rings and its place back when its last command ends (SS-16)',
  async (t) => {
    const daemon = await startNew(t, { session: { max_duration_seconds: 1 } })
    const { code } = await daemon.cli(['exec', '--detach', '--', 'sh', '-c', 'sleep 12; echo ended'])
    t.equal(code, 0)
    const used = async () => {
      const { active_processes, device } = JSON.parse(
        (await daemon.cli(['status', '--json'])).stdout.toString(),
      )
      return { processes: active_processes, rings: device.rings_used }
    }
    t.same(await used(), { processes: 1, rings: 1 })
    await sleep(1_500)
    t.same(await used(), { processes: 1, rings: 1 }, 'nothing ends because its client is away')
    await until('its end', async () => (await used()).processes === 0)
    t.same(await used(), { processes: 0, rings: 0 })
  },
)

t.test(
  'as it is installed, nothing above the workspace is read or written, however it is named (OS-02)',
  async (t) => {
    const daemon = await startNew(t, REFUSES)
    const above = join(daemon.workspace, '..', 'above.txt')
    writeFileSync(above, 'above')
    mkdirSync(join(daemon.workspace, 'data'))
    symlinkSync(above, join(daemon.workspace, 'link'))
    const attempts: readonly (readonly string[])[] = [
      ['cat', '../above.txt'],
      ['cat', above],
      ['cat', 'data/../../above.txt'],
      ['cat', 'link'],
      ['sh', '-c', 'cd .. && cat above.txt'],
      ['tee', '../above.txt'],
      ['cp', '../above.txt', 'copy'],
    ]
    for (const attempt of attempts) {
      const { code, stdout } = await daemon.cli(['exec', '--', ...attempt], { input: 'changed' })
      t.not(code, 0, attempt.join(' '))
      t.notMatch(stdout.toString(), 'above', attempt.join(' '))
    }
    for (const path of ['../above.txt', above, 'link'])
      t.not((await daemon.cli(['cp', `:${path}`, 'fetched'])).code, 0, path)
    t.notOk(existsSync(join(daemon.directory, 'fetched')))
    t.equal(readFileSync(above, 'utf8'), 'above')
  },
)
