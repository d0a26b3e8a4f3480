/**
 * The note that a running daemon leaves in its state directory: where it listens, for commands on the same machine.
 * @module
 */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../../base/files.node.ts'

const NAME = 'running.json'
const MODE = 0o600

export function writeRunning(stateDirectory: string, port: number): void {
  replaceFile(
    join(stateDirectory, NAME),
    Buffer.from(`${JSON.stringify({ port, pid: process.pid })}\n`),
    MODE,
  )
}

export function removeRunning(stateDirectory: string): void {
  rmSync(join(stateDirectory, NAME), { force: true })
}

/** The port of the daemon that wrote the note last; undefined without one. */
export function readRunningPort(stateDirectory: string): number | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(join(stateDirectory, NAME), 'utf8'))
    const port = typeof value === 'object' && value !== null && 'port' in value ? value.port : undefined
    return typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined
  } catch {
    return undefined
  }
}
