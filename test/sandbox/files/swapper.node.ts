/**
 * Swaps pairs of names as fast as it can, until it is ended: what a session's own commands may do while the daemon
 * works beside them. Run as a worker; `workerData` is a list of pairs of paths.
 * @module
 */
import { parentPort, workerData } from 'node:worker_threads'
import { AT_FDCWD, createAt, RENAME_EXCHANGE } from '../../../src/sandbox/kernel/at.node.ts'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'

const at = createAt(loadSyscalls())
const pairs = (workerData as readonly (readonly [string, string])[]).map(
  ([a, b]) => [Buffer.from(a), Buffer.from(b)] as const,
)
let swaps = 0
/** In slices, so that the worker can be ended and can tell how far it is. */
function swap(): void {
  for (let turn = 0; turn < 500; turn++)
    for (const [a, b] of pairs) if (at.rename(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) === 0) swaps++
  parentPort?.postMessage(swaps)
  // Now and then it holds still, so that some of the work gets through.
  setTimeout(swap, 2)
}
swap()
