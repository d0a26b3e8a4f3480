/**
 * A spool for tests, over directories of the test: its checks read `{"id": …}` and refuse what is not that.
 * @module
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createRandom } from '../../../src/edge/host/clock.node.ts'
import { openReplayIndex } from '../../../src/edge/intent/replay-index.node.ts'
import { createSpool, type SpoolGround } from '../../../src/edge/intent/spool.node.ts'
import type { Accepted, Judged } from '../../../src/intent/spool/room.ts'
import type { AuditEvent } from '../../../src/ports.ts'

export const NOW = 1_800_000_000_000

export function judge(bytes: Uint8Array, receiver: string): Judged {
  try {
    const { id, sender = 'ci' } = JSON.parse(Buffer.from(bytes).toString()) as Record<string, string>
    if (id === undefined) throw new Error('no id')
    return { kind: 'accepted', of: { id, session: 's1', sender, receiver, template: 'note v1' } }
  } catch {
    const refusal = { step: 2, code: 'ENVELOPE_MALFORMED', ticket: undefined, field: '', problem: 'no.' }
    return { kind: 'refused', refusal, claimed: {} }
  }
}

export async function makeSpool(t: Test, change: Partial<SpoolGround> = {}, dropDirectories: string[] = []) {
  const directory = change.directory ?? t.testdir()
  const index = change.index ?? (await openReplayIndex(join(directory, 'index.sqlite')))
  t.teardown(() => index.close())
  const events: AuditEvent[] = []
  const logged: string[] = []
  const arrived: Accepted[] = []
  const time = { monotonic: 0, wall: NOW }
  const spool = createSpool({
    ...{ directory, index, random: createRandom(), judge, arrived: (of) => arrived.push(of) },
    clock: { monotonicMs: () => time.monotonic, wallMs: () => time.wall, after: () => () => {} },
    log: { write: (_level, event) => logged.push(event) },
    settings: () => ({ quarantineMax: 50, dropDirectories }),
    isReceiver: () => true,
    isReserved: (name) => name === 'device',
    isOurs: () => false,
    record: (event) => events.push(event),
    note: (event) => events.push(event),
    ...change,
  })
  function put(name: string, text: string, receiver = 'helper', root = join(directory, 'inbox')): string {
    const path = join(root, receiver, `${name}.satl.json`)
    mkdirSync(join(root, receiver), { recursive: true })
    writeFileSync(path, text)
    return path
  }
  return {
    ...{ directory, spool, index, events, logged, arrived, time, put },
    quarantined: () => readdirSync(join(directory, 'quarantine')),
    /** Polls until there is no more at once; how often. */
    drain() {
      let polls = 1
      while (spool.poll()) if (++polls > 1_000) throw new Error('There is no end of it.')
      return polls
    },
  }
}

export const idText = (id: string, more: Record<string, string> = {}): string =>
  JSON.stringify({ id, ...more })
