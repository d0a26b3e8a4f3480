/**
 * The measurements that the project is held to, each beside a peer or the floor, in one run and interleaved, so that
 * a machine that drifts drifts for both. Figures are medians and their ratios; a bound that is not held is said and
 * makes the exit code 1. `npm run bench [-- NAME...]` with exec, processor, cold, bytes, links, throughput, memory, start, tarpit, record, branch, lag, gate, firewall.
 * @module
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, connect } from '../src/client/client.node.ts'
import { TARPIT_CONCURRENT } from '../src/limits.ts'
import { createSpawner } from '../src/sandbox/launcher/spawner.node.ts'
import { measureRecord, type Times } from './audit.node.ts'
import { measureBranch } from './branch.node.ts'
import { bytesOnTheWire } from './bytes.node.ts'
import { type Device, startDevice } from './device.node.ts'
import { firewall } from './firewall.node.ts'
import { measureFloor } from './floor.node.ts'
import { gate } from './gate.node.ts'
import { holdAll, type Intruder, intrude } from './intruders.node.ts'
import { lagOfExec, lagOfShell, worstLag } from './lag.node.ts'
import { comingBack } from './links.node.ts'
import { median } from './median.ts'
import { type SshPeer, startSsh } from './peers/ssh.node.ts'
import { processor } from './processor.node.ts'
import { starts } from './start.node.ts'
import { settledKib, throughput } from './throughput.node.ts'

/** By then an idle daemon has given back what its start left behind. */
const SETTLED_MS = 15_000
const PAUSE_MS = 300

type Result = {
  readonly what: string
  readonly value: number
  readonly unit: string
  readonly bound: number
  readonly isCeiling: boolean
  readonly detail: string
}
const results: Result[] = []

/** `isCeiling`: the value must not be above the bound; else not below. */
function record(
  what: string,
  value: number,
  unit: string,
  bound: number,
  isCeiling: boolean,
  detail: string,
): void {
  results.push({ what, value, unit, bound, isCeiling, detail })
  console.log(
    `${holds({ value, bound, isCeiling }) ? 'ok  ' : 'MISS'} ${what}: ${value.toFixed(2)}${unit} (${isCeiling ? 'at most' : 'at least'} ${bound}${unit}); ${detail}`,
  )
}

function holds({ value, bound, isCeiling }: Pick<Result, 'value' | 'bound' | 'isCeiling'>): boolean {
  return isCeiling ? value <= bound : value >= bound
}

function connectTo(
  device: Device,
  port = device.port,
  groups: 'default' | 'metered' = 'default',
  window?: number,
): Promise<Client> {
  return connect({
    host: '127.0.0.1',
    port,
    agent: 'agent',
    privateKey: device.privateKey,
    pin: device.fingerprint,
    groups,
    window,
  })
}

async function timedMs(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

async function warmExec(device: Device, ssh: SshPeer | undefined): Promise<void> {
  const client = await connectTo(device)
  await ssh?.openMaster()
  for (let index = 0; index < 1_000; index++) await client.execute('/bin/true')
  const ours: number[] = []
  const floor: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < 10; round++) {
    floor.push(measureFloor(100).lifeMedianUs)
    // As many uncounted ones as the floor allows itself: the last round ended with other programs.
    for (let index = 0; index < 50; index++) await client.execute('/bin/true')
    const times: number[] = []
    for (let index = 0; index < 100; index++)
      times.push((await timedMs(() => client.execute('/bin/true'))) * 1_000)
    ours.push(median(times))
    for (let index = 0; ssh !== undefined && index < 5; index++)
      theirs.push((await timedMs(() => ssh.warmExec(['/bin/true']))) * 1_000)
  }
  const ratios = ours.map((us, index) => us / (floor[index] ?? Number.NaN))
  record(
    'warm exec / posix_spawn + wait',
    median(ratios),
    'x',
    2,
    true,
    `${median(ours).toFixed(0)} us over ${median(floor)} us`,
  )
  if (ssh !== undefined)
    record(
      'warm exec / ssh ControlMaster',
      median(ours) / median(theirs),
      'x',
      0.4,
      true,
      `ssh ${median(theirs).toFixed(0)} us`,
    )
  if (ssh !== undefined) await pausedExec(client, ssh)
  await client.close()
}

/** Milliseconds of ours and of the peer, one after the other: at most half of it. */
function recordBeside(name: string, ours: readonly number[], theirs: readonly number[]): void {
  const [own, other] = [median(ours), median(theirs)]
  record(name, own / other, 'x', 0.5, true, `${own.toFixed(1)} ms and ${other.toFixed(1)} ms`)
}

/** As people and agents work: what the kernel keeps ready for a while is not ready any more (control groups, RCU). */
async function pausedExec(client: Client, ssh: SshPeer): Promise<void> {
  const [ours, theirs]: [number[], number[]] = [[], []]
  const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  for (let round = 0; round < 20; round++) {
    await pause()
    ours.push(await timedMs(() => client.execute('/bin/true')))
    await pause()
    theirs.push(await timedMs(() => ssh.warmExec(['/bin/true'])))
  }
  recordBeside('exec after a pause / ssh ControlMaster after one', ours, theirs)
}

async function runProgram(program: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: 'ignore' })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}.`)
}

async function coldExec(device: Device, ssh: SshPeer | undefined): Promise<void> {
  if (ssh === undefined) return
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < 15; round++) {
    ours.push(await timedMs(() => runProgram(device.program, ['exec', '--', 'true'], device.directory)))
    theirs.push(await timedMs(() => ssh.coldExec(['true'])))
  }
  recordBeside('cold sass-edge exec / cold ssh', ours, theirs)
}

async function bytes(device: Device): Promise<void> {
  // One that asks at once whether somebody is there, so that nobody has to wait for it.
  const hasty = await startDevice({ session: { keepalive_seconds: 1 } })
  try {
    await bytesOnTheWire(device, hasty, record)
  } finally {
    await hasty.stop()
  }
}

const leaveAll = (intruders: readonly Intruder[]) => Promise.all(intruders.map((one) => one.leave()))
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A thousand strangers, ten at a time; how many of them were reset. */
async function thousandIntruders(port: number): Promise<number> {
  let reset = 0
  for (let batch = 0; batch < 100; batch++) {
    const intruders = await Promise.all(Array.from({ length: 10 }, () => intrude(port)))
    reset += intruders.filter(({ outcome }) => outcome === 'reset').length
    await leaveAll(intruders)
  }
  return reset
}

/** What strangers cost: memory of those that are held and of all who come later, the latency of somebody who works. */
async function tarpit(): Promise<void> {
  // Of its own, so that its memory has seen nothing else.
  const device = await startDevice()
  try {
    const client = await connectTo(device)
    for (let index = 0; index < 500; index++) await client.execute('/bin/true')
    // The first one loads the code that serves strangers.
    await leaveAll(await holdAll(device.port, 1))
    const idleKib = await settledKib(device)
    const held = await holdAll(device.port, TARPIT_CONCURRENT)
    const heldKib = await settledKib(device)
    record(
      `anonymous memory of ${TARPIT_CONCURRENT} tarpits`,
      (heldKib - idleKib) / 1_024,
      ' MiB',
      3,
      true,
      `${(idleKib / 1_024).toFixed(1)} MiB without`,
    )
    // The first thousand makes the code hot, once; from then on nothing may be left of anybody.
    const resetOnce = await thousandIntruders(device.port)
    const onceKib = await settledKib(device)
    const resetTwice = await thousandIntruders(device.port)
    const twiceKib = await settledKib(device)
    const reset = Math.min(resetOnce, resetTwice)
    record('intruders beyond them, reset', reset, ' of 1000', 1_000, false, 'a failed proof each')
    record(
      'anonymous memory after 1000 of them, over 1000 before',
      (twiceKib - onceKib) / 1_024,
      ' MiB',
      1,
      true,
      `${(onceKib / 1_024).toFixed(1)} MiB after the first, ${(heldKib / 1_024).toFixed(1)} MiB before`,
    )
    await leaveAll(held)
    await execBesideTarpits(device, client)
    await client.close()
  } finally {
    await device.stop()
  }
}

async function execBesideTarpits(device: Device, client: Client): Promise<void> {
  const medianUs = async () => {
    const times: number[] = []
    for (let index = 0; index < 100; index++)
      times.push((await timedMs(() => client.execute('/bin/true'))) * 1_000)
    return median(times)
  }
  const alone: number[] = []
  const beside: number[] = []
  for (let round = 0; round < 12; round++) {
    await pause(200)
    alone.push(await medianUs())
    const held = await holdAll(device.port, TARPIT_CONCURRENT)
    await pause(200)
    beside.push(await medianUs())
    await leaveAll(held)
  }
  record(
    `warm exec beside ${TARPIT_CONCURRENT} tarpits / alone`,
    median(beside.map((us, index) => us / (alone[index] ?? Number.NaN))),
    'x',
    1.1,
    true,
    `${median(beside).toFixed(0)} us and ${median(alone).toFixed(0)} us`,
  )
}

const RECORDS = 20_000

/** What the chain costs: of the daemon's time, of the disk, and of whoever proves it. */
async function recordOfWork(device: Device): Promise<void> {
  const told = ({ median: middle, p99 }: Times) => `${middle.toFixed(0)} us, p99 ${p99.toFixed(0)} us`
  const { append, beforeAction, seal, verifiedPerSecond, records, mebibytes } = measureRecord(RECORDS)
  record(
    'a record with its signature, median',
    append.median,
    ' us',
    120,
    true,
    `p99 ${append.p99.toFixed(0)} us; before the action ${told(beforeAction)}; sealed facts ${told(seal)}`,
  )
  record(
    'records verified',
    verifiedPerSecond,
    ' a second',
    10_000,
    false,
    `of the processor; ${records} of them, ${mebibytes.toFixed(1)} MiB, in one pass`,
  )
  const client = await connectTo(device)
  await client.execute('true')
  await client.close()
  // The record of its end follows when there is time.
  await pause(500)
  const lines = readFileSync(join(device.directory, '.sass-edge/state/audit/audit.jsonl'), 'utf8').split('\n')
  const permitted = lines.findLast((line) => line.includes('"action":"execute"')) ?? ''
  const ended = lines.findLast((line) => line.includes('"type":"execution_ended"')) ?? ''
  record(
    'the record of exec true',
    Math.max(permitted.length, ended.length) + 1,
    ' B',
    1_024,
    true,
    `${permitted.length + 1} B when it is permitted, ${ended.length + 1} B when it has ended`,
  )
}

async function branches(device: Device): Promise<void> {
  const bare = await startDevice({ sandbox: { require: 'none' } })
  try {
    const cost = await measureBranch(device, bare, (one) => connectTo(one))
    const ratio = median(cost.ratios)
    record(
      'exec in a branch / without',
      ratio,
      'x',
      1.3,
      true,
      `${(cost.branchedMs * 1_000).toFixed(0)} us in a branch`,
    )
    record('the place of a session', cost.placeMs, ' ms', 15, true, 'its first command over a warm one')
    record(
      'review of many files',
      cost.diffMs,
      ' ms',
      2_000,
      true,
      `${cost.files} files, as JSON, command line included`,
    )
    record(
      'merge of many files',
      cost.mergeMs,
      ' ms',
      4_000,
      true,
      `${cost.files} files, synced, command line included`,
    )
    record('drop', cost.dropMs, ' ms', 1_000, true, 'command line included')
  } finally {
    await bare.stop()
  }
}

/** ^C while a program writes without end: at a terminal, and without one. */
async function lag(): Promise<void> {
  const device = await startDevice({ sandbox: { require: 'none' } })
  const spawner = await createSpawner()
  try {
    for (const [name, bytesPerSecond, flowMs, boundSeconds] of [
      ['100 kB/s', 100_000, 4_000, 1],
      ['9,600 bit/s', 1_200, 12_000, 5],
    ] as const) {
      const at = { device, link: { bytesPerSecond, delayMs: 25 } }
      for (const [what, work] of [
        ['prompt', (ms: number) => lagOfShell(spawner, { ...at, flowMs: ms })],
        ['end of exec', (ms: number) => lagOfExec({ ...at, flowMs: ms })],
      ] as const) {
        const { worst, leastUse } = await worstLag(work, flowMs)
        const detail = `the worst; ${worst.bytes} B came, the link was ${(leastUse * 100).toFixed(0)} % full before`
        record(`^C to the ${what} at ${name}`, worst.seconds, ' s', boundSeconds, true, detail)
      }
    }
  } finally {
    await spawner.close()
    await device.stop()
  }
}

async function main(names: readonly string[]): Promise<void> {
  const wants = (name: string) => names.length === 0 || names.includes(name)
  const device = await startDevice()
  const ssh = await startSsh()
  try {
    await new Promise((resolve) => setTimeout(resolve, SETTLED_MS))
    if (wants('memory'))
      record(
        'idle daemon, anonymous memory',
        device.anonymousKib() / 1_024,
        ' MiB',
        30,
        true,
        '15 s after its start',
      )
    if (wants('processor')) await processor(device, () => connectTo(device), record)
    if (wants('start')) await starts(record)
    if (wants('throughput')) await throughput(device, ssh, record)
    if (wants('bytes')) await bytes(device)
    if (wants('links')) await comingBack(device, record)
    if (wants('exec')) await warmExec(device, ssh)
    if (wants('cold')) await coldExec(device, ssh)
    if (wants('tarpit')) await tarpit()
    if (wants('record')) await recordOfWork(device)
    if (wants('branch')) await branches(device)
    if (wants('lag')) await lag()
    if (wants('gate')) await gate(connectTo, record)
    if (wants('firewall')) firewall(record)
  } finally {
    await ssh?.stop()
    await device.stop()
  }
  const missed = results.filter((result) => !holds(result))
  console.log(
    missed.length === 0
      ? 'Every bound is held.'
      : `${missed.length} of ${results.length} bounds are not held.`,
  )
  process.exitCode = missed.length === 0 ? 0 : 1
}

await main(process.argv.slice(2))
