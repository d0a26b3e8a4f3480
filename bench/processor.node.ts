/**
 * What one warm command costs the daemon: the processor time of all its threads by the kernel's word, beside what it
 * takes the machine to start the same program and to see it end; and the memory that many of them take meanwhile.
 * @module
 */
import { readdirSync, readFileSync } from 'node:fs'
import type { Client } from '../src/client/client.node.ts'
import type { Record } from './bytes.node.ts'
import type { Device } from './device.node.ts'
import { measureFloor } from './floor.node.ts'
import { median } from './median.ts'

const WARM_UP = 2_000
const ROUNDS = 5
const COMMANDS = 600
const FLOOR_RUNS = 200
const SETTLE_MS = 10_000

/** Microseconds that the threads of a process have run so far; those that have ended are not counted. */
function usedUs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  // proc(5), schedstat: nanoseconds on a processor.
  return threads.reduce((sum, thread) => {
    const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1')
    return sum + Number(text.split(' ')[0]) / 1_000
  }, 0)
}

/** `device`: idle, with nobody there; `connect`: as an agent of it. */
export async function processor(
  device: Device,
  connect: () => Promise<Client>,
  record: Record,
): Promise<void> {
  const idleKib = device.anonymousKib()
  const client = await connect()
  let mostKib = 0
  const run = async (count: number) => {
    for (let index = 0; index < count; index++) {
      await client.execute('/bin/true')
      if (index % 100 === 0) mostKib = Math.max(mostKib, device.anonymousKib())
    }
  }
  await run(WARM_UP)
  const ratios: number[] = []
  let detail = ''
  for (let round = 0; round < ROUNDS; round++) {
    const floor = measureFloor(FLOOR_RUNS).lifeMedianUs
    const before = usedUs(device.pid)
    await run(COMMANDS)
    const us = (usedUs(device.pid) - before) / COMMANDS
    ratios.push(us / floor)
    detail = `${us.toFixed(0)} us over ${floor} us in the last of ${ROUNDS} rounds`
  }
  const ratio = median(ratios)
  record('processor time of a warm exec / posix_spawn + wait', ratio, 'x', 0.9, true, detail)
  const commands = WARM_UP + ROUNDS * COMMANDS
  record(
    `anonymous memory above idle during ${commands} commands`,
    (mostKib - idleKib) / 1_024,
    ' MiB',
    12,
    true,
    `idle ${(idleKib / 1_024).toFixed(1)} MiB`,
  )
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  const after = (device.anonymousKib() - idleKib) / 1_024
  record('the same 10 s later', after, ' MiB', 12, true, 'the client is still there')
  await client.close()
}
