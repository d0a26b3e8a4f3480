/**
 * A gigabyte of what commands print, through a whole device to whoever reads it, and through sshd beside it.
 * @module
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Record } from './bytes.node.ts'
import type { Device } from './device.node.ts'
import { median } from './median.ts'
import type { SshPeer } from './peers/ssh.node.ts'

const MIB = 1_048_576
const GIB = 1_024 * MIB
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The least of some readings: garbage that waits for its collection is nobody's cost. */
export async function settledKib(device: Device): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let reading = 0; reading < 24; reading++) {
    await pause(500)
    least = Math.min(least, device.anonymousKib())
  }
  return least
}

async function pipedThroughput(device: Device, bytes = GIB, source = '/dev/zero'): Promise<number> {
  const child = spawn(
    '/bin/sh',
    ['-c', `exec "$0" exec -- head -c ${bytes} ${source} | wc -c`, device.program],
    { cwd: device.directory, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const began = performance.now()
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk
  })
  await once(child, 'close')
  if (Number(text) !== bytes) throw new Error(`${bytes} bytes came as ${text.trim()}.`)
  return performance.now() - began
}

/** Bytes a second of what a command prints, beside ssh; and what memory the daemon takes for it. */
export async function throughput(device: Device, ssh: SshPeer | undefined, record: Record): Promise<void> {
  // What the first command brings in, the rules foremost, stays; it is no part of what a gigabyte costs.
  const freshKib = device.anonymousKib()
  await pipedThroughput(device)
  const idleKib = await settledKib(device)
  const ours: number[] = []
  const theirs: number[] = []
  let mostKib = 0
  const watch = setInterval(() => {
    mostKib = Math.max(mostKib, device.anonymousKib())
  }, 50)
  for (let round = 0; round < 5; round++) {
    ours.push(await pipedThroughput(device))
    if (ssh !== undefined) theirs.push((await ssh.throughput(GIB)).ms)
  }
  clearInterval(watch)
  const rates = (bytes: number, ...times: readonly number[][]) =>
    times.map((ms) => `${((bytes / MIB / median(ms)) * 1_000).toFixed(0)} MiB/s`).join(' and ')
  if (ssh !== undefined) {
    const ratio = median(theirs) / median(ours)
    record('1 GiB of stdout, throughput / ssh', ratio, 'x', 1, false, rates(GIB, ours, theirs))
    await randomThroughput(device, ssh, record, rates)
  }
  record(
    'anonymous memory above idle during 1 GiB',
    (mostKib - idleKib) / 1_024,
    ' MiB',
    8,
    true,
    `idle ${(freshKib / 1_024).toFixed(1)} MiB before anybody came, ${(idleKib / 1_024).toFixed(1)} MiB since`,
  )
}

/** Bytes that nothing is left out of: what is compressed or encrypted already. The source itself takes a third of it. */
async function randomThroughput(
  device: Device,
  ssh: SshPeer,
  record: Record,
  rates: (bytes: number, ...times: readonly number[][]) => string,
): Promise<void> {
  const [ours, theirs]: [number[], number[]] = [[], []]
  for (let round = 0; round < 3; round++) {
    ours.push(await pipedThroughput(device, GIB / 4, '/dev/urandom'))
    theirs.push((await ssh.throughput(GIB / 4, '/dev/urandom')).ms)
  }
  const ratio = median(theirs) / median(ours)
  record('256 MiB of random bytes, throughput / ssh', ratio, 'x', 0.5, false, rates(GIB / 4, ours, theirs))
}
