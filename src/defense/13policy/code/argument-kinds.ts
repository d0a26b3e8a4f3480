/**
 * What the arguments of a call are besides paths and commands: texts that are written, modes, parts of an argv.
 * From the references of the languages named.
 * @module
 */
import type { Language } from '../unwrap/inner.ts'
import type { Value } from './reading.ts'

/** A file of PHP, or of a host, that is run. */
export function isInclude(name: string, language: Language): boolean {
  if (language === 'other') return name === 'include' || name === 'source'
  return language === 'php' && ['include', 'include_once', 'require', 'require_once'].includes(name)
}

/** Of a call that writes a text into a file, the text; of one that changes a mode, the mode. */
export function isText(name: string, value: Value, values: readonly Value[]): boolean {
  if (/write|append|put_contents|Lines/i.test(name)) return value !== values[0]
  return isNumberOfMode(value)
}

/** A mode or an owner as a number. */
export function isNumberOfMode(value: Value): boolean {
  return value.kind === 'text' && /^(?:0o?)?[0-7]{3,4}$/.test(value.text)
}

/** `"r"` behind a command that is opened as a file is. */
export function isMode(text: string): boolean {
  return /^[rwa][+bte]{0,2}$/.test(text)
}

/** Whether several strings are an argv to this call, and not a command with options. */
export function isApart(name: string, language: Language): boolean {
  return (
    (language === 'perl' || language === 'ruby' || language === 'other') && !name.startsWith('child_process')
  )
}
