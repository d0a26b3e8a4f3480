/**
 * A daemon that is killed while an agent proposes, at moments drawn from a seed: no warrant is carried out twice, by it
 * or by the daemon after it, nothing is carried out that is not on the record before, and a start does nothing by itself.
 * Rules: docs/proposals.md, "Limits".
 * @module
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Client } from '../../src/client/client.node.ts'
import { userInput } from '../../src/intent/proposals/observations.ts'
import { candidate } from '../intent/proposals/ground.node.ts'
import { SHORT } from './agentic.node.ts'
import { client } from './agents.node.ts'
import { auditEvents, type Daemon, install, type Json, sleep, startDaemon, until } from './daemon.node.ts'

const SAY = 'Hello'
const claim = { observation_ids: [userInput(SAY).id] }
const KILLS = 6
const SPREAD_MS = 150
/** Of the generator of Numerical Recipes. */
const [FACTOR, ADDED] = [1_664_525, 1_013_904_223]

/** Another one for each daemon: two sessions that ask for the same in the same second would have warrants of one name. */
const requests = (message: string) => [
  { type: 'WriteLocal', fields: { path: './workspace/made', content: message } },
  { type: 'Notify', fields: { target: 'local_log', message } },
]

/** Proposes the same again and again until the device is gone. */
async function propose(agent: Client, times: number, message: string): Promise<void> {
  try {
    for (let time = 0; time < times; time++)
      for (const request of requests(message))
        await agent.proposals.decide({ candidates: [candidate({ ...request, claim })], said: SAY })
  } catch {
    // It was killed.
  } finally {
    await agent.close().catch(() => {})
  }
}

/** Warrants that the log says were carried out, in their order. */
const carriedOut = (daemon: Daemon): string[] =>
  daemon.log().flatMap((line) => /proposal_notify.* warrant=([0-9a-f]{64})/.exec(line)?.[1] ?? [])

const ofProposals = (directory: string): Json[] =>
  auditEvents(directory).filter(({ type }) => String(type).startsWith('proposal_'))

t.test(
  'a warrant is carried out once, whenever the daemon is killed (RX-25)',
  { timeout: 180_000 },
  async (t) => {
    const directory = await install(t, SHORT)
    mkdirSync(join(directory, '.sass-edge/workspace/proposals/workspace'), { recursive: true })
    const done: string[] = []
    let state = 7
    for (let kill = 0; kill < KILLS; kill++) {
      const before = kill === 0 ? 0 : ofProposals(directory).length
      const daemon = await startDaemon(t, directory)
      t.equal(ofProposals(directory).length, before, 'a start goes on with nothing')
      const proposing = propose(await client(daemon), 1_000, `${kill}`)
      state = (Math.imul(state, FACTOR) + ADDED) >>> 0
      await until('one is carried out', () => carriedOut(daemon).length > 0)
      await sleep((state / 2 ** 32) * SPREAD_MS)
      daemon.signal('SIGKILL')
      await daemon.ended
      await proposing
      done.push(...carriedOut(daemon))
    }
    const last = await startDaemon(t, directory)
    await propose(await client(last), 1, 'last')
    done.push(...carriedOut(last))
    await last.stop()

    const records = ofProposals(directory)
    const permitted = records.filter(
      ({ type, decision }) => type === 'proposal_artifacts' && decision === 'ACTION',
    )
    const ended = records.filter(({ type, result }) => type === 'proposal_execution' && result !== null)
    t.ok(done.length > KILLS, `${done.length} were carried out`)
    t.equal(new Set(done).size, done.length, 'each once')
    const known = new Set(permitted.map(({ artifact }) => artifact))
    t.same(
      done.filter((warrant) => !known.has(warrant)),
      [],
      'each on the record',
    )
    t.equal(new Set(ended.map(({ warrant }) => warrant)).size, ended.length, 'each ended once')
    t.ok(permitted.length - ended.length <= KILLS, 'at most the one that was cut off has no end')
    t.equal((await last.cli(['audit', 'verify'])).code, 0)
    t.equal((await last.cli(['audit', 'replay'])).code, 0)
  },
)
