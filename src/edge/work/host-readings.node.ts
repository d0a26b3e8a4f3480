/**
 * What the process looks like from outside, as /proc tells it: memory, descriptors, processor time. Read where somebody
 * asks, and what this system does not tell is absent.
 * Sources: proc_pid_status(5), proc_pid_limits(5), proc_pid_fd(5).
 * @module
 */
import { readdirSync, readFileSync } from 'node:fs'
import { attempt } from '../../base/attempt.ts'
import type { Clock } from '../../ports.ts'
import type { HostReadings } from '../../session/common/host-readings.ts'
import type { DeviceRecord } from '../record/record.node.ts'

const KIB = 1_024
const MICROSECONDS = 1_000_000

function textOf(path: string): string {
  return attempt(() => readFileSync(path, 'latin1'), '')
}

/** The number that the pattern finds, times the unit. */
function found(text: string, pattern: RegExp, unit = 1): number | undefined {
  const digits = pattern.exec(text)?.[1]
  return digits === undefined ? undefined : Number(digits) * unit
}

function openFiles(): number | undefined {
  try {
    // Without the one that the list is read through.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return undefined
  }
}

type ProcessReadings = Pick<
  HostReadings,
  'rssBytes' | 'anonymousBytes' | 'virtualBytes' | 'cpuSeconds' | 'openFiles' | 'maxFiles'
>

function processReadings(): ProcessReadings {
  const status = textOf('/proc/self/status')
  const { user, system } = process.cpuUsage()
  return {
    rssBytes: found(status, /^VmRSS:\s+(\d+) kB/m, KIB),
    anonymousBytes: found(status, /^RssAnon:\s+(\d+) kB/m, KIB),
    virtualBytes: found(status, /^VmSize:\s+(\d+) kB/m, KIB),
    cpuSeconds: (user + system) / MICROSECONDS,
    openFiles: openFiles(),
    maxFiles: found(textOf('/proc/self/limits'), /^Max open files\s+(\d+)/m),
  }
}

/** Who knows the rest. */
export type ReadingsGround = {
  readonly clock: Clock
  readonly deviceRecord: Pick<DeviceRecord, 'audit' | 'disk' | 'freeBytes'>
  readonly connections: () => HostReadings['connections']
  readonly certificate: () => HostReadings['certificate']
  readonly log: HostReadings['log']
}

/** Made at the start: the clock is set later, and by how much is a reading. */
export function createHostReadings(ground: ReadingsGround): () => HostReadings {
  const { clock, deviceRecord, connections, certificate, log } = ground
  const startedAtMs = clock.wallMs()
  const aheadMs = startedAtMs - clock.monotonicMs()
  return () => ({
    ...processReadings(),
    runtime: `node ${process.versions.node}`,
    startedAtMs,
    connections: connections(),
    audit: { ...deviceRecord.audit.troubles, syncMs: deviceRecord.disk.syncMs },
    freeBytes: deviceRecord.freeBytes(),
    certificate: certificate(),
    clockStepMs: Math.round(clock.wallMs() - clock.monotonicMs() - aheadMs),
    log,
  })
}
