/**
 * The name of a program that is certainly the system's own: given bare, so that it is looked up in a fixed path, or in
 * one of the system's directories. Anybody can have an `ls` elsewhere.
 * @module
 */

import { baseName } from '../../base/text/lexical-path.ts'

const PROGRAM_DIRECTORIES: readonly string[] = ['/bin', '/usr/bin', '/sbin', '/usr/sbin']

/** Undefined for a program elsewhere. */
export function systemProgram(program: string): string | undefined {
  if (!program.includes('/')) return program
  const name = baseName(program)
  return PROGRAM_DIRECTORIES.some((directory) => program === `${directory}/${name}`) ? name : undefined
}
