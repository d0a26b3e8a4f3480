/**
 * A real daemon out of the bundle, in a directory of its own and on a free port, and the command line beside it.
 * Needs what `npm run build` leaves in dist/.
 * @module
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

export const ROOT: string = join(import.meta.dirname, '../..')
export const PROGRAM: string = join(ROOT, 'bin/sass-edge')

export type Json = { readonly [name: string]: unknown }
export type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null }
export type Result = Ended & { readonly stdout: Buffer; readonly stderr: string }
export type RunOptions = {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Written to stdin, which then ends. Absent: /dev/null. */
  readonly input?: string | Buffer
  readonly timeoutMs?: number
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Waits until `condition` holds; throws with `what` where it never does. A file that is not there, yet or any more, is one
 * of the ways not to hold. The limit is for a machine with much else to do.
 */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  limitMs = 60_000,
): Promise<void> {
  let cause: unknown
  for (const end = performance.now() + limitMs; performance.now() < end; await sleep(10))
    try {
      if (await condition()) return
      cause = undefined
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      cause = error
    }
  throw new Error(`never came: ${what}`, { cause })
}

/** False for a zombie too: it is dead, whoever still has to notice. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Whatever ends what was begun for it. */
export type Scope = Pick<Test, 'teardown'>

/** A directory for one test, which goes with it. */
export function temporary(t: Scope): string {
  const directory = mkdtempSync(join(tmpdir(), 'sass-edge-it-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** Nothing of the machine's own user gets in: no pins, no keys, no options of Node. */
export function environment(directory: string, more: RunOptions['env'] = {}): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: directory, TERM: 'xterm', ...more }
}

/** Everything that a started program wrote, and its end. */
export function collect(child: ChildProcess): Promise<Result> {
  const stdout: Buffer[] = []
  let stderr = ''
  child.stdout?.on('data', (bytes: Buffer) => stdout.push(bytes))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, stdout: Buffer.concat(stdout), stderr }))
  })
}

/** Runs a program to its end; it is killed where it takes longer than `timeoutMs`. */
export function runProgram(file: string, args: readonly string[], options: RunOptions = {}): Promise<Result> {
  const cwd = options.cwd ?? tmpdir()
  const child = spawn(file, args, {
    cwd,
    env: environment(cwd, options.env),
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    timeout: options.timeoutMs ?? 120_000,
    killSignal: 'SIGKILL',
  })
  // Who is not read to the end gets EPIPE: that is the reader's business.
  child.stdin?.on('error', () => {})
  child.stdin?.end(options.input)
  return collect(child)
}

/** `sass-edge ARGS`. */
export function sassEdge(args: readonly string[], options: RunOptions = {}): Promise<Result> {
  return runProgram(PROGRAM, args, options)
}

function merge(base: unknown, change: Json): Json {
  const object = typeof base === 'object' && base !== null && !Array.isArray(base) ? (base as Json) : {}
  const merged: Record<string, unknown> = { ...object }
  for (const [name, value] of Object.entries(change)) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    merged[name] = isObject ? merge(object[name], value as Json) : value
  }
  return merged
}

export const configPath = (directory: string): string => join(directory, '.sass-edge/sass.edge.json')

/** Changes single keys of an installation's configuration; lists are replaced whole. */
export function changeConfig(directory: string, change: Json): void {
  const path = configPath(directory)
  writeFileSync(path, JSON.stringify(merge(JSON.parse(readFileSync(path, 'utf8')), change)))
}

/** Commands change the real files: for tests that look at what a command has left there, or at its processes. */
export const ON_REAL_FILES: Json = { sandbox: { require: 'none' }, security: { opaque: 'allow' } }

/** Installations by number and by the bundle that made them; the next of this process. */
const MADE = join(ROOT, '.tap/installations')
let installed = 0

/**
 * A directory with an installation as `sass-edge init` makes it. Each is made once: the first of any file of tests is the
 * same as that of another, and those of one file differ.
 */
async function made(): Promise<string> {
  const bundle = statSync(join(ROOT, 'dist/sass-edge.mjs')).mtimeMs
  const place = join(MADE, `${bundle}-${installed++}`)
  if (existsSync(place)) return place
  mkdirSync(MADE, { recursive: true })
  const own = mkdtempSync(join(MADE, 'new-'))
  const { code, stderr } = await sassEdge(['init', '--port', '0'], { cwd: own })
  if (code !== 0) throw new Error(stderr)
  try {
    renameSync(own, place)
  } catch {
    // Another process was quicker.
    rmSync(own, { recursive: true })
  }
  return place
}

/** A new directory with an installation in its .sass-edge, as `sass-edge init` makes it, on any free port. */
export async function install(t: Scope, change: Json = {}): Promise<string> {
  const directory = temporary(t)
  // With its modes.
  execFileSync('cp', ['-a', join(await made(), '.sass-edge'), directory])
  changeConfig(directory, change)
  return directory
}

export type Daemon = {
  readonly directory: string
  readonly workspace: string
  readonly pid: number
  readonly port: number
  readonly fingerprint: string
  readonly adminSocket: string
  /** Lines of the log so far. */
  log(): string[]
  /** Events of the audit chain so far. */
  audit(): Json[]
  /** `sass-edge ARGS` in the daemon's directory. */
  cli(args: readonly string[], options?: RunOptions): Promise<Result>
  /** The seed of one of its keys. */
  seed(name?: string): Uint8Array
  anonymousKib(): number
  descriptors(): number
  signal(name: NodeJS.Signals): void
  readonly ended: Promise<Ended>
  /** SIGTERM, and the end. */
  stop(): Promise<Ended>
}

/** Starts the daemon of an installation and waits until it says where it listens. `args` go to `run`, `env` is its environment's as well. */
export async function startDaemon(
  t: Scope,
  directory: string,
  args: readonly string[] = [],
  env: RunOptions['env'] = {},
): Promise<Daemon> {
  const child = spawn(PROGRAM, ['run', '--json', ...args], {
    cwd: directory,
    env: environment(directory, env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  let hasEnded = false
  const ended = new Promise<Ended>((resolve) => {
    child.once('exit', (code, signal) => {
      hasEnded = true
      resolve({ code, signal })
    })
  })
  await until('a daemon that listens', () => said.endsWith('\n') || hasEnded)
  if (hasEnded) throw new Error(`The daemon ended: ${log}`)
  const started: { address?: string; fingerprint: string; admin_socket: string } = JSON.parse(said)
  const { address } = started
  if (address === undefined) throw new Error(`The daemon did not start: ${said}${log}`)
  const pid = child.pid ?? 0
  const stop = async (): Promise<Ended> => {
    child.kill('SIGTERM')
    const hard = setTimeout(() => child.kill('SIGKILL'), 12_000)
    const how = await ended
    clearTimeout(hard)
    return how
  }
  t.teardown(stop)
  return {
    directory,
    workspace: join(directory, '.sass-edge/workspace'),
    pid,
    port: Number(address.split(':').at(-1)),
    fingerprint: started.fingerprint,
    adminSocket: started.admin_socket,
    log: () => log.split('\n').filter(Boolean),
    audit: () => auditEvents(directory),
    cli: (args, options) => sassEdge(args, { cwd: directory, ...options }),
    seed: (name = 'agent') => new Uint8Array(readFileSync(join(directory, '.sass-edge/keys', `${name}.key`))),
    anonymousKib: () =>
      Number(/^Anonymous:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]),
    descriptors: () => readdirSync(`/proc/${pid}/fd`).length,
    signal: (name) => child.kill(name),
    ended,
    stop,
  }
}

/** An installation and its daemon in one. */
export async function startNew(t: Scope, change: Json = {}): Promise<Daemon> {
  return startDaemon(t, await install(t, change))
}

/** The records of a file; the last line may still wait for its signature, and be there up to its hash alone. */
export function eventsIn(text: string): Json[] {
  const lines = text.split('\n')
  const last = /^.*,"chain_hash":"[0-9a-f]{64}"/.exec(lines.pop() ?? '')
  if (last !== null) lines.push(`${last[0]}}`)
  return lines.map((line) => (JSON.parse(line) as { event: Json }).event)
}

export function auditEvents(directory: string): Json[] {
  return eventsIn(readFileSync(join(directory, '.sass-edge/state/audit/audit.jsonl'), 'utf8'))
}
