/**
 * Which hierarchies of control groups this device gives, and that looking for them leaves nothing there.
 * @module
 */
import { readdirSync, statSync } from 'node:fs'
import t from 'tap'
import { findControllers, GROUP_PREFIX } from '../../../src/sandbox/launcher/control-hierarchies.node.ts'

t.test('each hierarchy that is found is there, controls something, and holds no probe', async (t) => {
  const found = findControllers()
  if (found.length === 0) return t.comment('skipped: no control group here may be divided')
  for (const { directory, version, memory, processes, cpu } of found) {
    t.ok(statSync(directory).isDirectory(), directory)
    const controlled = [memory, processes, cpu].filter(Boolean).length
    if (version === 1) t.equal(controlled, 1, 'a hierarchy of version 1 for one controller')
    else t.ok(controlled > 0)
    t.notOk(readdirSync(directory).includes(`${GROUP_PREFIX}probe-${process.pid}`))
  }
  t.strictSame(findControllers(), found, 'and the same again')
})
