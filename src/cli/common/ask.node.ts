/**
 * A question to whoever sits at the terminal. Without a terminal there is nobody to ask, and the answer is no.
 * @module
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { isatty } from 'node:tty'
import { errnoOf } from '../../base/files.node.ts'
import { writeAll } from './output.node.ts'

const STDERR_FD = 2
const ANSWER_BYTES = 256

/** The line that a person at the terminal types; undefined without one. The terminal is asked even where stdin is a pipe. */
export function askLine(question: string): string | undefined {
  if (!isatty(STDERR_FD)) return undefined
  const answer = Buffer.alloc(ANSWER_BYTES)
  try {
    const fd = openSync('/dev/tty', 'r')
    try {
      writeAll(STDERR_FD, `${question} `)
      const count = readSync(fd, answer)
      return answer.toString('utf8', 0, count).trim()
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return undefined
  }
}

/** True only where a person at the terminal types yes. */
export function ask(question: string): boolean {
  return /^y(es)?$/i.test(askLine(`${question} [yes/no]`) ?? '')
}
