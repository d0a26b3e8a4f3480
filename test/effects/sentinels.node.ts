/**
 * What stands in a world to be hurt or reached: processes that must live, shared memory and a queue that must stay, and
 * services of the device on its loopback and on Unix sockets, which note whoever connects.
 * @module
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Sentinel, sentinelAt } from './looks.node.ts'
import type { World } from './world.node.ts'

const START_MS = 10_000
/** Names that somebody would end. */
const PROCESSES = ['sshd', 'mosquitto', 'systemd-journald']
const SOCKETS = [
  '/run/docker.sock',
  '/run/dbus/system_bus_socket',
  '/etc/agent.sock',
  '/home/dev/.ssh/agent.sock',
  '/var/lib/mysql.sock',
]
const PORTS = [6379, 8080, 9229, 2375]
const NOTED = '/srv/edge/noted'

const SERVICES = `
import { createServer } from 'node:net'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
const note = (what) => appendFileSync(${JSON.stringify(NOTED)}, what + '\\n')
for (const path of ${JSON.stringify(SOCKETS)}) {
  mkdirSync(dirname(path), { recursive: true })
  createServer((socket) => { note(path); socket.on('error', () => {}); socket.end('hello\\n') }).listen(path)
}
for (const port of ${JSON.stringify(PORTS)})
  createServer((socket) => { note('127.0.0.1:' + port); socket.on('error', () => {}); socket.end('hello\\n') }).listen(port, '127.0.0.1')
setTimeout(() => writeFileSync(${JSON.stringify(NOTED)}, ''), 300)
`

/** The processes of the world by their command lines, outside. */
function numbers(mark: string): readonly number[] {
  // ps(1) of the world would tell the numbers inside.
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const isMarked = readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(mark)
      // Not the programs that lead into the world, which have one number alone.
      const isInside = /\nNSpid:\t\d+\t\d+/.test(readFileSync(`/proc/${name}/status`, 'latin1'))
      return isMarked && isInside ? [Number(name)] : []
    } catch {
      return []
    }
  })
}

export type Sentinels = {
  readonly all: readonly Sentinel[]
  /** What was connected to, since the world began. */
  noted(): readonly string[]
}

/** Starts them; they end with the world. */
export async function placeSentinels(world: World): Promise<Sentinels> {
  const marks = PROCESSES.map((name, index) => ({ name, seconds: `${1_000_000 + index}.${world.pid}` }))
  await world.run([
    'sh',
    '-c',
    `mkdir -p /srv/bin; for name in ${PROCESSES.join(' ')}; do cp /usr/bin/sleep /srv/bin/$name; done`,
  ])
  for (const { name, seconds } of marks) world.enter([`/srv/bin/${name}`, seconds])
  world.enter([
    `/opt/sass-edge/node_modules/node-linux-${process.arch}/bin/node`,
    '--input-type=module',
    '-e',
    SERVICES,
  ])
  await world.run([
    'sh',
    '-c',
    'ipcmk -M 4096 -p 0600; ipcmk -Q; ipcmk -S 1; echo kept > /dev/shm/kept; : > /dev/mqueue/kept',
  ])
  const noted = join(world.edge, 'noted')
  for (const end = performance.now() + START_MS; performance.now() < end && !existsSync(noted); )
    await new Promise((resolve) => setTimeout(resolve, 20))
  if (!existsSync(noted)) throw new Error('The services of the world do not start.')
  const all: Sentinel[] = []
  for (const { name, seconds } of marks) {
    const [pid] = numbers(seconds)
    if (pid === undefined) throw new Error(`The process ${name} of the world does not start.`)
    all.push(sentinelAt(pid, name))
  }
  return { all, noted: () => readFileSync(noted, 'utf8').split('\n').filter(Boolean) }
}
