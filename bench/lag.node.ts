/**
 * How long ^C takes on a slow link while a program writes without end: the real command line through a link of the
 * laboratory, as a person at a terminal sees it (the prompt comes back) and as a script does (exec returns). Beside
 * the time, the bytes that the link carried in between: every one of them was written before the ^C.
 * @module
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Spawner } from '../src/ports.ts'
import { startLab } from '../test/links/lab.node.ts'
import type { Device } from './device.node.ts'

export type SlowLink = { readonly bytesPerSecond: number; readonly delayMs: number }

/** One ^C: when it was over, what still came, and how much of what the link can carry it carried before. */
export type Lag = { readonly seconds: number; readonly bytes: number; readonly use: number }

/** Writes faster than any link here carries: what it has ahead is what the device lets it. */
const PRODUCER = ['yes', '0123456789'.repeat(7)] as const
const PROMPT = '-ready-'
const POLL_MS = 5
const LIMIT_MS = 180_000
const ROUNDS = 5
const STEP_MS = 137

type At = { readonly device: Device; readonly link: SlowLink; readonly flowMs: number }

async function through<T>(
  { device, link }: At,
  work: (target: readonly string[], carriedBytes: () => number) => Promise<T>,
): Promise<T> {
  const lab = await startLab({ target: { host: '127.0.0.1', port: device.port }, seed: 1 })
  lab.link.setRate(link.bytesPerSecond)
  lab.link.setDelay(link.delayMs)
  const key = join(device.directory, '.sass-edge/keys/agent.key')
  try {
    return await work(
      [`agent@127.0.0.1:${lab.port}`, '--yes', '--no-compress', '--key', key],
      () => lab.counts().down,
    )
  } finally {
    await lab.close()
  }
}

async function until(what: string, condition: () => boolean): Promise<void> {
  for (const end = performance.now() + LIMIT_MS; performance.now() < end; await wait(POLL_MS))
    if (condition()) return
  throw new Error(`never came: ${what}`)
}

/** Lets it flow, and says how full the link was in the second half of that. */
async function flow({ link, flowMs }: At, carriedBytes: () => number): Promise<number> {
  await wait(flowMs / 2)
  const [began, before] = [performance.now(), carriedBytes()]
  await wait(flowMs / 2)
  const seconds = (performance.now() - began) / 1_000
  return (carriedBytes() - before) / (link.bytesPerSecond * seconds)
}

/** In a shell on a terminal: from the key to the next prompt. */
export function lagOfShell(spawner: Spawner, at: At): Promise<Lag> {
  return through(at, async (target, carried) => {
    let tail = ''
    let isOver = false
    const child = spawner.spawn(
      {
        file: at.device.program,
        argv: [at.device.program, 'shell', ...target, '--', 'sh'],
        environment: [`PATH=${process.env['PATH']}`, `HOME=${at.device.directory}`, 'TERM=xterm'],
        cwd: at.device.directory,
        stdin: 'none',
        terminal: { rows: 24, columns: 80 },
      },
      {
        spawned() {},
        failed: (errno) => {
          throw new Error(`The command line did not start: errno ${errno}.`)
        },
        output(_, bytes) {
          tail = `${tail}${Buffer.from(bytes).toString('latin1')}`.slice(-4_096)
        },
        stdinDrained() {},
        exited() {
          isOver = true
        },
      },
    )
    const type = (keys: string) => child.writeStdin(new Uint8Array(Buffer.from(keys)))
    await until('a prompt', () => /[$#] $/.test(tail))
    type(`PS1=${PROMPT}\r`)
    await until('our prompt', () => tail.endsWith(PROMPT))
    type(`${PRODUCER.join(' ')}\r`)
    const use = await flow(at, carried)
    tail = ''
    const [began, before] = [performance.now(), carried()]
    type('\x03')
    await until('the prompt after ^C', () => tail.endsWith(PROMPT))
    const lag = { seconds: (performance.now() - began) / 1_000, bytes: carried() - before, use }
    type('exit\r')
    await until('its end', () => isOver)
    return lag
  })
}

/** Without a terminal: from the signal to the end of the command line. */
export function lagOfExec(at: At): Promise<Lag> {
  return through(at, async (target, carried) => {
    const child = spawn(at.device.program, ['exec', ...target, '--', ...PRODUCER], {
      cwd: at.device.directory,
      env: { ...process.env, HOME: at.device.directory },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    child.stdout.resume()
    const use = await flow(at, carried)
    const [began, before] = [performance.now(), carried()]
    child.kill('SIGINT')
    await once(child, 'close')
    return { seconds: (performance.now() - began) / 1_000, bytes: carried() - before, use }
  })
}

export type LagFigures = { readonly worst: Lag; readonly leastUse: number }

/** Some of each, begun at other moments of the flow: what is told is the worst. */
export async function worstLag(work: (flowMs: number) => Promise<Lag>, flowMs: number): Promise<LagFigures> {
  const lags: Lag[] = []
  for (let round = 0; round < ROUNDS; round++) lags.push(await work(flowMs + round * STEP_MS))
  const worst = lags.reduce((most, lag) => (lag.seconds > most.seconds ? lag : most))
  return { worst, leastUse: Math.min(...lags.map(({ use }) => use)) }
}
