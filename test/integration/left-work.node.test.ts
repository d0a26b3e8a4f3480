/**
 * What commands are asked to leave running: it is its caller's and its session's as long as a process of it lives, counts
 * and is shown as that, and nothing of it is on the host afterwards.
 * @module
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { type Client, connect } from '../../src/client/client.node.ts'
import { type Daemon, sleep, startNew, until } from './daemon.node.ts'
import { sessionGroups } from './session-groups.node.ts'

const MAX_PER_AGENT = 5
/** Some of them would see what hops on, wherever each misses it. */
const LOOKS = 20

function processesNamed(word: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, 'latin1')
      return line.includes(word) && /^\d+$/.test(name) ? [Number(name)] : []
    } catch {
      return []
    }
  })
}

/** Processes that the daemon has begun and that are still there, its threads not among them. */
function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => {
      try {
        return new RegExp(`^\\d+ \\(.*\\) \\S ${pid} `, 's').test(
          readFileSync(`/proc/${name}/stat`, 'latin1'),
        )
      } catch {
        return false
      }
    })
    .map(Number)
}

function come(daemon: Daemon): Promise<Client> {
  const { port, fingerprint: pin } = daemon
  return connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: daemon.seed(), pin })
}

/** One session that leaves something, and goes in order; why it may not, where it may not. */
async function leave(daemon: Daemon, script: string): Promise<string | undefined> {
  const client = await come(daemon)
  try {
    await client.execute('sh', ['-c', script], { keepBackground: true })
    return undefined
  } catch (cause) {
    return cause instanceof Error ? cause.message : 'unknown'
  } finally {
    await client.close()
  }
}

async function isAsBefore(t: Test, daemon: Daemon, before: ReturnType<typeof stateOf>): Promise<void> {
  await until(
    'nothing of it on the host',
    () => {
      const { children, groups, descriptors } = stateOf(daemon)
      return children <= before.children && groups <= before.groups && descriptors <= before.descriptors
    },
    40_000,
  )
  t.pass('no helper, control group or descriptor is left')
}

function stateOf(daemon: Daemon) {
  return {
    children: childrenOf(daemon.pid).length,
    groups: sessionGroups(daemon.pid).length,
    descriptors: daemon.descriptors(),
  }
}

t.test(
  'it counts among its agent’s sessions and commands, is shown, can be ended, and leaves nothing',
  async (t) => {
    const daemon = await startNew(t, { session: { max_per_agent: MAX_PER_AGENT } })
    const word = `7${process.pid}75`
    await leave(daemon, 'true')
    await sleep(1_500)
    const before = stateOf(daemon)
    const refused: string[] = []
    for (let count = 0; count < 7; count++) {
      const problem = await leave(daemon, `sleep ${word} & echo left`)
      if (problem !== undefined) refused.push(problem)
    }
    t.equal(refused.length, 7 - (MAX_PER_AGENT - 1), 'one place stays for whoever wants to look')
    t.match(refused[0], /RESPONSE_THROTTLED|left running/)
    t.equal(processesNamed(`sleep\0${word}`).length, MAX_PER_AGENT - 1)
    const jobs = await daemon.cli(['jobs'])
    t.equal(jobs.stdout.toString().match(/left running/g)?.length, MAX_PER_AGENT - 1, 'jobs shows it')
    const client = await come(daemon)
    const left = (await client.executions()).filter(({ has_left }) => has_left)
    t.equal(left.length, MAX_PER_AGENT - 1, 'to its own agent too')
    for (const { execution_id } of left.slice(1)) await client.cancel(encodeHex(execution_id))
    await until('their end', () => processesNamed(`sleep\0${word}`).length === 1)
    for (const { execution_id } of left.slice(0, 1)) await client.signal(encodeHex(execution_id), 15)
    await until('the end of all', () => processesNamed(`sleep\0${word}`).length === 0)
    await until('an empty list', async () => (await client.executions()).every(({ has_left }) => !has_left))
    await client.close()
    await isAsBefore(t, daemon, before)
    t.equal(await leave(daemon, `sleep 0.1 &`), undefined, 'and there is room again')
    await isAsBefore(t, daemon, before)
  },
)

t.test('what forks anew, in sessions of its own, counts on and is ended whole', async (t) => {
  const daemon = await startNew(t, { capabilities: { default: { max_concurrent: 2 } } })
  const word = `7${process.pid}76`
  writeFileSync(join(daemon.workspace, 'hop.sh'), 'sleep 0.05; setsid sh ./hop.sh "$1" &\n')
  const hopping = `setsid sh ./hop.sh ${word} >/dev/null 2>&1 &`
  const client = await come(daemon)
  for (let count = 0; count < 2; count++)
    await client.execute('sh', ['-c', hopping], { keepBackground: true })
  await sleep(2_500)
  // Each lives for 50 ms, less than a look takes on a machine with many processes: what one look misses another sees.
  await until('a look at one that hops on', () => processesNamed(word).length > 0)
  const left = (await client.executions()).filter(({ has_left }) => has_left)
  t.equal(left.length, 2)
  const late = client.execute('true', []).then(
    () => 'ran',
    () => 'refused',
  )
  t.equal(await Promise.race([late, sleep(500).then(() => 'waits')]), 'waits', 'both places are taken')
  // With one of them goes what nobody can tell apart, so there may be nothing of the other one then.
  for (const { execution_id } of left) await client.cancel(encodeHex(execution_id)).catch(() => undefined)
  await until('the end of all', () => processesNamed(word).length === 0)
  const seen = Array.from({ length: LOOKS }, () => processesNamed(word).length)
  t.ok(
    seen.every((count) => count === 0),
    'and none of many looks sees one',
  )
  t.equal(await late, 'ran')
  await client.close()
})

t.test('it has no more time than its command', async (t) => {
  const daemon = await startNew(t, { capabilities: { default: { timeout_seconds: 2 } } })
  const word = `7${process.pid}77`
  t.equal(await leave(daemon, `sleep ${word} &`), undefined)
  t.equal(processesNamed(`sleep\0${word}`).length, 1)
  await until('its end', () => processesNamed(`sleep\0${word}`).length === 0)
  t.pass('the time of the capability set is over for it too')
})
