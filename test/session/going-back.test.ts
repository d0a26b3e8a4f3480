import t from 'tap'
import { SIGNALS_REMEMBERED } from '../../src/limits.ts'
import { executeRequest, signalRequest, stdinChunk } from '../../src/wire/messages.ts'
import { enter, stageRooms } from './stage.ts'

const ID = new Uint8Array(16).fill(7)

t.test('whoever comes back is told what stdin was given, and the first one nothing', (t) => {
  const stage = stageRooms()
  const first = enter(stage)
  const request = { command: 'cat', execution_id: ID, stdin: true }
  const stream = first.open('ExecuteStream', executeRequest.encode(request), true)
  first.connection.message(stream, stdinChunk.encode({ data: new Uint8Array(5) }), 5)
  stage.spawner.children[0]?.events.spawned(1)
  const firstMessage = (one: ReturnType<typeof enter>, id: number) => one.on(id)[0]?.value?.['offset']
  t.equal(firstMessage(first, stream), undefined, 'what came on this stream is no news')
  first.connection.message(stream, stdinChunk.encode({ data: new Uint8Array(7) }), 7)

  const second = enter(stage)
  const again = second.open('ExecuteStream', executeRequest.encode({ ...request, is_reattach: true }), true)
  t.equal(firstMessage(second, again), 12)
  t.end()
})

t.test('a signal is delivered once for each number that its sender drew, and answered each time', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  client.open('ExecuteStream', executeRequest.encode({ command: 'sleep', execution_id: ID }))
  stage.spawner.children[0]?.events.spawned(1)
  const ask = (signal_id?: number) => {
    const id = client.open('Signal', signalRequest.encode({ execution_id: ID, signal: 0, signal_id }))
    t.match(client.on(id), [{ kind: 'ended', value: { success: true } }])
  }
  const delivered = () => stage.spawner.children[0]?.deeds.filter((deed) => deed.startsWith('signal')).length
  ask(1)
  ask(1)
  t.equal(delivered(), 1)
  ask()
  ask()
  t.equal(delivered(), 3, 'without a number each is one')
  for (let number = 2; number <= SIGNALS_REMEMBERED + 1; number++) ask(number)
  t.equal(delivered(), 3 + SIGNALS_REMEMBERED)
  ask(SIGNALS_REMEMBERED + 1)
  t.equal(delivered(), 3 + SIGNALS_REMEMBERED)
  ask(1)
  t.equal(delivered(), 4 + SIGNALS_REMEMBERED, 'the oldest is forgotten')
  t.end()
})
