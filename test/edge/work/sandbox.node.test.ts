/**
 * The sandbox with a gate of the test's own: what it is asked and given, that a session's connections reach it, and that
 * it is closed with its place.
 * @module
 */
import { closeSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseConfig } from '../../../src/config/config.ts'
import { createClock } from '../../../src/edge/host/clock.node.ts'
import { openReserve } from '../../../src/edge/state/reserve.node.ts'
import { createSandbox, wakeSpawner } from '../../../src/edge/work/sandbox.node.ts'
import type { GatedPlace, NetworkGate } from '../../../src/sandbox/places/network-gate.ts'
import type { Place, Tenant } from '../../../src/sandbox/places/place.ts'

const TENANT: Tenant = {
  session: '0'.repeat(32),
  agent: 'agent',
  wish: { kind: 'new' },
  runAs: null,
  network: 'gate',
  egress: [{ host: 'a.example', ports: null, protocol: 'tcp', methods: null, bytes_per_hour: null }],
}
/** What is open, but for what every thread of Node has: those that nobody needs end by themselves. */
const OF_THREADS = /^(?:anon_inode:|pipe:|\/dev\/null$)/
const descriptors = (): number =>
  readdirSync('/proc/self/fd').filter((number) => {
    try {
      return !OF_THREADS.test(readlinkSync(`/proc/self/fd/${number}`))
    } catch {
      // That of the directory itself.
      return false
    }
  }).length

function makeSandbox(t: Test, gate: NetworkGate | undefined) {
  const directory = mkdtempSync('/var/lib/sass-edge-it-')
  const [state, workspace] = ['state', 'workspace'].map((name) => join(directory, name)) as [string, string]
  for (const path of [state, workspace]) mkdirSync(path)
  const result = parseConfig(
    {
      state_directory: state,
      security: { workspace_root: workspace },
      sandbox: { limits: { reserve_bytes: 0 } },
    },
    { configDirectory: directory },
  )
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  const { config } = result
  const reserve = openReserve(state, 0)
  const log = { write: () => undefined }
  const starting = wakeSpawner(config, undefined)
  const sandbox = createSandbox({ config, clock: createClock(), log, reserve }, starting, () => [state], gate)
  t.teardown(async () => {
    await sandbox.close()
    reserve.close()
    rmSync(directory, { recursive: true, force: true })
  })
  return sandbox
}

/** Runs a program in a place, with its exit code. */
async function runIn(
  sandbox: ReturnType<typeof makeSandbox>,
  place: Place,
  argv: readonly string[],
): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const done = () => undefined
  sandbox.spawner.spawn(
    {
      file: argv[0] ?? '',
      argv,
      environment: ['PATH=/usr/bin:/bin'],
      cwd: '/tmp',
      stdin: 'none',
      terminal: undefined,
      namespaces: place.namespaces,
      group: place.group,
      rootDescriptor: place.rootDescriptor,
    },
    {
      spawned: done,
      failed: (errno) => resolve(-errno),
      output: (_source, bytes) => bytes.length,
      stdinDrained: done,
      exited: (status) => resolve(status.kind === 'exited' ? status.code : 128),
    },
  )
  return promise
}

/** The shell's own redirection connects: no other program is needed. */
const reach = (address: string, port: number): readonly string[] => [
  '/bin/bash',
  '-c',
  `exec 3<>/dev/tcp/${address}/${port} && read line <&3 && [ "$line" = "${address} ${port}" ]`,
]

const isHere = process.geteuid?.() === 0

t.test(
  'a gate is asked where it listens, serves what arrives there, and is closed with the place',
  async (t) => {
    if (!isHere) return t.comment('skipped: needs root')
    const places: GatedPlace[] = []
    const servers = new Set<Server>()
    let names: number | undefined
    const sandbox = makeSandbox(t, {
      listens: () => [{ protocol: 'tcp', address: undefined, port: 443 }],
      serve(place, given) {
        places.push(place)
        names = given.names
        const own = given.listeners.map(({ descriptor }) => {
          const server = createServer((socket) => {
            socket.on('error', () => undefined)
            socket.end(`${socket.localAddress} ${socket.localPort}\n`)
          }).listen({ fd: descriptor })
          servers.add(server)
          return server
        })
        return {
          close() {
            for (const server of own) {
              server.close()
              servers.delete(server)
            }
            // Nobody asks for names here.
            closeSync(given.names)
          },
        }
      },
    })
    await sandbox.ready
    const place = await sandbox.places.open(TENANT)
    const served = { branch: TENANT.session, agent: 'agent', egress: TENANT.egress, within: undefined }
    t.strictSame(places, [served])
    t.type(names, 'number')
    t.equal(servers.size, 2)
    t.equal(await runIn(sandbox, place, reach('192.0.2.7', 443)), 0)
    t.not(await runIn(sandbox, place, reach('192.0.2.7', 22)), 0)
    t.strictSame(place.refused?.(), [{ protocol: 'tcp', address: '192.0.2.7', port: 22 }])
    await sandbox.places.close(TENANT.session)
    t.equal(servers.size, 0, 'closed with its place')
  },
)

t.test('without a gate everything is refused at once, and nothing stays open', async (t) => {
  if (!isHere) return t.comment('skipped: needs root')
  const sandbox = makeSandbox(t, undefined)
  await sandbox.ready
  const once = async (): Promise<void> => {
    const place = await sandbox.places.open(TENANT)
    t.not(await runIn(sandbox, place, reach('192.0.2.7', 443)), 0)
    await sandbox.places.close(TENANT.session)
  }
  await once()
  const before = descriptors()
  for (let turn = 0; turn < 5; turn++) await once()
  t.equal(descriptors(), before)
})
