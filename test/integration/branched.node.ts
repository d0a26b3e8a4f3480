/**
 * A real daemon whose commands run in branches, as root or as an ordinary user, in a directory that no session sees as
 * an empty one in memory; and sessions with it that run scripts.
 * @module
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { type Client, connect } from '../../src/client/client.node.ts'
import {
  changeConfig,
  collect,
  type Ended,
  environment,
  type Json,
  PROGRAM,
  type Result,
  until,
} from './daemon.node.ts'

/** Attacks need raw system calls, which no shell makes. */
export const PYTHON: string | undefined = ['/usr/bin/python3', '/usr/local/bin/python3'].find(existsSync)
const ORDINARY = 1_000

export type Who = { readonly name: 'root' | 'user'; readonly uid: number }

/** Who a daemon can be on this machine; says why somebody is left out. */
export function everyone(t: Test): Who[] {
  const uid = process.geteuid?.() ?? ORDINARY
  const ordinary = uid === 0 ? ORDINARY : uid
  const probe = spawnSync(
    'unshare',
    ['--user', '--mount', '--map-current-user', '--keep-caps', '--', 'true'],
    uid === 0 ? { uid: ORDINARY, gid: ORDINARY } : {},
  )
  if (uid !== 0) t.comment('skipped as root: this test is run by an ordinary user')
  if (probe.status !== 0) t.comment('skipped as an ordinary user: this machine lets none make namespaces')
  return [
    ...(uid === 0 ? [{ name: 'root', uid } as const] : []),
    ...(probe.status === 0 ? [{ name: 'user', uid: ordinary } as const] : []),
  ]
}

/** A directory of that user, not beneath /tmp, where a session has one of its own. */
export function homeFor(t: Test, who: Who): string {
  const place = process.geteuid?.() === 0 ? '/var/lib' : homedir()
  const directory = mkdtempSync(join(place, 'sass-edge-it-'))
  chownSync(directory, who.uid, who.uid)
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** Gives a tree to that user. */
export function give(path: string, who: Who): void {
  lchownSync(path, who.uid, who.uid)
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) give(join(path, name), who)
}

export type Branched = {
  readonly who: Who
  readonly directory: string
  readonly workspace: string
  readonly state: string
  readonly adminSocket: string
  readonly port: number
  readonly fingerprint: string
  pid(): number
  log(): string
  descriptors(): number
  /** How many of each kind it has open: `socket:[]`, `pipe:[]`, a path. */
  descriptorKinds(): Readonly<Record<string, number>>
  put(name: string, text: string | Buffer, mode?: number): void
  open(branch?: 'new' | 'latest'): Promise<Client>
  /** Runs a script of Python in a session of its own, with what it printed; throws where it failed. */
  python(script: string, ...args: readonly string[]): Promise<string>
  sh(script: string): Promise<string>
  /** `sass-edge ARGS` as the daemon's user. */
  cli(args: readonly string[]): Promise<Result>
  signal(name: NodeJS.Signals): void
  ended(): Promise<Ended>
  start(): Promise<void>
  stop(): Promise<Ended>
  /** Where it has been stopped: everything of it is that user's, as whom it starts from now on. */
  giveTo(other: Who): void
}

/** Runs a program in a session and gives what it printed; throws where it failed. */
export async function run(client: Client, command: string, args: readonly string[]): Promise<string> {
  const result = await client.execute(command, args, { timeoutSeconds: 100 })
  const [stdout, stderr] = [Buffer.from(result.stdout).toString(), Buffer.from(result.stderr).toString()]
  if (result.exitCode !== 0)
    throw new Error(
      `${command} ${args.join(' ')}: ${result.exitCode} ${result.signal} ${stdout.slice(-1_000)} ${stderr.slice(-2_000)}`,
    )
  return stdout
}

/** What a daemon finds for /etc, in mounts that nobody else sees: root alone makes them. */
export type Surroundings = { readonly etc: string }

const SURROUND = 'mount --bind "$1" /etc && shift && exec "$@"'

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return 'closed meanwhile'
  }
}

/** The words that start the daemon, and whether they are for root, who becomes that user then. */
function startWords({ uid }: Who, around: Surroundings | undefined): readonly string[] {
  const run = [PROGRAM, 'run', '--json']
  if (around === undefined) return run
  const become = uid === 0 ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--']
  const mounted = ['sh', '-c', SURROUND, 'sh', around.etc]
  return ['unshare', '--mount', '--', ...mounted, ...become, ...run]
}

/** An installation and its daemon. What stops an attack here is to be the kernel, not the reading of its words. */
export async function startBranched(
  t: Test,
  who: Who,
  change: Json | ((home: string) => Json) = {},
  around?: Surroundings,
): Promise<Branched> {
  // Nothing of a path may mean anything to a mount.
  const home = join(homeFor(t, who), 'a b:c,d')
  mkdirSync(home)
  chownSync(home, who.uid, who.uid)
  const asUser = ({ uid }: Who) => (process.geteuid?.() === 0 && uid !== 0 ? { uid, gid: uid } : {})
  let options = { cwd: home, env: environment(home), ...asUser(who) }
  const made = await collect(spawn(PROGRAM, ['init', '--port', '0'], { ...options, stdio: 'pipe' }))
  if (made.code !== 0) throw new Error(made.stderr)
  changeConfig(home, {
    policy: { default_rules: false },
    session: { max_sessions: 64, max_per_agent: null },
    ...(typeof change === 'function' ? change(home) : change),
  })
  const workspace = join(home, '.sass-edge/workspace')
  let [log, said, ended]: [string, string, Promise<Ended> | undefined] = ['', '', undefined]
  let child: ChildProcess = spawn('true')
  let fingerprint = ''
  let port = 0
  let adminSocket = ''
  let scripts = 0

  const daemon: Branched = {
    who,
    directory: home,
    workspace,
    state: join(home, '.sass-edge/state'),
    get adminSocket() {
      return adminSocket
    },
    get port() {
      return port
    },
    get fingerprint() {
      return fingerprint
    },
    pid: () => child.pid ?? 0,
    log: () => log,
    descriptors: () => readdirSync(`/proc/${child.pid}/fd`).length,
    descriptorKinds() {
      const kinds: Record<string, number> = {}
      for (const number of readdirSync(`/proc/${child.pid}/fd`)) {
        const kind = linkOf(`/proc/${child.pid}/fd/${number}`).replaceAll(/\d+/g, '')
        kinds[kind] = (kinds[kind] ?? 0) + 1
      }
      return kinds
    },
    put(name, text, mode = 0o755) {
      writeFileSync(join(workspace, name), text, { mode })
      chownSync(join(workspace, name), who.uid, who.uid)
    },
    open: (branch) =>
      connect({
        reconnect: false,
        branch,
        host: '127.0.0.1',
        port,
        agent: 'agent',
        privateKey: new Uint8Array(readFileSync(join(home, '.sass-edge/keys/agent.key'))),
        pin: fingerprint,
      }),
    async python(script, ...args) {
      const name = `script${scripts++}.py`
      // Not on the command line, where the daemon reads what is named.
      daemon.put(name, `import sys\nsys.argv[1:] = ${JSON.stringify(args)}\n${script}`)
      return inSession(daemon, (client) => run(client, PYTHON ?? 'python3', [`./${name}`]))
    },
    async sh(script) {
      const name = `script${scripts++}.sh`
      daemon.put(name, script)
      return inSession(daemon, (client) => run(client, 'sh', [`./${name}`]))
    },
    cli: (args) => collect(spawn(PROGRAM, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })),
    signal: (name) => child.kill(name),
    ended: () => ended ?? Promise.resolve({ code: 0, signal: null }),
    async start() {
      said = ''
      const [file = '', ...words] = startWords(who, around)
      const { cwd, env } = options
      child = spawn(file, words, {
        ...(around === undefined ? options : { cwd, env }),
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        log += text
      })
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
      let hasEnded = false
      ended = new Promise((resolve) => {
        child.once('exit', (code, signal) => {
          hasEnded = true
          resolve({ code, signal })
        })
      })
      await until('a daemon that listens', () => said.endsWith('\n') || hasEnded)
      if (hasEnded) throw new Error(`The daemon ended: ${log}`)
      if (!said.includes('fingerprint')) throw new Error(`${said}${log}`)
      const started = JSON.parse(said) as { address: string; fingerprint: string; admin_socket: string }
      port = Number(started.address.split(':').at(-1))
      ;({ fingerprint, admin_socket: adminSocket } = started)
    },
    async stop() {
      child.kill('SIGTERM')
      const hard = setTimeout(() => child.kill('SIGKILL'), 12_000)
      const how = await daemon.ended()
      clearTimeout(hard)
      return how
    },
    giveTo(other) {
      give(dirname(home), other)
      options = { ...options, ...asUser(other) }
    },
  }
  t.teardown(() => daemon.stop())
  await daemon.start()
  return daemon
}

/** After whatever was tried: the record is whole, and what was decided is decided again. */
export async function recordIsWhole(t: Test, daemon: Branched): Promise<void> {
  for (const what of ['verify', 'replay']) {
    const { code, stderr, stdout } = await daemon.cli(['audit', what])
    t.equal(code, 0, `audit ${what}: ${stderr || stdout.toString().split('\n').at(-2)}`)
  }
}

/** A session that ends with its work. */
export async function inSession<Result>(
  daemon: Branched,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = await daemon.open()
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}
