/**
 * What a branch costs: a warm command in one beside one on the real files, the first command of a session, and the
 * review and the merge of many files, through the command line as its user has them.
 * @module
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '../src/client/client.node.ts'
import type { Device } from './device.node.ts'
import { median } from './median.ts'

const WARM_UP = 200
const ROUNDS = 10
const COMMANDS_A_ROUND = 100
const SESSIONS = 20
/** Files, and how many of them lie in one directory. */
const FILES = 10_000
const FILES_A_DIRECTORY = 100

export type BranchCost = {
  /** Medians of each round: with a branch over without. */
  readonly ratios: readonly number[]
  readonly branchedMs: number
  /** Of the first command of a session, over a warm one. */
  readonly placeMs: number
  readonly files: number
  readonly diffMs: number
  readonly mergeMs: number
  readonly dropMs: number
}

async function timedMs(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

async function run(device: Device, args: readonly string[]): Promise<void> {
  const child = spawn(device.program, args, { cwd: device.directory, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`sass-edge ${args.join(' ')} ended with ${code}.`)
}

async function warm(branched: Client, bare: Client): Promise<{ ratios: number[]; branchedMs: number }> {
  const one = (client: Client) => timedMs(() => client.execute('/bin/true'))
  for (let index = 0; index < WARM_UP; index++) for (const client of [branched, bare]) await one(client)
  const ratios: number[] = []
  const all: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const [with_, without]: [number[], number[]] = [[], []]
    for (let index = 0; index < COMMANDS_A_ROUND; index++) {
      with_.push(await one(branched))
      without.push(await one(bare))
    }
    ratios.push(median(with_) / median(without))
    all.push(...with_)
  }
  return { ratios, branchedMs: median(all) }
}

/** `connectTo` makes a session of its own each time. */
export async function measureBranch(
  device: Device,
  bare: Device,
  connectTo: (device: Device) => Promise<Client>,
): Promise<BranchCost> {
  const [client, other] = [await connectTo(device), await connectTo(bare)]
  const { ratios, branchedMs } = await warm(client, other)
  await other.close()
  const firsts: number[] = []
  for (let index = 0; index < SESSIONS; index++) {
    const session = await connectTo(device)
    firsts.push(await timedMs(() => session.execute('/bin/true')))
    await session.close()
  }
  const workspace = join(device.directory, '.sass-edge/workspace')
  const script = `d=0
while [ $d -lt ${FILES / FILES_A_DIRECTORY} ]; do
  mkdir -p many/$d; f=0
  while [ $f -lt ${FILES_A_DIRECTORY} ]; do echo "file $d $f" > many/$d/$f; f=$((f + 1)); done
  d=$((d + 1))
done
`
  writeFileSync(join(workspace, 'many.sh'), script)
  await run(device, ['exec', '--branch', 'new', '--', 'sh', './many.sh'])
  const diffMs = await timedMs(() => run(device, ['branch', 'diff', '--json']))
  const mergeMs = await timedMs(() => run(device, ['branch', 'merge', '--yes']))
  const merged = readdirSync(join(workspace, 'many'), { recursive: true }).length
  const files = merged - FILES / FILES_A_DIRECTORY
  await run(device, ['exec', '--branch', 'new', '--', 'sh', '-c', 'rm -r ./many'])
  const dropMs = await timedMs(() => run(device, ['branch', 'drop', '--yes']))
  await client.close()
  return { ratios, branchedMs, placeMs: median(firsts) - branchedMs, files, diffMs, mergeMs, dropMs }
}
