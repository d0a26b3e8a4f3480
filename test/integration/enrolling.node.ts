/**
 * What the tests of enrolment share: lines, homes, and the book that a device keeps.
 * @module
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type EnrolmentLine, readEnrolmentLine } from '../../src/wire/enrolment-line.ts'
import { type Daemon, type Json, type Result, sassEdge } from './daemon.node.ts'

export const LOOPBACK_EXEMPT: Json = { acl: { penalties: { exempt: ['127.0.0.0/8'] } } }
export const REAL_FILES: Json = { sandbox: { require: 'none' }, security: { opaque: 'allow' } }

export async function invite(daemon: Daemon, name: string, ...more: string[]): Promise<string> {
  const run = await daemon.cli(['agent', 'invite', name, '--json', ...more])
  if (run.code !== 0) throw new Error(run.stderr)
  return (JSON.parse(run.stdout.toString()) as { line: string }).line
}

/** `sass-edge enroll -` in a home, with the line on stdin. */
export function enroll(home: string, line: string, ...more: string[]): Promise<Result> {
  return sassEdge(['enroll', '-', '--json', ...more], { cwd: home, input: `${line}\n` })
}

export function open(line: string): EnrolmentLine {
  const read = readEnrolmentLine(line)
  if (!read.ok) throw new Error(read.problem)
  return read.line
}

export const bookPath = (directory: string) => join(directory, '.sass-edge/state/identities.json')
export const book = (directory: string) =>
  JSON.parse(readFileSync(bookPath(directory), 'utf8')) as Readonly<Record<string, readonly Json[]>>
export const enrolled = (directory: string) => (book(directory)['enrolled'] ?? []).map(({ name }) => name)

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise<void>((resolve) => server.close(() => resolve()))
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** Everything that the device has written down. */
export function everythingOf(directory: string): Buffer {
  const parts: Buffer[] = []
  for (const entry of readdirSync(join(directory, '.sass-edge'), { recursive: true, withFileTypes: true }))
    if (entry.isFile()) parts.push(readFileSync(join(entry.parentPath, entry.name)))
  return Buffer.concat(parts)
}
