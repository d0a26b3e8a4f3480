/**
 * What is looked at of the disks while the daemon runs: how the one of the record does, whether the reserve can be made
 * whole again, and what branches take.
 * @module
 */
import type { Config } from '../../config/config.ts'
import type { BranchBounds } from '../../sandbox/branch/threads/branch-bounds.node.ts'
import type { Rooms } from '../../session/common/rooms.ts'
import { createStorageGuard } from '../../session/standing/storage-guard.ts'
import type { Reserve } from '../state/reserve.node.ts'
import type { DeviceRecord } from './record.node.ts'

export type StorageGround = {
  readonly config: Config
  readonly deviceRecord: DeviceRecord
  readonly reserve: Reserve
  readonly bounds: BranchBounds
}

/** To be made before anything runs: what takes too much is ended from then on. */
export function createStorage(
  { config, deviceRecord, reserve, bounds }: StorageGround,
  { levels, executions, branches }: Pick<Rooms, 'levels' | 'executions' | 'branches'>,
): { tick(): void } {
  bounds.attach({
    isBusy: () => executions.running > 0,
    stop: (branch, why) => void branches.stop(branch, why),
  })
  const guard = createStorageGuard({
    levels,
    freeBytes: deviceRecord.freeBytes,
    reserveBytes: config.audit.reserve_bytes,
    disk: deviceRecord.disk,
    append(event) {
      deviceRecord.executions.tryIt()
      deviceRecord.audit.append(event, true)
    },
  })
  return {
    tick() {
      reserve.tick()
      guard.tick()
      bounds.tick()
    },
  }
}
