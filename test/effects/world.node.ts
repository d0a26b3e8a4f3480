/**
 * A throwaway world: mount, process, IPC, host name, network and control group namespaces of its own, an overlay of the
 * machine's root in memory, plain files in the place of disks, and a fence around it (`fence.node.ts`). Whoever is in it
 * as root with every right that it has cannot touch the machine: what can be written lies in memory, and is thrown away.
 * Has to be called in a mount namespace that nobody else is in. Needs root.
 * @module
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type Fence, hierarchies, makeFence } from './fence.node.ts'
import { CANARY_PREFIX, DROPPED_CAPABILITIES, FURNISH_WORLD, MAKE_WORLD } from './world-scripts.ts'

/** Of what a world changes and of its disks, in memory. */
const WORLD_BYTES = '1g'
const MAKE_MS = 20_000
const NAMESPACES = ['--mount', '--pid', '--ipc', '--uts', '--net', '--cgroup'] as const
/** Which namespaces a program enters that runs in the world; the process namespace with a fork. */
const ENTERED = ['-m', '-u', '-i', '-n', '-p', '-C', '-r'] as const
export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const NODES = { null: [1, 3], zero: [1, 5], full: [1, 7], random: [1, 8], urandom: [1, 9], tty: [5, 0] }
/** Names of what would hurt; here each is a plain file. */
const FAKE_DEVICES =
  'sda sda1 sdb vda vda1 nvme0n1 nvme0n1p1 mmcblk0 mmcblk0p1 mmcblk0boot0 mtd0 mtdblock0 loop0 dm-0 md0 ubi0 mem kmem port kmsg watchdog watchdog0 gpiochip0 i2c-1 spidev0.0 ttyS0 ttyUSB0 ttyAMA0 rtc0 fuse uinput video0 hwrng nvram'

const EMPTIED = ['home', 'root', 'tmp', 'run', 'mnt', 'media', 'srv', 'var/tmp']

export type Ended = {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: Buffer
  readonly stderr: Buffer
}
export type EnterOptions = {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly dropped?: string
}

export type World = {
  /** The secret that lies in all places of secrets. */
  readonly canary: string
  /** The number of its first process, outside. */
  readonly pid: number
  /** What has been changed in it, and its disks: looked at from outside. */
  readonly changed: readonly string[]
  /** What is /srv/edge in it. */
  readonly edge: string
  readonly fence: Fence
  /** Starts a program in it as root, with what the world may have. */
  enter(argv: readonly string[], options?: EnterOptions): ChildProcess
  run(argv: readonly string[], options?: EnterOptions): Promise<Ended>
  /** Ends all that is in it, and forgets it. */
  end(): Promise<void>
}

/** The output of a program that ends by itself; a mebibyte each is kept. */
export function collected(child: ChildProcess): Promise<Ended> {
  const parts: { stdout: Buffer[]; stderr: Buffer[] } = { stdout: [], stderr: [] }
  let kept = 0
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.on('data', (bytes: Buffer) => {
      kept += bytes.length
      if (kept < 2 ** 21) parts[name].push(bytes)
    })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) =>
      resolve({
        code,
        signal,
        stdout: Buffer.concat(parts.stdout),
        stderr: Buffer.concat(parts.stderr),
      }),
    )
  })
}

function must(command: string, ...args: readonly string[]): void {
  const done = spawnSync(command, args)
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${done.stderr ?? done.error}`)
}

/** Why no world can be made here; undefined: it can. */
export function whyNoWorld(): string | undefined {
  if (process.geteuid?.() !== 0) return 'only root makes a world'
  const probe = spawnSync('unshare', [...NAMESPACES, '--fork', '--', 'true'])
  if (probe.status !== 0) return `no namespaces: ${probe.stderr ?? probe.error}`
  try {
    makeFence(`sass-effects-probe-${process.pid}`).remove()
  } catch (error) {
    return `no fence: ${(error as Error).message}`
  }
  return undefined
}

/** The directory above everything of the project, which no world shows. */
function hiddenTop(project: string): string {
  return relative('/', project).split('/')[0] ?? ''
}

const firstChild = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])

function prepare(base: string): void {
  must('mount', '-t', 'tmpfs', '-o', `size=${WORLD_BYTES},mode=700`, 'sass-effects', base)
  for (const name of ['upper', 'work', 'root', 'dev', 'edge']) mkdirSync(join(base, name))
  writeFileSync(join(base, 'edge/nothing'), '')
  for (const [name, [major, minor]] of Object.entries(NODES))
    must('mknod', '-m', '666', join(base, 'dev', name), 'c', String(major), String(minor))
  for (const [name, target] of [
    ['ptmx', 'pts/ptmx'],
    ['fd', '/proc/self/fd'],
    ['stdin', '/proc/self/fd/0'],
    ['stdout', '/proc/self/fd/1'],
    ['stderr', '/proc/self/fd/2'],
  ] as const)
    must('ln', '-s', target, join(base, 'dev', name))
  // Nothing of the machine's is in these; the world makes them anew.
  mkdirSync(join(base, 'upper/var'))
  for (const name of EMPTIED) must('mknod', join(base, 'upper', name), 'c', '0', '0')
  for (const name of FAKE_DEVICES.split(' '))
    writeFileSync(join(base, 'dev', name), Buffer.alloc(65_536, name))
}

/**
 * `base`: an empty directory that becomes the world's; `product`: a directory in memory that is /opt/sass-edge in it,
 * with ca.pem, a certificate that is trusted there; `project`: whose top directory no world shows.
 */
export async function makeWorld(place: {
  readonly base: string
  readonly product: string
  readonly project: string
}): Promise<World> {
  const { base, product, project } = place
  mkdirSync(base, { recursive: true })
  prepare(base)
  const top = hiddenTop(project)
  const isShown = ['usr', 'etc', 'opt', 'bin', 'lib', 'var'].includes(top)
  if (!isShown && !EMPTIED.includes(top)) must('mknod', join(base, 'upper', top), 'c', '0', '0')
  const fence = makeFence(`sass-effects-${process.pid}-${randomBytes(4).toString('hex')}`)
  const join_ = `for group in ${fence.directories.join(' ')}; do echo $$ > $group/cgroup.procs; done; exec "$@"`
  const maker = spawn(
    'sh',
    [
      '-c',
      join_,
      'sh',
      'setpriv',
      '--pdeathsig',
      'KILL',
      'unshare',
      ...NAMESPACES,
      '--fork',
      '--kill-child',
      'sh',
      '-c',
      MAKE_WORLD,
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH,
        BASE: base,
        PRODUCT: product,
        HIDDEN: isShown ? '' : top,
        DROPPED: DROPPED_CAPABILITIES,
        HIERARCHIES: hierarchies()
          .map(({ place: where, options }) => `${where} ${options}`)
          .join('\n'),
      },
    },
  )
  let said = ''
  maker.stderr.on('data', (bytes: Buffer) => {
    said += bytes
  })
  const gone = new Promise<void>((resolve) => maker.once('exit', () => resolve()))
  const end = async (): Promise<void> => {
    maker.kill('SIGKILL')
    await gone
    for (let tries = 0; tries < 100; tries++) {
      if (spawnSync('umount', [base]).status === 0) break
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    for (let tries = 0; tries < 100 && !fence.remove(); tries++)
      await new Promise((resolve) => setTimeout(resolve, 20))
    rmSync(base, { recursive: true, force: true })
  }
  const made = await Promise.race([
    new Promise<boolean>((resolve) => maker.stdout.once('data', () => resolve(true))),
    gone.then(() => false),
    new Promise<boolean>((resolve) => setTimeout(() => resolve(false), MAKE_MS).unref()),
  ])
  if (!made) {
    await end()
    throw new Error(`No world could be made: ${said}`)
  }
  const pid = firstChild(maker.pid ?? 0)
  const enter: World['enter'] = (argv, { cwd = '/', env = {}, dropped = DROPPED_CAPABILITIES } = {}) => {
    const inside = [
      'setpriv',
      '--pdeathsig',
      'KILL',
      `--bounding-set=${dropped}`,
      '--inh-caps=-all',
      'env',
      '-i',
      `--chdir=${cwd}`,
    ]
    const variables = Object.entries({ PATH, ...env }).map(([name, value]) => `${name}=${value}`)
    return spawn(
      'sh',
      ['-c', join_, 'sh', 'nsenter', '-t', String(pid), ...ENTERED, ...inside, ...variables, ...argv],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH },
      },
    )
  }
  const run: World['run'] = (argv, options) => collected(enter(argv, options))
  const canary = `${CANARY_PREFIX}${randomBytes(12).toString('hex')}`
  const furnished = await run(['sh', '-c', FURNISH_WORLD], {
    env: { CANARY: canary, CA: '/opt/sass-edge/ca.pem' },
  })
  if (furnished.code !== 0) {
    await end()
    throw new Error(`The world could not be furnished: ${furnished.stderr}`)
  }
  return {
    canary,
    pid,
    changed: [join(base, 'upper'), join(base, 'dev')],
    edge: join(base, 'edge'),
    fence,
    enter,
    run,
    end,
  }
}
