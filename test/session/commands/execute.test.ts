/**
 * From a request to what runs: what is too long for any program, and what the chain says of a start that was none.
 * @module
 */
import { zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { CODES } from '../../../src/errors.ts'
import { PROGRAM_ARGUMENTS_BYTES } from '../../../src/limits.ts'
import { executeRequest, stdinChunk } from '../../../src/wire/messages.ts'
import { enter, run, type Stage, stageRooms, unpacked } from '../stage.ts'

const ID = new Uint8Array(16).fill(5)
const packed = (argv: readonly string[]) =>
  zstdCompressSync(Buffer.from(JSON.stringify(argv))).toString('base64')
const notStarted = ({ audit }: Stage) => audit.events.filter(({ type }) => type === 'execution_not_started')

/** Arguments of `bytes` bytes together, each as long as one may be. */
function argvOf(bytes: number, letter = 'x'): string[] {
  const argv = ['ls']
  const width = Buffer.byteLength(letter)
  let left = bytes - 2
  for (; left > 0; left -= 100_000) argv.push(letter.repeat(Math.min(left, 100_000) / width))
  return argv
}

t.test('more arguments than a program can be given are a plain mistake, to the byte', async (t) => {
  for (const letter of ['x', 'é']) {
    const staged = stageRooms()
    const client = enter(staged)
    const ask = async (bytes: number) => {
      const raw_payload = packed(argvOf(bytes, letter))
      const stream = client.open('Execute', executeRequest.encode({ command: '', raw_payload }))
      await unpacked(staged)
      return stream
    }
    const over = await ask(PROGRAM_ARGUMENTS_BYTES + 2)
    t.match(client.on(over), [
      { kind: 'status', code: CODES.FRAME_MALFORMED.number, text: /2097154 bytes long, .* 2097152\./ },
    ])
    t.match(staged.audit.events.at(-1), { response: 'STATUS', layer: 'completeness' })
    t.strictSame([staged.spawner.children.length, staged.rooms.levels.list()], [0, []])
    await ask(PROGRAM_ARGUMENTS_BYTES)
    t.equal(staged.spawner.children.length, 1)
  }
})

t.test('what comes behind a packed request waits until that is unpacked, given up or not', async (t) => {
  const asked: ((plain: Uint8Array) => void)[] = []
  const decode = () => new Promise<Uint8Array>((resolve) => asked.push(resolve))
  const staged = stageRooms({ decoder: { decode } })
  const client = enter(staged)
  for (let count = 0; count < 3; count++) {
    const raw_payload = packed(['ls', String(count)])
    client.connection.reset(client.open('Execute', executeRequest.encode({ raw_payload })))
  }
  for (const most of [1, 2, 3]) {
    t.equal(asked.length, most, 'one at a time of a connection')
    asked.at(-1)?.(Buffer.from('["ls"]'))
    await new Promise((done) => setImmediate(done))
  }
  t.equal(staged.spawner.children.length, 0, 'nobody waits for them any more')
})

t.test('variables count as arguments do', async (t) => {
  const staged = stageRooms({ capability: { allowed_env: ['*'] } })
  const client = enter(staged)
  const ask = async (value: number) => {
    const raw_payload = packed(argvOf(PROGRAM_ARGUMENTS_BYTES - 1_000))
    const env = new Map([['A', 'v'.repeat(value)]])
    const stream = client.open('Execute', executeRequest.encode({ command: '', raw_payload, env }))
    await unpacked(staged)
    return stream
  }
  t.match(client.on(await ask(1_000)), [{ kind: 'status', code: CODES.FRAME_MALFORMED.number }])
  t.equal(staged.spawner.children.length, 0)
  await ask(999)
  t.equal(staged.spawner.children.length, 1)
})

t.test('a permitted start that the device refused is in the chain as one that was none', (t) => {
  for (const waits of [false, true]) {
    const staged = stageRooms({ capability: { max_concurrent: 1 } })
    const client = enter(staged)
    if (waits) run(client, 'sleep')
    else staged.spawner.refusal = new Error('no more processes')
    const stream = run(client, 'ls', { execution_id: ID })
    staged.spawner.refusal = new Error('no more processes')
    if (waits) t.strictSame(notStarted(staged), [])
    staged.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
    const execution = '05'.repeat(16)
    const at = staged.audit.events.findIndex(
      (event) => event['execution'] === execution && event['response'] === 'R1',
    )
    const instance = staged.audit.events[at]?.['instance']
    t.strictSame(notStarted(staged), [
      { type: 'execution_not_started', execution, instance, reason: 'no more processes' },
    ])
    t.equal(staged.audit.events[at + 1], notStarted(staged)[0], 'right behind the decision')
    t.match(client.on(stream).at(-1), { kind: 'status', code: CODES.SANDBOX_UNAVAILABLE.number })
  }
  t.end()
})

t.test('what has started has no such record, and one that is attached to has none either', (t) => {
  const staged = stageRooms()
  const client = enter(staged)
  run(client, 'ls', { execution_id: ID })
  run(client, 'ls', { execution_id: ID })
  staged.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  t.strictSame([notStarted(staged), staged.spawner.children.length], [[], 1])
  t.end()
})

t.test(
  'packed arguments are opened while the stream waits: what is typed is kept, and who leaves starts nothing',
  async (t) => {
    const staged = stageRooms()
    const client = enter(staged)
    const ask = (id: number) => {
      const execution_id = new Uint8Array(16).fill(id)
      const raw_payload = packed(['cat', '-'])
      return client.open(
        'ExecuteStream',
        executeRequest.encode({ raw_payload, stdin: true, execution_id }),
        true,
      )
    }
    const stream = ask(1)
    client.connection.message(stream, stdinChunk.encode({ data: Buffer.from('typed') }))
    client.connection.end(stream)
    const left = ask(2)
    client.connection.reset(left)
    ask(3)
    ask(3)
    t.equal(staged.spawner.children.length, 0)
    await unpacked(staged)
    t.strictSame(
      staged.spawner.children.map(({ plan }) => plan.argv),
      [
        ['cat', '-'],
        ['cat', '-'],
      ],
      'one for the first, none for who left, one for both with one id',
    )
    t.match(staged.spawner.children[0]?.deeds, ['stdin 5', 'endStdin'])
  },
)
