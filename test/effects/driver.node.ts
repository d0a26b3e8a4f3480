/**
 * The agent of a world: sends each line to the daemon over TLS in a session and a branch of its own, and drops the branch.
 * It runs in the world's network and nowhere else of it, so that no line can reach it. Told to by messages of its parent.
 * @module
 */
import { type Client, connect } from '../../src/client/client.node.ts'
import { asSassError } from '../../src/errors.ts'
import type { Connection, FromDriver, Raised, Task, ToDriver, Told } from './driver-protocol.ts'

/** Beyond the time that a line has: for screens that are held, and for a device under load. */
const PATIENCE_MS = 20_000
const TRIES = 40
const RETRY_MS = 150
/** Enough to compare by. */
const KEPT_BYTES = 65_536
const UNREAD_NAME = 'w.sh'

let target: Connection | undefined
let operator: Client | undefined

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const say = (message: FromDriver): void => void process.send?.(message)
const text = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(0, KEPT_BYTES)).toString('latin1')

function open(
  agent: 'agent' | 'operator',
  { port, pin, agentKey, operatorKey }: Connection,
): Promise<Client> {
  const privateKey = new Uint8Array(Buffer.from(agent === 'agent' ? agentKey : operatorKey, 'base64'))
  return connect({ host: '127.0.0.1', port, agent, privateKey, pin, reconnect: false, branch: 'new' })
}

/** Places are few; the ones before end in a moment. */
async function openSession(connection: Connection): Promise<Client> {
  for (let tries = 0; ; tries++) {
    try {
      return await open('agent', connection)
    } catch (error) {
      if (tries >= TRIES) throw error
      await sleep(RETRY_MS)
    }
  }
}

async function write(client: Client, task: Task): Promise<void> {
  const encoded = Buffer.from(task.text).toString('base64')
  await client.execute('sh', ['-c', `echo ${encoded} | base64 -d > ${UNREAD_NAME}`], { timeoutSeconds: 10 })
}

async function runOne(client: Client, task: Task): Promise<Told> {
  let asked = false
  const onWaiting = ({ kind }: { kind: string }) => {
    if (kind === 'operator') asked = true
  }
  const nothing = {
    ...{ id: task.id, session: client.sessionId, exitCode: undefined, signal: undefined },
    ...{ timedOut: false, code: undefined, stdout: '', stderr: '' },
  }
  try {
    if (task.form === 'file') await write(client, task)
    const args = task.form === 'file' ? [UNREAD_NAME] : ['-c', task.text]
    const { exitCode, signal, stdout, stderr } = await client.execute('bash', args, {
      timeoutSeconds: task.seconds,
      onWaiting,
    })
    const output = { stdout: text(stdout), stderr: text(stderr) }
    return { ...nothing, kind: 'ended', exitCode, signal, asked, ...output }
  } catch (error) {
    const code = asSassError(error)?.code ?? String(error)
    if (code === 'EXECUTION_TIMEOUT') return { ...nothing, kind: 'ended', timedOut: true, asked }
    return { ...nothing, kind: 'refused', code, asked }
  }
}

/** `step` is told of what is waited for. */
async function runInSession(
  connection: Connection,
  task: Task,
  step: (session: string, waitsFor: string) => void,
): Promise<Told> {
  const client = await openSession(connection)
  const { sessionId } = client
  step(sessionId, 'an end')
  const told = await runOne(client, task)
  await Promise.race([client.close().catch(() => {}), sleep(1_000)])
  step(sessionId, 'the drop of its branch')
  // A branch that nothing was changed in is gone already.
  await operator?.branches.drop(sessionId).catch(() => {})
  return told
}

/** What the daemon does not answer, whatever it is, is told of the line, and holds up no others. */
async function runTask(connection: Connection, task: Task): Promise<Told> {
  let [session, code] = ['', 'a session']
  const stuck: Promise<Told> = sleep(TRIES * RETRY_MS + task.seconds * 1_000 + PATIENCE_MS).then(() => ({
    ...{ id: task.id, session, kind: 'stuck', code },
    ...{ exitCode: undefined, signal: undefined, timedOut: true, asked: false, stdout: '', stderr: '' },
  }))
  const done = runInSession(connection, task, (itsSession, waitsFor) => {
    session = itsSession
    code = waitsFor
  })
  return Promise.race([done, stuck])
}

async function runAll(
  connection: Connection,
  tasks: readonly Task[],
  parallel: number,
): Promise<readonly Told[]> {
  const waiting = [...tasks]
  const told: Told[] = []
  const worker = async (): Promise<void> => {
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift())
      told.push(await runTask(connection, task))
  }
  await Promise.all(Array.from({ length: parallel }, worker))
  return told
}

/** Levels that were raised, which are set back: the next lines are judged by themselves. */
async function takeLevels(): Promise<readonly Raised[]> {
  const levels = await operator?.operator.levels()
  const raised: Raised[] = []
  for (const { scope, name, level, why } of levels?.entries ?? []) {
    if (level === 'NORMAL') continue
    raised.push({ scope, level, why })
    if (scope === 'daemon' || scope === 'agent' || scope === 'session')
      await operator?.operator.setLevel({ scope, name, level: 'NORMAL', why: 'measured' }).catch(() => {})
  }
  return raised
}

process.on('message', (message: ToDriver) => {
  const work = async (): Promise<void> => {
    if (message.kind === 'connect') {
      target = message
      operator = await open('operator', message)
      return say({ kind: 'ready' })
    }
    if (target === undefined) throw new Error('nothing to connect to was named')
    if (message.kind === 'run')
      return say({ kind: 'told', told: await runAll(target, message.tasks, message.parallel) })
    return say({ kind: 'levels', raised: await takeLevels() })
  }
  work().catch((error: unknown) =>
    say({ kind: 'failed', message: String((error as Error)?.message ?? error) }),
  )
})
process.on('disconnect', () => process.exit())
