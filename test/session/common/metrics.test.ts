/**
 * What is exposed to a scraper: of the format, of a bounded length, and nothing in it that a caller has chosen.
 * @module
 */
import t from 'tap'
import { LAYER_NAMES, RESPONSES } from '../../../src/defense/verdict.ts'
import { METRICS_BYTES } from '../../../src/limits.ts'
import { metricsText } from '../../../src/session/common/metrics.ts'
import { penalise } from '../../../src/session/common/penalise.ts'
import { readExposition, sampleOf } from '../../integration/exposition.ts'
import { connect, stageRooms } from '../stage.ts'

t.test('the text is what the format allows, and says what the rooms say', (t) => {
  const stage = stageRooms()
  const before = readExposition(metricsText(stage.rooms))
  t.equal(sampleOf(before, 'sass_edge_build_info', 'version="0.0.0",runtime="node 26.10.0"'), 1)
  t.equal(sampleOf(before, 'sass_edge_connections', 'phase="unauthenticated"'), 0)
  t.notOk(before.has('process_virtual_memory_bytes'), 'what this system does not tell is absent')
  connect(stage)
  const after = readExposition(metricsText(stage.rooms))
  t.equal(sampleOf(after, 'sass_edge_connections', 'phase="unauthenticated"'), 1)
  t.equal(sampleOf(after, 'sass_edge_connections', 'phase="handshake"'), 0)
  t.equal(sampleOf(after, 'sass_edge_connections_total', 'transport="tls"'), 1)
  t.equal(sampleOf(after, 'sass_edge_verdicts_total', 'layer="all",response="EXECUTE"'), 1)
  t.end()
})

t.test('an offence is counted by its reason, and a penalty where it begins', (t) => {
  const { rooms, logged } = stageRooms()
  for (const address of ['192.0.2.7', '2001:db8::1'])
    for (let count = 0; count < 4; count++) penalise(rooms, address, 'auth_failed')
  penalise(rooms, 'local', 'violation')
  const families = readExposition(metricsText(rooms))
  t.equal(sampleOf(families, 'sass_edge_offences_total', 'reason="auth_failed"'), 8)
  t.equal(sampleOf(families, 'sass_edge_offences_total', 'reason="violation"'), 0, 'who has no address')
  t.equal(sampleOf(families, 'sass_edge_penalties_total'), 2)
  t.equal(sampleOf(families, 'sass_edge_penalties_active'), 2)
  t.match(
    logged.filter(({ event }) => event === 'penalty').map(({ fields }) => fields),
    [
      { source: '192.0.2.7', reason: 'auth_failed' },
      { source: '2001:db8::1', reason: 'auth_failed' },
    ],
  )
  t.end()
})

t.test('nobody outside makes it longer: addresses, names and rules are in no label', (t) => {
  const { rooms } = stageRooms()
  for (let index = 0; index < 500; index++) {
    penalise(rooms, `198.51.${index >> 8}.${index & 255}`, 'violation')
    rooms.levels.set('agent', `agent-${index}`, 'CONTAIN', 'why', 'op')
  }
  // As many as there are layers and responses, and no more.
  for (const layer of [...LAYER_NAMES, 'all'])
    for (const response of [...RESPONSES, 'STATUS'])
      rooms.counts.verdicts.set(`${layer} ${response}`, 2 ** 52)
  const text = metricsText(rooms)
  const families = readExposition(text)
  t.notMatch(text, /198\.51|agent-\d/)
  t.equal(sampleOf(families, 'sass_edge_levels_raised', 'scope="agent"'), 500)
  t.equal(families.get('sass_edge_verdicts_total')?.samples.size, 13 * 7)
  t.ok(text.length < METRICS_BYTES / 2, `${text.length} bytes at the most that it can be`)
  t.end()
})

t.test('the reader of these tests refuses what is not of the format', (t) => {
  const good = '# HELP a_b What.\n# TYPE a_b gauge\n'
  for (const bad of [
    `${good}a_b 1`,
    `${good}`,
    `${good}a_b NaN\n`,
    `${good}a_b{x=1} 1\n`,
    `${good}a_b{x="1""} 1\n`,
    `${good}a_b 1\na_b 2\n`,
    `${good}a_b 1\nc 2\n`,
    `${good}a_b 1\n${good}a_b 1\n`,
    '# TYPE a_b gauge\na_b 1\n',
    '# HELP a_b What.\n# TYPE a_b counter\na_b 1\n',
  ])
    t.throws(() => readExposition(bad), bad)
  t.equal(sampleOf(readExposition(`${good}a_b{x="\\"\\\\\\n"} 1.5e-7\n`), 'a_b', 'x="\\"\\\\\\n"'), 1.5e-7)
  t.end()
})
