import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { metricsText } from '../../src/session/common/metrics.ts'
import { readExposition } from '../integration/exposition.ts'
import { stageRooms } from '../session/stage.ts'

/** What the stage does not tell. */
const UNTOLD = ['process_virtual_memory_bytes']

t.test('the page on running it names every figure, and none that is not there', (t) => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8')
  const section = /\n## Metrics\n([\s\S]*?)\n## /.exec(page)?.[1] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  const named = rows.flatMap((row) =>
    [...(row.split(' | ')[0] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name),
  )
  const { rooms } = stageRooms()
  rooms.counts.verdicts.set('all EXECUTE', 1)
  t.strictSame(named.toSorted(), [...readExposition(metricsText(rooms)).keys(), ...UNTOLD].toSorted())
  t.end()
})
