/**
 * A device to measure: a real daemon from the bundle in a temporary directory, on a port of its own, and what its
 * process costs by the kernel's word.
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PROGRAM = join(import.meta.dirname, '..', 'bin', 'sass-edge')

export type Device = {
  readonly directory: string
  readonly pid: number
  readonly port: number
  readonly fingerprint: string
  readonly privateKey: Uint8Array
  /** Private anonymous memory of the daemon, KiB. */
  anonymousKib(): number
  /** The command line with this device as the nearest one. */
  readonly program: string
  stop(): Promise<void>
}

async function runToEnd(program: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`sass-edge ${args.join(' ')} ended with ${code}.`)
}

/** The line of JSON with which `run --json` says where it listens. */
async function listening(child: ChildProcess): Promise<{ address: string; fingerprint: string }> {
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += chunk
    if (text.includes('\n')) return JSON.parse(text)
  }
  throw new Error('The daemon ended before it listened.')
}

/** `change`: keys of the configuration that replace what `init` writes. `program`: a single binary in place of the bundle. */
export async function startDevice(
  change: Readonly<Record<string, unknown>> = {},
  program = PROGRAM,
): Promise<Device> {
  const directory = mkdtempSync(join(tmpdir(), 'sass-edge-bench-'))
  await runToEnd(program, ['init', '--port', '0'], directory)
  const configPath = join(directory, '.sass-edge/sass.edge.json')
  const config = JSON.parse(readFileSync(configPath, 'utf8'))
  writeFileSync(configPath, JSON.stringify({ ...config, ...change }))
  const child = spawn(program, ['run', '--json'], { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-4_096)
  })
  const { address, fingerprint } = await listening(child).catch((error) => {
    throw new Error(`${error.message} ${said}`)
  })
  const pid = child.pid ?? 0
  return {
    directory,
    pid,
    program,
    port: Number(address.split(':').at(-1)),
    fingerprint,
    privateKey: new Uint8Array(readFileSync(join(directory, '.sass-edge/keys/agent.key'))),
    anonymousKib: () =>
      Number(/^Anonymous:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0),
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'close')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
