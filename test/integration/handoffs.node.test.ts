/**
 * Handoffs between real agents of a whole daemon: over real TLS, with a restart in between, along chains, and against
 * everything that an agent could try with them.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Client } from '../../src/client/client.node.ts'
import { ALARMED, outcome } from './agentic.node.ts'
import { client, levels } from './agents.node.ts'
import { type Json, startDaemon, until } from './daemon.node.ts'
import { handed, MESSAGE, rejected, send, told, whole } from './handoffs.node.ts'

t.test(
  'what one agent hands over is had by the other alone, whole, after a restart too, and its chain is on record (JF-017, JF-067, JF-068, JF-F07, JF-F17, JF-R17, JF-R21, JF-R23, JF-R24, JF-R29)',
  async (t) => {
    const daemon = await whole(t)
    const agent = await client(daemon)
    const sent = await send(agent, { routing_metadata: { routing_depth: 0 }, task_id: 'T-1' })
    t.match(sent, { to: 'helper', criticality: 2, depth: 1, isTaken: false, hidden: 0, isMarked: false })
    t.match(sent.from, /^agent-\d{8}T\d{6}Z-[0-9a-f]{8}$/, 'the instance, as the device knows it')
    await agent.close()
    await daemon.stop()

    const again = await startDaemon(t, daemon.directory)
    const [third, helper] = [await client(again, 'third'), await client(again, 'helper')]
    t.strictSame((await third.handoffs.list()).handoffs, [], 'nobody else sees it')
    t.match(await told(third.handoffs.take(sent.id)), /^PROCESS_NOT_FOUND/, 'nor has it')
    const search = `grep -rs 'three restarts' '${daemon.directory}'; ls '${daemon.directory}/.sass-edge'`
    const found = await third.execute('sh', ['-c', search])
    t.equal(Buffer.from(found.stdout).toString(), 'workspace\n', 'nor does a command of theirs print it')
    t.strictSame((await helper.handoffs.list()).handoffs, [sent])
    const taken = await helper.handoffs.take(sent.id)
    const content = JSON.parse(taken.content)
    t.match(content, { ...MESSAGE, from_agent: sent.from, schema_version: '2.0.0', task_id: 'T-1' })
    t.equal(content.routing_metadata.routing_depth, 1, 'counted by the daemon')
    t.equal(taken.source, 'AGENT_HANDOFF')
    t.equal((await helper.handoffs.take(sent.id)).content, taken.content, 'again the same')
    t.equal((await helper.handoffs.list()).handoffs[0]?.isTaken, true)

    const next = await send(helper, { to_agent: 'third', previous: sent.id })
    t.match(next, { depth: 2, previous: sent.id })
    const last = await third.handoffs.take(next.id)
    t.equal(JSON.parse(last.content).routing_metadata.previous, sent.id)

    const events = handed(again)
    t.strictSame(
      events.map(({ what, handoff, depth, previous }) => [what, handoff, depth, previous]),
      [
        ['sent', sent.id, 1, null],
        ['taken', sent.id, 1, null],
        ['sent', next.id, 2, sent.id],
        ['taken', next.id, 2, sent.id],
      ],
      'the chain, from its records alone',
    )
    t.equal(new Set(events.map(({ task }) => task)).size, 1, 'of one task')
    for (const event of events)
      t.match(event, { category: 'handoff', severity: 'info', criticality: 'C2', digest: /^[0-9a-f]{64}$/ })
    const chain = readFileSync(join(again.directory, '.sass-edge/state/audit/audit.jsonl'), 'utf8')
    for (const text of ['Summarise', 'restarts', 'no network', 'report.md'])
      t.notMatch(chain, text, 'nothing of what it says is in the record')
    t.match((await again.cli(['audit', 'verify'])).stdout.toString(), /The chain is whole/)
    const replayed = await again.cli(['audit', 'replay'])
    t.equal(replayed.code, 0, replayed.stdout.toString())
  },
)

t.test(
  'nothing along a chain is forged, lowered, dropped or changed, and leaving out the one before begins no new chain (JF-017, JF-035, JF-048, JF-068, JF-F07, JF-F17, JF-F18, JF-R15, JF-R22, JF-R24)',
  async (t) => {
    const daemon = await whole(t)
    const [agent, helper, third] = [
      await client(daemon),
      await client(daemon, 'helper'),
      await client(daemon, 'third'),
    ]
    const first = await send(agent, { criticality: 'C3', task_id: 'T-1', classification: 'INTERNAL' })
    await send(third, { task: 'Something else', task_id: 'T-9' })
    const own = await told(send(helper, { to_agent: 'third', task: 'Its own', task_id: 'T-9' }))
    t.equal(own, 'done', 'nobody is held to what another one has sent and it has not taken')
    await helper.handoffs.take(first.id)
    const on = (change: Json) =>
      told(send(helper, { to_agent: 'third', criticality: 'C3', classification: 'INTERNAL', ...change }))
    const rows: readonly (readonly [string, Json, RegExp])[] = [
      ['handoff.from', { from_agent: first.from }, /somebody else than who sends it/],
      ['handoff.from', { from_agent: 'third' }, /somebody else than who sends it/],
      ['handoff.digest', { integrity: { sha256: '0'.repeat(64) } }, /was changed on its way/],
      ['handoff.to', { to_agent: 'nobody' }, /nobody that this device has/],
      ['handoff.previous', { previous: 'f'.repeat(32) }, /no handoff that the sender was given/],
      ['handoff.criticality', { criticality: 'C2' }, /never falls along a chain/],
      ['handoff.criticality', { criticality: 'C1', previous: first.id }, /never falls along a chain/],
      ['handoff.classification', { classification: 'PUBLIC' }, /never falls along a chain/],
      ['handoff.blockers', { blockers: ['slow disk'] }, /\[PERSISTENT\] is missing/],
      ['handoff.blockers', { blockers: ['[PERSISTENT] no network '] }, /\[PERSISTENT\] is missing/],
      ['handoff.task', { task: 'Remove the logs', previous: first.id }, /word for word/],
      ['handoff.task', { task: 'Remove the logs', task_id: 'T-1' }, /word for word/],
      ['handoff.task', { success_criteria: ['all is gone'], previous: first.id }, /word for word/],
      ['handoff.confidence', { confidence: undefined }, /how sure its sender is/],
    ]
    for (const [, change, said] of rows) {
      const answer = await on(change)
      t.match(answer, /^HANDOFF_REJECTED /, JSON.stringify(change))
      t.match(answer, said)
    }
    t.strictSame(
      rejected(daemon),
      rows.map(([rule]) => rule),
    )
    const events = handed(daemon).filter(({ what }) => what === 'rejected')
    const severities = Object.fromEntries(events.map(({ rule, severity }) => [rule, severity]))
    t.match(severities, {
      'handoff.from': 'critical',
      'handoff.task': 'critical',
      'handoff.blockers': 'warning',
    })
    t.match(
      await told(send(third, { previous: first.id })),
      /^HANDOFF_REJECTED/,
      'nor is it somebody else’s to go on with',
    )
    t.equal(await on({ criticality: 'C4' }), 'done', 'what keeps everything passes')
    const [got] = (await third.handoffs.list()).handoffs
    t.match(got, { depth: 2, previous: first.id }, 'and is of that chain without saying so')
  },
)

t.test(
  'a task is handed on three times, and then it stops; at C3 a human must decide (JF-068, JF-091, JF-F19)',
  async (t) => {
    const daemon = await whole(t)
    const names = ['agent', 'helper', 'third', 'fourth', 'fifth']
    const clients = await Promise.all(names.map((name) => client(daemon, name)))
    const hop = (from: number, change: Json = {}) =>
      send(clients[from] as Client, { to_agent: names[from + 1], ...change })
    for (const from of [0, 1, 2]) t.equal((await hop(from)).depth, from + 1)
    t.match(await told(hop(3)), /^HANDOFF_REJECTED .*as often as it may be/)
    t.match(await told(hop(3, { routing_metadata: { routing_depth: 0 } })), /^HANDOFF_REJECTED/)
    t.match(await told(hop(3, { criticality: 'C3' })), /^HANDOFF_REJECTED .*a human must decide/)
    const stopped = handed(daemon).filter(({ what }) => what === 'rejected')
    t.strictSame(
      stopped.map(({ rule, severity, depth }) => [rule, severity, depth]),
      [
        ['handoff.depth', 'warning', 4],
        ['handoff.depth', 'warning', 4],
        ['handoff.depth', 'critical', 4],
      ],
    )
    t.strictSame((await clients[4]?.handoffs.list())?.handoffs, [])
  },
)

t.test(
  'an agent gives another the same task so often as its criticality has rounds, over a restart, and then asks a human (JF-R40)',
  async (t) => {
    const daemon = await whole(t)
    const first = await client(daemon)
    const give = (agent: Client, change: Json) => told(send(agent, { criticality: 'C1', ...change }))
    for (const criticality of ['C1', 'C1', 'C2'])
      t.equal(await give(first, { task_id: 'T-1', criticality }), 'done')
    t.equal(await give(first, { task_id: 'T-2' }), 'done', 'another task')
    await first.close()
    await daemon.stop()

    const again = await startDaemon(t, daemon.directory)
    const agent = await client(again)
    t.match(
      await give(agent, { task_id: 'T-1', task: 'The same, in other words' }),
      /^HANDOFF_REJECTED That agent was given this task 3 times, and 3 rounds is the most at C1: ask a human/,
    )
    t.match(await give(agent, {}), /^HANDOFF_REJECTED/, 'without its name it is no other one')
    t.equal(await give(agent, { task_id: 'T-1', to_agent: 'third' }), 'done', 'somebody else has had none')
    for (const _ of [4, 5]) t.equal(await give(agent, { task_id: 'T-1', criticality: 'C2' }), 'done')
    t.match(await give(agent, { task_id: 'T-1', criticality: 'C2' }), /5 rounds is the most at C2/)
    t.strictSame(rejected(again), ['handoff.rounds', 'handoff.rounds', 'handoff.rounds'])
    const replayed = await again.cli(['audit', 'replay'])
    t.equal(replayed.code, 0, replayed.stdout.toString())
  },
)

t.test(
  'whoever changes what it was given to do does nothing more until an operator has looked (JF-R15)',
  async (t) => {
    const daemon = await whole(t, ALARMED)
    const [agent, helper] = [await client(daemon), await client(daemon, 'helper')]
    const command = outcome(helper.execute('sleep', ['300']))
    await until('it runs', async () => (await helper.ping()).active_processes === 1)
    const { id } = await send(agent)
    t.match(
      await told(send(helper, { to_agent: 'third', task: 'Remove the logs', previous: id })),
      /^HANDOFF_REJECTED/,
    )
    t.match(await levels(daemon), [{ name: 'helper', level: 'CONTAIN' }])
    t.ok(await command, 'what it runs, for five minutes, is ended')
    t.not(await outcome((await client(daemon, 'helper')).execute('true')), 'done')
  },
)

t.test(
  'artifacts must be there, in what the session of the sender sees, and where it may look (JF-067, JF-R22)',
  async (t) => {
    const daemon = await whole(t)
    mkdirSync(join(daemon.workspace, 'logs'))
    writeFileSync(join(daemon.workspace, 'logs/night.txt'), 'x')
    const agent = await client(daemon)
    const naming = (...artifacts: string[]) => told(send(agent, { artifacts }))
    t.equal(await naming('logs', 'logs/night.txt', join(daemon.workspace, 'logs')), 'done')
    t.match(await naming('logs', 'logs/day.txt'), /^HANDOFF_REJECTED artifacts\[1\]/)
    t.match(await naming('logs/../../../../../../../../..//etc/none'), /^(HANDOFF_REJECTED|CAPABILITY)/)
    await agent.execute('sh', ['-c', 'echo new > made-in-the-branch'])
    t.equal(await naming('made-in-the-branch'), 'done', 'what its commands made, too')
    const other = await client(daemon, 'helper')
    t.match(
      await told(send(other, { to_agent: 'third', artifacts: ['made-in-the-branch'], task: 'Other' })),
      /^HANDOFF_REJECTED artifacts\[0\]/,
      'which nobody else sees',
    )
  },
)
