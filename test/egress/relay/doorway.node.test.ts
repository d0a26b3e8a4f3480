import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { createDoorway } from '../../../src/egress/relay/doorway.node.ts'
import { datagrams, duplicate, listener } from '../gate-world.node.ts'

t.test('while it is held back connections and questions wait, and are taken then', async (t) => {
  const [first, second] = [await listener(), await listener()]
  const dns = datagrams()
  const connections: number[] = []
  const questions: string[] = []
  const doorway = createDoorway(
    { listeners: [{ fd: first.fd, port: 80 }], dns: dns.fd, datagrams: [] },
    duplicate,
    {
      connection(socket, port) {
        connections.push(port)
        socket.destroy()
      },
      question(bytes, from) {
        questions.push(Buffer.from(bytes).toString())
        doorway.answer(Buffer.from('answer'), from)
      },
    },
  )
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const visit = async ({ realPort }: { realPort: number }) => {
    const client = connect(realPort, '127.0.0.1').on('error', () => {})
    await once(client, 'connect')
  }
  const asker = createSocket('udp4')
  const answers: string[] = []
  asker.on('message', (bytes) => answers.push(bytes.toString()))
  const ask = () => asker.send('question', dns.realPort, '127.0.0.1')

  await visit(first)
  ask()
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.strictSame([connections, questions], [[], []])
  doorway.takeConnections(true)
  doorway.takeQuestions(true)
  await until(() => connections.length === 1 && answers.length === 1)
  doorway.takeQuestions(false)
  doorway.answer(Buffer.from('later'), { address: '127.0.0.1', port: asker.address().port })
  doorway.takeConnections(false)
  await visit(first)
  doorway.add([{ fd: second.fd, port: 443 }])
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(answers.length, 1)
  doorway.takeConnections(true)
  doorway.takeQuestions(true)
  await visit(second)
  await until(() => connections.length === 3 && answers.length === 2)
  t.strictSame([...connections].sort(), [443, 80, 80])
  t.strictSame(answers, ['answer', 'later'])
  doorway.close()
  asker.close()
  await t.rejects(visit(first), 'its descriptors are closed')
})

t.test('a descriptor that cannot be had is no door', (t) => {
  const doorway = createDoorway(
    { listeners: [{ fd: 99_999, port: 80 }], dns: 99_999, datagrams: [] },
    () => -9,
    {
      connection: () => t.fail('nobody can come'),
      question: () => t.fail('nobody can ask'),
    },
  )
  doorway.takeConnections(true)
  doorway.takeQuestions(true)
  doorway.answer(Buffer.from('x'), { address: '127.0.0.1', port: 9 })
  t.end()
})
