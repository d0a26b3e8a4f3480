/**
 * Files of proposals on this machine: where a path leads below the directory of proposals, and the logs of a run, a file
 * a stream, to which lines come by their warrants alone.
 * Rules: docs/proposals.md, sections on the gates and on the streams.
 * @module
 */
import { constants, fsyncSync, lstatSync, openSync, realpathSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { closing } from '../../base/closing.node.ts'
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { errnoText, makeDirectories, readBounded, systemErrno, whyNotMade } from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'
import { plainPath, type RealPaths } from '../../intent/proposals/gates.ts'
import type { LogAppend } from '../../intent/proposals/log-appends.ts'
import { Permit } from '../../intent/proposals/permit.ts'
import { STREAMS, type StreamLines, type StreamName } from '../../intent/proposals/streams.ts'

/** A log of 10,000 cycles. */
const LOG_BYTES = 64 * 1_048_576
const LOG_MODE = 0o600

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Where it leads, links followed; of what is not there yet, where its directory does. Null: nowhere, or out of it. */
function realBelow(directory: string, path: string): string | null {
  const plain = plainPath(path)
  if (plain === undefined) return null
  const whole = join(directory, plain)
  try {
    // A link that leads nowhere is there, and what is made through it is made somewhere else.
    const real = isThere(whole) ? realpathSync(whole) : join(realpathSync(dirname(whole)), basename(whole))
    const root = realpathSync(directory)
    return real.startsWith(`${root}/`) ? real.slice(root.length + 1) : null
  } catch {
    return null
  }
}

/** Where each of those paths leads below the directory. */
export function lookUp(directory: string, paths: readonly string[]): RealPaths {
  return Object.fromEntries(paths.map((path) => [path, realBelow(directory, path)]))
}

function logPath(directory: string, name: StreamName): string {
  return join(directory, `${name}.jsonl`)
}

function unreadable(path: string, since: string): SassError {
  return new SassError(
    'STATE_UNWRITABLE',
    `The log ${path} cannot be used, since ${since}: name another directory.`,
    {
      path,
    },
  )
}

function linesOf(path: string): readonly string[] {
  if (!isThere(path)) return []
  const read = readBounded(path, LOG_BYTES)
  if (!read.ok) throw unreadable(path, 'it is no file, or larger than 64 MiB')
  const text = decodeUtf8(read.bytes)
  if (text === undefined) throw unreadable(path, 'it is not valid UTF-8')
  const lines = text.split('\n')
  // What follows the last end of line is a line only where it is not empty: then it is cut, and replay says so.
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

/**
 * The lines of every stream of a run; none where there is no such directory.
 * @throws SassError STATE_UNWRITABLE
 */
export function readLogs(directory: string): StreamLines {
  try {
    return Object.fromEntries(
      STREAMS.map((name) => [name, linesOf(logPath(directory, name))]),
    ) as unknown as StreamLines
  } catch (error) {
    throw unreadable(directory, errnoText(systemErrno(error)))
  }
}

function append(path: string, lines: readonly string[]): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW
  const descriptor = openSync(path, flags, LOG_MODE)
  using _descriptor = closing(descriptor)
  writeSync(descriptor, lines.map((line) => `${line}\n`).join(''))
  fsyncSync(descriptor)
}

/**
 * Spends each warrant and writes its lines.
 * @throws SassError STATE_UNWRITABLE, or INTERNAL where a warrant is not good for what it is used for
 */
export function appendLogs(
  directory: string,
  appends: readonly LogAppend[],
  { cycle, session }: { readonly cycle: number; readonly session: string },
): void {
  try {
    makeDirectories(directory, 0o700)
  } catch (error) {
    throw unreadable(directory, whyNotMade(error, directory))
  }
  try {
    const spent = new Set<string>()
    for (const { permit, bundle, name, lines } of appends) {
      const problem = Permit.redeem(permit, { bundle, cycle, session, spent })
      if (problem !== undefined)
        throw new SassError('INTERNAL', `Lines of a log have no warrant (${problem}); they were not written.`)
      append(logPath(directory, name), lines)
    }
  } catch (error) {
    throw unreadable(directory, errnoText(systemErrno(error)))
  }
}
