/**
 * Runs the program as a child, as a user would, without a terminal.
 * @module
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'

export type Run = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

const MAIN = join(import.meta.dirname, '../../src/main.ts')
/** Of the run of the tests: else each child would compile all sources again. Empty is none. */
export const CODE_CACHE = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }

/**
 * The end of `sass-edge ...words` in `cwd`. HOME is `cwd` too, so nothing of this user is read or written; a
 * configuration in a directory too deep for a socket names one in /tmp, which no command here makes.
 */
export function runMain(
  cwd: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  main = MAIN,
): Promise<Run> {
  const { promise, resolve, reject } = Promise.withResolvers<Run>()
  const child = spawn(process.execPath, [main, ...words], {
    cwd,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: cwd,
      XDG_RUNTIME_DIR: '/tmp',
      ...CODE_CACHE,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
  child.once('error', reject)
  child.once('close', (code) => {
    resolve({ code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() })
  })
  return promise
}
