/** Envelopes in pieces through the engine of a connection: nothing of them is kept before it is decided. */
import t from 'tap'
import type { IntentRoom } from '../../../src/intent/spool/room.ts'
import { createStaging } from '../../../src/intent/spool/staging.ts'
import { envelopePiece } from '../../../src/wire/intent-messages.ts'
import { enter, stageRooms } from '../stage.ts'

t.test('a piece takes a place once its sender may ask, and what does not follow is a mistake', (t) => {
  const staged = stageRooms()
  const staging = createStaging()
  let asked = 0
  const room: Partial<IntentRoom> = {
    isReceiver: () => true,
    staging: {
      add(...given) {
        asked++
        return staging.add(...given)
      },
    },
  }
  Object.assign(staged.rooms, { intent: room })
  const client = enter(staged)
  const submit = (offset: number) => {
    const piece = {
      receiver: 'other',
      piece: Buffer.from('abc'),
      total: 6,
      offset,
      digest: new Uint8Array(32),
    }
    return client.on(client.open('SubmitEnvelope', envelopePiece.encode(piece))).at(-1)
  }
  t.match(submit(0), { kind: 'ended', value: { received: 3 } })
  t.match(submit(2), { kind: 'status', code: 106 })
  t.match(submit(3), { kind: 'status', code: 106 }, 'its digest is another one')
  t.equal(asked, 3)
  staged.rooms.levels.set('daemon', '', 'HALT', 'a test', 'boss')
  t.not(submit(0)?.kind, 'ended')
  t.equal(asked, 3)
  t.end()
})
