/**
 * The layout of the shared memory: nothing overlaps.
 * @module
 */

import t from 'tap'
import * as memory from '../../../src/sandbox/launcher/launcher-memory.ts'

t.test('a slot holds its addresses, its descriptors and its answer side by side', (t) => {
  const words = [
    memory.SLOT.stdin,
    memory.SLOT.stdout,
    memory.SLOT.stderr,
    memory.SLOT.pid,
    memory.SLOT.errno,
  ].map((word) => word * 4)
  const addresses = [
    memory.SLOT.file,
    memory.SLOT.argv,
    memory.SLOT.environment,
    memory.SLOT.cwd,
    memory.SLOT.terminal,
  ].map((word) => word * 8)
  t.equal(new Set([...words, ...addresses]).size, 10)
  t.equal(addresses.length, memory.SLOT_ADDRESSES)
  t.ok(Math.max(...addresses) + 8 <= Math.min(...words))
  t.ok(Math.max(...words) + 4 <= memory.SLOT_BYTES)
  t.equal(Math.log2(memory.LAUNCH_SLOTS) % 1, 0, 'a power of two')
  t.ok(memory.CONTROL_CLOSING * 4 < memory.CONTROL_BYTES)
  t.equal(memory.LAUNCH_MEMORY_BYTES, memory.CONTROL_BYTES + memory.LAUNCH_SLOTS * memory.SLOT_BYTES)
  t.end()
})
