/**
 * A world with the daemon as shipped in it, the network around it, and the agent that sends lines to it.
 * The configuration is that of `sass-edge init` with the workspace of the world, `network: gate` and a short list; times
 * in which nobody would answer are short, and rules are what is measured: on, or off with everything that reads.
 * @module
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventsIn } from '../integration/daemon.node.ts'
import type { Connection, FromDriver, Raised, Task, ToDriver, Told } from './driver-protocol.ts'
import {
  DEVICE_ADDRESS,
  DEVICE_ADDRESS_6,
  type FromOutside,
  OUTSIDE_ADDRESS,
  OUTSIDE_ADDRESS_6,
  type Seen,
  type ToOutside,
} from './outside-protocol.ts'
import { makeWorld, type World } from './world.node.ts'

/** What a device whose agents work with public sources would list. */
export const EGRESS: readonly string[] = [
  'github.com',
  'api.github.com',
  'registry.npmjs.org',
  'pypi.org',
  'files.pythonhosted.org',
  'deb.debian.org',
  'example.com',
  'api.example',
]
export const LISTED_PORTS: readonly number[] = [80, 443]
const START_MS = 30_000
const ANSWER_MS = 600_000
export const WORKSPACE = '/home/dev/project'
export const HOME = '/home/dev'

export type Place = {
  readonly base: string
  readonly product: string
  readonly certificates: string
  readonly repository: string
  readonly project: string
}
/** levels: refusals raise the alarm, as they do where nobody has changed it. */
export type Setting = {
  readonly rules: boolean
  readonly levels: boolean
  /** Commands run on the device's own files and network: what they do must be found, or nothing would be. */
  readonly leaks?: boolean
}

export type Event = {
  readonly type: string
  readonly session?: string | null
  readonly branch?: string | null
  readonly response?: string
  readonly rule?: string
  readonly name?: string | null
  readonly address?: string | null
  readonly port?: number | null
  readonly what?: string
  readonly reason?: string | null
}

export type Stage = {
  readonly world: World
  readonly daemonPid: number
  log(): string
  run(tasks: readonly Task[], parallel: number): Promise<readonly Told[]>
  seen(): Promise<Seen>
  raised(): Promise<readonly Raised[]>
  /** Events of its record since the last time. */
  events(): readonly Event[]
  end(): Promise<void>
}

/** A child that is asked one thing at a time. */
function asking<To, From extends { kind: string }>(child: ChildProcess, name: string) {
  return (message: To, limitMs = ANSWER_MS): Promise<From> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => finish(() => reject(new Error(`${name} does not answer`))), limitMs)
      const onMessage = (answer: unknown) =>
        finish(() => {
          const given = answer as From & { message?: string }
          if (given.kind === 'failed') reject(new Error(`${name}: ${given.message}`))
          else resolve(given)
        })
      const onExit = () => finish(() => reject(new Error(`${name} has ended`)))
      const finish = (then: () => void) => {
        clearTimeout(timer)
        child.off('message', onMessage)
        child.off('exit', onExit)
        then()
      }
      child.once('message', onMessage)
      child.once('exit', onExit)
      child.send(message as object)
    })
}

const WITH_MESSAGES = ['ignore', 'inherit', 'inherit', 'ipc'] as const
const NODE_OPTIONS = ['--disable-warning=ExperimentalWarning']
const own = (name: string): string => join(import.meta.dirname, name)

/** Reads what was added to the record; of the last line, which may have no end yet, what stands before its signature. */
function recordReader(path: string): () => readonly Event[] {
  let read = 0
  let told = 0
  return () => {
    const bytes = readFileSync(path)
    if (bytes.length < read) read = 0
    const events = eventsIn(bytes.toString('utf8', read)) as unknown as readonly (Event & {
      readonly seq: number
    })[]
    // The last line has perhaps no end yet, and is told now.
    const fresh = events.filter(({ seq }) => seq > told)
    read = bytes.lastIndexOf(10) + 1
    told = fresh.at(-1)?.seq ?? told
    return fresh
  }
}

/** The cable between the two, and addresses at the world's end of it. */
async function connectWorld(world: World, outsidePid: number): Promise<void> {
  const ip = async (...argv: readonly string[]) => {
    const ended = await world.run(['ip', ...argv])
    if (ended.code !== 0) throw new Error(`ip ${argv.join(' ')}: ${ended.stderr}`)
  }
  const cable = spawn('nsenter', [
    `--net=/proc/${outsidePid}/ns/net`,
    ...['ip', 'link', 'add', 'up0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(world.pid)],
  ])
  const code = await new Promise((resolve) => cable.once('exit', resolve))
  if (code !== 0) throw new Error('no cable (veth) can be made here')
  await ip('addr', 'add', `${DEVICE_ADDRESS}/30`, 'dev', 'eth0')
  await ip('link', 'set', 'eth0', 'up')
  await ip('route', 'add', 'default', 'via', OUTSIDE_ADDRESS)
  await ip('-6', 'addr', 'add', `${DEVICE_ADDRESS_6}/64`, 'dev', 'eth0', 'nodad')
  await ip('-6', 'route', 'add', 'default', 'via', OUTSIDE_ADDRESS_6)
}

function configure(edge: string, { rules, levels, leaks = false }: Setting): void {
  const path = join(edge, '.sass-edge/sass.edge.json')
  const config = JSON.parse(readFileSync(path, 'utf8'))
  config.security.workspace_root = WORKSPACE
  for (const set of Object.values(config.capabilities as Record<string, { allowed_paths: string[] }>))
    set.allowed_paths = ['$WORKSPACE']
  config.sandbox = { ...config.sandbox, network: 'gate', egress: EGRESS }
  config.confirm = { ...config.confirm, timeout_seconds: 1 }
  config.defense = {
    ...config.defense,
    levels: { ...config.defense?.levels, automatic: levels },
    vi_swap: { ...config.defense?.vi_swap, hold_seconds: 1 },
    tarpit: { ...config.defense?.tarpit, chunk_bytes: 64, total_bytes: 128, delay_ms: 50 },
  }
  // Lines that wait for an answer hold up no others.
  config.session = { ...config.session, max_sessions: 64, max_per_agent: null }
  if (leaks) config.sandbox = { ...config.sandbox, require: 'none', network: 'host', trust_network: true }
  if (!rules) {
    config.policy = { ...config.policy, default_rules: false }
    config.security = {
      ...config.security,
      ...{ sensitive_files: 'audit', toxic_combinations: 'audit', opaque: 'allow' },
    }
  }
  writeFileSync(path, JSON.stringify(config))
}

type Started = { readonly child: ChildProcess; readonly connection: Connection; readonly log: () => string }

async function startDaemon(world: World, setting: Setting): Promise<Started> {
  const env = { HOME, TERM: 'xterm', LANG: 'C.UTF-8' }
  const program = '/opt/sass-edge/bin/sass-edge'
  const port = randomInt(20_000, 30_000)
  const made = await world.run([program, 'init', '--port', String(port)], { cwd: '/srv/edge', env })
  if (made.code !== 0) throw new Error(`init: ${made.stderr}`)
  configure(world.edge, setting)
  const child = world.enter([program, 'run', '--json'], { cwd: '/srv/edge', env })
  let [log, said] = ['', '']
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-2_000_000)
  })
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`The daemon does not start: ${log}`)), START_MS)
    const done = (then: () => void) => {
      clearTimeout(timer)
      then()
    }
    child.once('exit', () => done(() => reject(new Error(`The daemon ended: ${log}`))))
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (said.includes('\n')) done(resolve)
    })
  })
  const { fingerprint } = JSON.parse(said.split('\n')[0] ?? '{}')
  const key = (name: string) =>
    readFileSync(join(world.edge, '.sass-edge/keys', `${name}.key`)).toString('base64')
  return {
    child,
    log: () => log,
    connection: { port, pin: fingerprint, agentKey: key('agent'), operatorKey: key('operator') },
  }
}

export type Bare = { readonly world: World; seen(): Promise<Seen>; end(): Promise<void> }

/** A world with its network, and no daemon in it. */
export async function openBare(place: Place): Promise<Bare> {
  const outside = spawn(
    'unshare',
    [
      '--net',
      '--mount',
      '--propagation',
      'private',
      process.execPath,
      ...NODE_OPTIONS,
      own('outside.node.ts'),
      place.certificates,
      place.repository,
    ],
    { stdio: [...WITH_MESSAGES] },
  )
  const askOutside = asking<ToOutside | { kind: 'begin' }, FromOutside>(outside, 'the outside')
  let world: World | undefined
  const end = async (): Promise<void> => {
    outside.kill('SIGKILL')
    await world?.end()
  }
  try {
    world = await makeWorld(place)
    await connectWorld(world, outside.pid ?? 0)
    await askOutside({ kind: 'begin' }, START_MS)
    outside.send({ kind: 'canary', canary: world.canary })
  } catch (error) {
    await end()
    throw error
  }
  const seen = async (): Promise<Seen> => {
    const told = await askOutside({ kind: 'tell' }, START_MS)
    if (told.kind !== 'seen') throw new Error('the outside tells something else')
    return told
  }
  return { world, seen, end }
}

/** @throws Error with a sentence where it does not come about. */
export async function openStage(place: Place, setting: Setting): Promise<Stage> {
  const bare = await openBare(place)
  let driver: ChildProcess | undefined
  const end = async (): Promise<void> => {
    driver?.kill('SIGKILL')
    await bare.end()
  }
  try {
    const { world } = bare
    const daemon = await startDaemon(world, setting)
    driver = spawn(
      'nsenter',
      [`--net=/proc/${world.pid}/ns/net`, process.execPath, ...NODE_OPTIONS, own('driver.node.ts')],
      {
        stdio: [...WITH_MESSAGES],
      },
    )
    const ask = asking<ToDriver, FromDriver>(driver, 'the agent')
    await ask({ kind: 'connect', ...daemon.connection }, START_MS)
    return {
      world,
      daemonPid: daemon.child.pid ?? 0,
      log: daemon.log,
      async run(tasks, parallel) {
        const told = await ask({ kind: 'run', tasks, parallel })
        return told.kind === 'told' ? told.told : []
      },
      async raised() {
        const told = await ask({ kind: 'levels' }, START_MS)
        return told.kind === 'levels' ? told.raised : []
      },
      events: recordReader(join(world.edge, '.sass-edge/state/audit/audit.jsonl')),
      seen: bare.seen,
      end,
    }
  } catch (error) {
    await end()
    throw error
  }
}
