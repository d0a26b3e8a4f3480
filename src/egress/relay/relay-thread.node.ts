/**
 * The thread that passes bytes, so that the daemon's own is not late however much passes. It yields to that, where a
 * processor has to be shared. It decides nothing: the guard of each connection came with it.
 * Also runs as CommonJS text made by the bundler, so nothing here waits at the top or asks for `import.meta`.
 * @module
 */

import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { RELAY_NICE } from '../limits.ts'
import { type RelayConnection, relayConnection } from './relay-connection.node.ts'
import type { RelayReport, RelayRequest } from './relay-messages.ts'

function main(): void {
  const connections = new Map<number, RelayConnection>()
  try {
    // setpriority(2) is of this thread alone, whatever POSIX says.
    setPriority(0, RELAY_NICE)
  } catch {
    // A system call filter may forbid it; then it does not yield.
  }
  const tell = (report: RelayReport): void => {
    if (report.kind === 'closed') connections.delete(report.id)
    parentPort?.postMessage(report)
  }
  parentPort?.on('message', (request: RelayRequest) => {
    switch (request.kind) {
      case 'connect':
        connections.set(request.plan.id, relayConnection(request.plan, tell))
        break
      case 'grant':
        connections.get(request.id)?.grant(request.bytes)
        break
      case 'reset':
        connections.get(request.id)?.reset(request.reason)
        break
      case 'close':
        parentPort?.close()
        break
    }
  })
}

main()
