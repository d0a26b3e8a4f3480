/**
 * What the work in each branch has talked to, in a file of the branch's directory, so that whoever looks at a branch is
 * told of it after its session has ended and after a restart. It is written two seconds after it has changed and at the
 * end of a session's place, as a whole; it goes with its branch. The record has every single connection, and this only
 * sums: a file that does not read is begun anew.
 * Rules: docs/egress.md (what is recorded).
 * @module
 */

import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fieldsOf, isCount, jsonAt } from '../../base/small-file.node.ts'
import { createDestinations, type Destination, type Destinations } from '../../egress/destinations.ts'
import type { EgressRecord } from '../../egress/gate-events.ts'
import { TALKED_TO_BYTES, TALKED_TO_MS } from '../../egress/limits.ts'
import type { Clock } from '../../ports.ts'

const FILE = 'talked-to.json'
const MODE = 0o600

export interface TalkedTo {
  add(branch: string, line: EgressRecord): void
  /** The one that was talked to last comes last. */
  list(branch: string): readonly Destination[]
  /** Writes what is not written yet, and forgets it until it is wanted. */
  rest(branch: string): Promise<void>
}

function readDestination(value: unknown): Destination | undefined {
  const { host, port, protocol, connections, sent_bytes, received_bytes } = fieldsOf(value)
  const isPlace = typeof host === 'string' && isCount(port) && port <= 65_535
  if (!(isPlace || (host === null && port === null))) return undefined
  if (!isCount(connections) || !isCount(sent_bytes) || !isCount(received_bytes)) return undefined
  return {
    ...(isPlace ? { host, port } : { host: undefined, port: undefined }),
    // Absent from files of before.
    protocol: protocol === 'udp' ? 'udp' : 'tcp',
    ...{ connections, sentBytes: sent_bytes, receivedBytes: received_bytes },
  }
}

function readFrom(directory: string): readonly Destination[] {
  // There is none where it has talked to nothing, or the branch is gone.
  const kept = jsonAt(join(directory, FILE), TALKED_TO_BYTES, true)
  return Array.isArray(kept) ? kept.flatMap((one: unknown) => readDestination(one) ?? []) : []
}

function textOf(all: readonly Destination[]): string {
  return JSON.stringify(
    all.map(({ host, port, protocol, connections, sentBytes, receivedBytes }) => ({
      ...{ host: host ?? null, port: port ?? null, protocol, connections },
      ...{ sent_bytes: sentBytes, received_bytes: receivedBytes },
    })),
  )
}

type Known = {
  readonly destinations: Destinations
  isWritten: boolean
  writing: Promise<void>
  cancel: () => void
}

/** `directoryOf`: of a branch. `failed`: is told when it cannot be written. */
export function createTalkedTo(
  clock: Clock,
  directoryOf: (branch: string) => string,
  failed: (branch: string, cause: unknown) => void,
): TalkedTo {
  const known = new Map<string, Known>()

  async function write(branch: string, one: Known): Promise<void> {
    one.cancel()
    if (one.isWritten) return
    one.isWritten = true
    const path = join(directoryOf(branch), FILE)
    try {
      await writeFile(`${path}.new`, textOf(one.destinations.list()), { mode: MODE })
      await rename(`${path}.new`, path)
    } catch (cause) {
      // The branch was dropped meanwhile, or is none.
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') failed(branch, cause)
    }
  }

  /** One after the other. */
  function save(branch: string, one: Known): Promise<void> {
    one.writing = one.writing.then(() => write(branch, one))
    return one.writing
  }

  return {
    add(branch, line) {
      const one = known.get(branch) ?? {
        destinations: createDestinations(readFrom(directoryOf(branch))),
        ...{ isWritten: true, writing: Promise.resolve(), cancel: () => {} },
      }
      known.set(branch, one)
      one.destinations.add(line)
      if (!one.isWritten) return
      one.isWritten = false
      one.cancel = clock.after(TALKED_TO_MS, () => void save(branch, one))
    },
    list: (branch) => known.get(branch)?.destinations.list() ?? readFrom(directoryOf(branch)),
    async rest(branch) {
      const one = known.get(branch)
      if (one === undefined) return
      await save(branch, one)
      if (one.isWritten && known.get(branch) === one) known.delete(branch)
    },
  }
}
