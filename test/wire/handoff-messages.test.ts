import t from 'tap'
import { DELIVERED_BYTES, HANDOFF_BYTES } from '../../src/limits.ts'
import { handoffContent, handoffRequest } from '../../src/wire/handoff-messages.ts'
import { readMessage } from '../../src/wire/schema.ts'

t.test('a handoff that is empty or longer than it may be is refused before it is read', async (t) => {
  const read = (bytes: number) =>
    readMessage(handoffRequest, new Map([[1, new Uint8Array(bytes)]]), 'strict').ok
  t.ok(read(1))
  t.ok(read(HANDOFF_BYTES))
  t.notOk(read(HANDOFF_BYTES + 1))
  t.notOk(read(0))
})

t.test('what is delivered has room for what the daemon adds', async (t) => {
  const entry = new Map<number, unknown>([
    ...([
      [1, new Uint8Array(16)],
      [2, 'ci-1'],
      [3, 'helper'],
      [4, 2],
      [5, 1],
      [6, 1],
      [7, 2],
    ] as const),
    [8, new Uint8Array(32)],
  ])
  const read = (length: number) =>
    readMessage(
      handoffContent,
      new Map<number, unknown>([
        [1, entry],
        [2, 'x'.repeat(length)],
        [3, 'AGENT_HANDOFF'],
      ]),
      'strict',
    ).ok
  t.ok(read(DELIVERED_BYTES))
  t.notOk(read(DELIVERED_BYTES + 1))
})
