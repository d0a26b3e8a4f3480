/**
 * What the verbs of `sass-edge intent` are given: options that must be there, files of JSON, keys.
 * @module
 */

import { readSync } from 'node:fs'
import { resolve } from 'node:path'
import { readBounded } from '../../base/files.node.ts'
import { misuse } from '../../errors.ts'
import { systemError } from '../common/system-error.node.ts'
import { optionValue } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'

const STDIN = '-'
const STDIN_FD = 0
const STDIN_PIECE_BYTES = 65_536

/** The value of an option without which there is nothing to do. SassError USAGE with what it is for. */
export function required(context: CommandContext, name: string, meaning: string): string {
  const value = optionValue(context.arguments.options, name)
  if (value !== undefined && value !== '') return value
  throw misuse(`--${name} is missing, so nothing was done: write ${meaning}.`)
}

/** The path of an option that must be given. */
export function requiredPath(context: CommandContext, name: string, meaning: string): string {
  return resolve(context.cwd, required(context, name, meaning))
}

/** All of stdin; undefined: it is more. */
function stdinBytes(limitBytes: number): Uint8Array | undefined {
  const pieces: Uint8Array[] = []
  for (let size = 0; size <= limitBytes; ) {
    const piece = Buffer.alloc(STDIN_PIECE_BYTES)
    const read = readSync(STDIN_FD, piece)
    if (read === 0) return Buffer.concat(pieces)
    pieces.push(piece.subarray(0, read))
    size += read
  }
  return undefined
}

/** The bytes of a file of at most so many, or of stdin for `-`. SassError USAGE with the path. */
export function readGiven(context: CommandContext, path: string, limitBytes: number): Uint8Array {
  try {
    if (path === STDIN) {
      const bytes = stdinBytes(limitBytes)
      if (bytes !== undefined) return bytes
      throw misuse(`stdin has more than ${limitBytes} bytes and was not used: give less.`)
    }
    const read = readBounded(resolve(context.cwd, path), limitBytes)
    if (read.ok) return read.bytes
    const what = read.reason === 'not-a-file' ? 'is no regular file' : `has more than ${limitBytes} bytes`
    throw misuse(`${path} ${what} and was not used: name another.`, { path })
  } catch (cause) {
    throw systemError(
      cause,
      'USAGE',
      path,
      (since) => `${path} cannot be read, since ${since}: name another.`,
    )
  }
}

/** `ID@VERSION`, the version 1 where there is none. */
export function idAndVersion(text: string): { readonly id: string; readonly version: string } {
  const at = text.lastIndexOf('@')
  return at < 0 ? { id: text, version: '1' } : { id: text.slice(0, at), version: text.slice(at + 1) }
}
