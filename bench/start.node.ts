/**
 * From the start of the process to the line that says it listens, beside the floor under every program of Node: a start
 * of it that does nothing. In turn, so that what disturbs one disturbs the other.
 * @module
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Record } from './bytes.node.ts'
import { median } from './median.ts'

export type StartTimes = {
  /** Medians, milliseconds. */
  readonly daemonMs: number
  readonly nodeMs: number
  /** Median of the ratios of each pair. */
  readonly ratio: number
}

async function untilItListens(program: string, directory: string): Promise<number> {
  const begin = performance.now()
  const child = spawn(program, ['run', '--json'], { cwd: directory, stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  const elapsedMs = performance.now() - begin
  child.kill('SIGTERM')
  await once(child, 'close')
  return elapsedMs
}

function emptyStart(): number {
  const begin = performance.now()
  spawnSync(process.execPath, ['-e', '0'])
  return performance.now() - begin
}

/** @param program the command or a single binary */
export async function startTimes(program: string, pairs = 20): Promise<StartTimes> {
  const directory = mkdtempSync(join(tmpdir(), 'sass-edge-bench-'))
  try {
    spawnSync(program, ['init', '--port', '0'], { cwd: directory })
    // What a first start makes (key, certificate, record) is there for those that are measured.
    await untilItListens(program, directory)
    const daemon: number[] = []
    const node: number[] = []
    for (let pair = 0; pair < pairs; pair++) {
      node.push(emptyStart())
      daemon.push(await untilItListens(program, directory))
    }
    const ratios = daemon.map((elapsedMs, index) => elapsedMs / (node[index] ?? Number.NaN))
    return { daemonMs: median(daemon), nodeMs: median(node), ratio: median(ratios) }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** The command, and the single binary where one was built. */
export async function starts(record: Record): Promise<void> {
  const root = join(import.meta.dirname, '..')
  const binary = join(root, 'dist/release', `linux-${process.arch}`, 'sass-edge')
  for (const program of [join(root, 'bin/sass-edge'), binary]) {
    if (!existsSync(program)) continue
    const { daemonMs, nodeMs, ratio } = await startTimes(program)
    const what = `start to listening of ${program === binary ? 'the single binary' : 'the command'}`
    record(what, daemonMs, ' ms', 150, true, `node -e 0 takes ${nodeMs.toFixed(0)} ms beside it`)
    record(`${what}, of node -e 0`, ratio, ' times', 4, true, 'in pairs, the median')
  }
}
