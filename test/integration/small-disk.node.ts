/**
 * A real daemon whose state lies on a disk of 80 MiB, and what must go on there whatever fills it.
 * @module
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Client } from '../../src/client/client.node.ts'
import { type Branched, homeFor, inSession, startBranched, type Who } from './branched.node.ts'
import { eventsIn, type Json, until } from './daemon.node.ts'

export const MIB = 1_048_576
type Kind = 'ext4' | 'tmpfs'

/** A file system of 80 MiB at the directory until the end of the test; false where none can be made. */
function smallDisk(t: Test, kind: Kind, directory: string, who: Who): boolean {
  mkdirSync(directory, { recursive: true })
  try {
    if (kind === 'tmpfs') {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=80m,mode=700', 'tmpfs', directory], {
        stdio: 'ignore',
      })
    } else {
      const image = join(homeFor(t, who), 'image')
      writeFileSync(image, '')
      truncateSync(image, 80 * MIB)
      execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', '-N', '40000', image], { stdio: 'ignore' })
      execFileSync('mount', ['-o', 'loop', image, directory], { stdio: 'ignore' })
    }
  } catch {
    return false
  }
  t.teardown(() => spawnSync('umount', ['-l', directory]))
  chownSync(directory, who.uid, who.uid)
  return true
}

export const stateOf = (home: string): string => join(home, 'small')

/** A daemon whose state lies on such a disk; undefined where none can be made. */
async function onSmallDisk(
  t: Test,
  who: Who,
  kind: Kind,
  limits: Json = {},
  audit: Json = {},
): Promise<Branched | undefined> {
  let isMounted = false
  const daemon = await startBranched(t, who, (home) => {
    isMounted = process.geteuid?.() === 0 && smallDisk(t, kind, stateOf(home), who)
    return {
      state_directory: stateOf(home),
      audit: { directory: join(stateOf(home), 'audit'), ...audit },
      sandbox: { limits },
    }
  })
  if (isMounted) return daemon
  t.comment(`skipped: no small ${kind} can be mounted here`)
  return undefined
}

/** A test of that name with such a daemon. */
export function testOnSmallDisk(
  t: Test,
  name: string,
  { who, kind, limits, audit }: { who: Who; kind: Kind; limits?: Json | undefined; audit?: Json | undefined },
  work: (t: Test, daemon: Branched) => Promise<void>,
): Promise<unknown> {
  return t.test(`${name}, ${kind}, a daemon of ${who.name}`, async (t) => {
    const daemon = await onSmallDisk(t, who, kind, limits, audit)
    if (daemon !== undefined) await work(t, daemon)
  })
}

export function freeBytes({ directory }: Branched): number {
  const { bavail, bsize } = statfsSync(stateOf(directory))
  return bavail * bsize
}

/** How a script ended, and what it has printed. */
export async function runs(
  daemon: Branched,
  client: Client,
  script: string,
): Promise<{ code: number | undefined; why: string | undefined; printed: string }> {
  const name = `bounds-${randomUUID()}.sh`
  daemon.put(name, script)
  let printed = ''
  const running = client.stream('sh', [`./${name}`], {
    output: (_source, bytes) => {
      printed += Buffer.from(bytes).toString()
    },
  })
  const { exitCode: code, why } = await running.exit
  return { code, why, printed }
}

export type Listed = { readonly session: string; readonly stopped?: string; readonly empty: boolean }
export async function branches(daemon: Branched): Promise<readonly Listed[]> {
  const said = await daemon.cli(['branch', 'list', '--json'])
  if (said.code !== 0) throw new Error(said.stderr)
  return (JSON.parse(said.stdout.toString()) as { branches: Listed[] }).branches
}

export function auditEvents(state: string): Json[] {
  return eventsIn(readFileSync(join(state, 'audit/audit.jsonl'), 'utf8'))
}

export async function isWhole(daemon: Branched): Promise<boolean> {
  const { stdout } = await daemon.cli(['audit', 'verify', '--json'])
  return (JSON.parse(stdout.toString()) as { ok: boolean }).ok
}

/** Another session works: it runs, its output comes, and what it writes is there. */
export async function othersGoOn(t: Test, daemon: Branched, client: Client): Promise<void> {
  const ran = await runs(daemon, client, 'echo small > small; cat small')
  t.strictSame(ran, { code: 0, why: undefined, printed: 'small\n' }, 'another session goes on')
}

/** What must work whatever the disk says: the end, a start, drops, purges, sessions. */
export async function clearsAway(t: Test, daemon: Branched, session: string): Promise<void> {
  t.match(await daemon.stop(), { code: 0 }, 'it ends')
  await daemon.start()
  const dropped = await daemon.cli(['branch', 'drop', session, '--yes'])
  t.equal(dropped.code, 0, dropped.stderr)
  const directory = join(stateOf(daemon.directory), 'branches')
  await until('its files are gone', () => !readdirSync(directory).some((name) => name.includes(session)))
  const purged = await daemon.cli(['purge', session, '--yes'])
  t.equal(purged.code, 0, purged.stderr)
  t.ok(await isWhole(daemon), 'the record is whole')
  await inSession(daemon, (client) => othersGoOn(t, daemon, client))
}
