/**
 * Whether a daemon that works for long stays as small as it was: many executions through one after the other, and its
 * anonymous memory before and after, each time when nothing runs and it has had the time to tidy up.
 * `npm run soak [-- --execs N] [--program FILE] [--bound KIB]`; a program is a single binary in place of the bundle.
 * Exits 1 where it has grown by more than the bound.
 * @module
 */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { connect } from '../src/client/client.node.ts'
import { type Device, startDevice } from './device.node.ts'

export type Soak = {
  readonly execs: number
  readonly seconds: number
  /** Before the first execution. */
  readonly idleKib: number
  /** After the warm-up, when every pool and cache has the size that it keeps. */
  readonly warmKib: number
  /** In the course of them, the last one after all: whether it grows on or has levelled off. */
  readonly courseKib: readonly number[]
}

const DEFAULT_EXECS = 100_000
const DEFAULT_BOUND_KIB = 2_048
/** Compiled code, pools and the kept results of past executions fill up first. */
const WARM_UP_PART = 0.1
const WARM_UP_MIN = 200
/** At once, as several agents would. */
const WORKERS = 4
/** Connections are made anew now and then, as they are over a day. */
const EXECS_PER_CONNECTION = 5_000
/** Looked at this often on the way. */
const PARTS = 4
/** The daemon tidies up in the seconds after it is left alone: a round each second, and again without its thread. */
const SETTLE_MS = 30_000

async function work(device: Device, execs: number): Promise<void> {
  for (let done = 0; done < execs; done += EXECS_PER_CONNECTION) {
    const client = await connect({
      host: '127.0.0.1',
      port: device.port,
      agent: 'agent',
      privateKey: device.privateKey,
      pin: device.fingerprint,
    })
    let left = Math.min(EXECS_PER_CONNECTION, execs - done)
    const one = async () => {
      while (left > 0) {
        left--
        const { exitCode } = await client.execute('echo', ['soak'])
        if (exitCode !== 0) throw new Error(`An execution ended with ${exitCode}.`)
      }
    }
    await Promise.all(Array.from({ length: WORKERS }, one))
    await client.close()
  }
}

/** @param parts how often it is measured on the way */
export async function soak(execs: number, program?: string, parts: number = PARTS): Promise<Soak> {
  const device = await startDevice({}, program)
  try {
    const settled = async () => {
      await new Promise((done) => setTimeout(done, SETTLE_MS))
      return device.anonymousKib()
    }
    const idleKib = await settled()
    await work(device, Math.max(WARM_UP_MIN, Math.round(execs * WARM_UP_PART)))
    const warmKib = await settled()
    const courseKib: number[] = []
    let seconds = 0
    for (let part = 0; part < parts; part++) {
      const began = performance.now()
      await work(device, Math.ceil(execs / parts))
      seconds += (performance.now() - began) / 1_000
      courseKib.push(await settled())
    }
    return { execs, seconds, idleKib, warmKib, courseKib }
  } finally {
    await device.stop()
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { execs: { type: 'string' }, program: { type: 'string' }, bound: { type: 'string' } },
  })
  const program = values.program === undefined ? undefined : resolve(values.program)
  const boundKib = Number(values.bound ?? DEFAULT_BOUND_KIB)
  const { execs, seconds, idleKib, warmKib, courseKib } = await soak(
    Number(values.execs ?? DEFAULT_EXECS),
    program,
  )
  const grownKib = (courseKib.at(-1) ?? 0) - warmKib
  const isHeld = grownKib <= boundKib
  console.log(
    `${isHeld ? 'ok  ' : 'FAIL'} soak: ${execs} executions in ${seconds.toFixed(0)} s; anonymous memory ${idleKib} KiB idle, ${warmKib} KiB after the warm-up, ${courseKib.join(', ')} KiB in the course of them: ${grownKib} KiB more (at most ${boundKib})`,
  )
  process.exitCode = isHeld ? 0 : 1
}
