/**
 * A device for the history checker: an installation of its own with small rings and many agents, whose daemon can be
 * killed and started again, and what it leaves behind: starts, records, processes, descriptors, memory.
 * @module
 */
import { globSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import {
  changeConfig,
  type Daemon,
  eventsIn,
  install,
  type Json,
  ON_REAL_FILES,
  type Scope,
  sassEdge,
  startDaemon,
} from '../integration/daemon.node.ts'
import { DENIED_PATH, STARTS_FILE } from './jobs.ts'

/** Kept results are counted for each of them. */
export const AGENTS = 8
const SESSIONS = 192
const AT_ONCE = 96

const CONFIG: Json = {
  session: { max_sessions: SESSIONS, max_per_agent: null, ring_bytes: 65_536, keepalive_seconds: 5 },
  execution: { max_concurrent: AT_ONCE },
  quota: { queue: 1_024 },
  acl: { penalties: { enabled: false } },
  defense: { levels: { automatic: false } },
  capabilities: { default: { denied_paths: [DENIED_PATH], max_concurrent: AT_ONCE } },
  policy: { default_rules: false },
  security: { opaque: 'allow' },
  log: { level: 'warn' },
}

export type Device = {
  readonly directory: string
  readonly daemon: Daemon
  readonly kills: number
  /** Agents are numbered. */
  agent(number: number): { readonly name: string; readonly privateKey: Uint8Array }
  at(): { readonly port: number; readonly pin: string }
  /** SIGKILL, and a new one after `awayMs`. */
  kill(awayMs: number): Promise<void>
  /** Commands run in branches, each session in its own. */
  readonly isBranched: boolean
  /** How often each id has started. */
  starts(): ReadonlyMap<string, number>
  /** Events of all files of its chain. */
  records(): Json[]
  /** What still runs in its workspace. */
  processes(): string[]
  endProcesses(): void
  verifies(): Promise<Json>
  /** What the daemon has open, and how often. */
  openFiles(): string[]
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Programs whose working directory is `directory`, by their command lines. */
function processesIn(directory: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(directory)
      } catch {
        return false
      }
    })
    .map((pid) => `${pid} ${textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').slice(0, 80)}`)
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

function openFilesOf(pid: number): string[] {
  const counts = new Map<string, number>()
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const target = readlinkSync(`/proc/${pid}/fd/${name}`).replace(/\d+/g, '#')
      counts.set(target, (counts.get(target) ?? 0) + 1)
    } catch {
      // It is closed by now.
    }
  }
  return [...counts].map(([target, times]) => `${times} ${target}`)
}

function recordsOf(directory: string): Json[] {
  const place = join(directory, '.sass-edge/state/audit')
  return readdirSync(place)
    .filter((name) => name.endsWith('.jsonl'))
    .sort((a, b) => (a === 'audit.jsonl' ? 1 : b === 'audit.jsonl' ? -1 : a < b ? -1 : 1))
    .flatMap((name) => eventsIn(readFileSync(join(place, name), 'utf8')))
}

export async function newDevice(scope: Scope, isBranched = false): Promise<Device> {
  const directory = await install(scope, isBranched ? CONFIG : { ...CONFIG, ...ON_REAL_FILES })
  for (let number = 0; number < AGENTS; number++) {
    const added = await sassEdge(['agent', 'add', `a${number}`], { cwd: directory })
    if (added.code !== 0) throw new Error(added.stderr)
  }
  changeConfig(directory, {})
  let daemon = await startDaemon(scope, directory)
  const keys = Array.from({ length: AGENTS }, (_, number) => daemon.seed(`a${number}`))
  const workspace = join(directory, '.sass-edge/workspace')
  let kills = 0
  // What a session changes lies in its branch.
  const uppers = join(directory, '.sass-edge/state/branches/*/*/upper', STARTS_FILE)
  const startsFiles = () => (isBranched ? globSync(uppers) : [join(workspace, STARTS_FILE)])
  return {
    directory,
    isBranched,
    get daemon() {
      return daemon
    },
    get kills() {
      return kills
    },
    agent: (number) => ({
      name: `a${number % AGENTS}`,
      privateKey: keys[number % AGENTS] ?? new Uint8Array(32),
    }),
    at: () => ({ port: daemon.port, pin: daemon.fingerprint }),
    async kill(awayMs) {
      kills += 1
      daemon.signal('SIGKILL')
      await daemon.ended
      await new Promise((resolve) => setTimeout(resolve, awayMs))
      daemon = await startDaemon(scope, directory)
    },
    starts() {
      const counts = new Map<string, number>()
      for (const id of startsFiles().flatMap((path) => textOf(path).split('\n').filter(Boolean)))
        counts.set(id, (counts.get(id) ?? 0) + 1)
      return counts
    },
    records: () => recordsOf(directory),
    openFiles: () => openFilesOf(daemon.pid),
    processes: () => processesIn(workspace),
    endProcesses() {
      for (const line of processesIn(workspace)) end(Number.parseInt(line, 10))
    },
    async verifies() {
      const { code, stdout } = await sassEdge(['audit', 'verify', '--json'], {
        cwd: directory,
        timeoutMs: 120_000,
      })
      return { ...JSON.parse(stdout.toString()), code }
    },
  }
}
