/**
 * Scripts of sed: the commands that run a program or use a file. Nothing else of them is told apart.
 * Rules: sed(1), POSIX.1-2024 and GNU.
 * @module
 */

import type { Inner } from '../arguments/inner.ts'
import type { Opaque } from '../effective.ts'
import type { ShellWord } from '../shell/shell.ts'
import { type Filtered, GAP } from './filtered.ts'

const INNER_MAX = 256

function word(text: string): ShellWord {
  return { text, isGlob: false, opaque: undefined }
}

/** Past a part that ends in `mark`, as of `s/a/b/`. */
function pastPart(text: string, from: number, mark: string): number {
  let isSet = false
  for (let at = from; at < text.length; at++) {
    const letter = text.charAt(at)
    if (letter === '\\') at += 1
    else if (letter === '[') isSet = true
    else if (letter === ']') isSet = false
    else if (letter === mark && !isSet) return at + 1
    else if (letter === mark && text.indexOf(']', at) < 0) return at + 1
  }
  return text.length
}

/** Past the addresses of a command: numbers, `$`, patterns, `,`, `~`, `+`, `!`. */
function pastAddress(text: string, from: number): number {
  let at = from
  while (at < text.length) {
    const letter = text.charAt(at)
    if (letter === '/') at = pastPart(text, at + 1, '/')
    else if (letter === '\\') at = pastPart(text, at + 2, text.charAt(at + 1))
    else if ('0123456789$,~+! \tIM;{}\n'.includes(letter) || letter === GAP) at += 1
    else break
  }
  return at
}

/** Of addresses: a gap within a pattern is text. */
function withoutPatterns(addresses: string): string {
  let rest = ''
  for (let at = 0; at < addresses.length; at++) {
    const letter = addresses.charAt(at)
    if (letter === '/') at = pastPart(addresses, at + 1, '/') - 1
    else if (letter === '\\') at = pastPart(addresses, at + 2, addresses.charAt(at + 1)) - 1
    else rest += letter
  }
  return rest
}

/** A word of a script; of one with a gap, what stands before it is known. */
function knownWord(text: string): ShellWord {
  const gap = text.indexOf(GAP)
  return gap < 0 ? word(text) : { ...word(text.slice(0, gap)), opaque: 'expansion' }
}

/** Behind a gap among addresses there is more of the address, or the command that it is for. */
const AFTER_ADDRESS = /^[0-9,~+! \tIM$]*\{?$/

function endsInCommand(addresses: string, command: string): boolean {
  const parts = addresses.split(GAP).slice(1)
  if (parts.length === 0) return true
  if (!/^[A-Za-z=]$/.test(command) && !parts.at(-1)?.endsWith('{')) return false
  return parts.every((part, index) => AFTER_ADDRESS.test(part) && (part !== '' || index === parts.length - 1))
}

/** Parts that are not known are gaps. Those that could be a command are `eval`. */
export function readSed(text: string, via: string): Filtered {
  const inner: Inner[] = []
  const opaque = new Set<Opaque>()
  const restOfLine = (from: number) => {
    const end = text.indexOf('\n', from)
    return end < 0 ? text.length : end
  }
  let at = 0
  while (at < text.length && inner.length < INNER_MAX) {
    const from = at
    at = pastAddress(text, at)
    const command = text.charAt(at)
    const addresses = text.slice(from, at)
    const isOpen = at >= text.length && addresses.includes(GAP)
    if (isOpen || !endsInCommand(withoutPatterns(addresses), command)) opaque.add('eval')
    at += 1
    if (command === 's' || command === 'y') {
      const mark = text.charAt(at)
      const opening = at
      const middle = pastPart(text, at + 1, mark)
      const start = text.slice(middle, pastPart(text, middle, mark)).replace(mark, '')
      at = pastPart(text, middle, mark)
      // Without its end, what is not known may hold it, and a flag behind.
      if (text.slice(opening, at).includes(GAP) && (mark === GAP || text.charAt(at - 1) !== mark))
        opaque.add('eval')
      for (; at < text.length; at++) {
        const flag = text.charAt(at)
        if (flag === 'e' && command === 's') {
          // What it runs is the line after the replacement, of which only this part is known.
          opaque.add('eval')
          inner.push({ kind: 'shell', word: { ...knownWord(start), opaque: 'expansion' }, via })
        } else if (flag === 'w') {
          const end = restOfLine(at)
          inner.push({ kind: 'path', word: knownWord(text.slice(at + 1, end).trim()), use: 'write' })
          at = end
          break
        } else if (!'gpiImM0123456789'.includes(flag)) break
      }
    } else if (command === 'e') {
      const end = restOfLine(at)
      const given = text.slice(at, end).trim()
      if (given === '' || given.includes(GAP)) opaque.add('eval')
      if (given !== '') inner.push({ kind: 'shell', word: knownWord(given), via })
      at = end
    } else if (command === 'w' || command === 'W' || command === 'r' || command === 'R') {
      const end = restOfLine(at)
      const isWrite = command.toLowerCase() === 'w'
      inner.push({
        kind: 'path',
        word: knownWord(text.slice(at, end).trim()),
        use: isWrite ? 'write' : 'read',
      })
      at = end
    } else if (command === 'a' || command === 'i' || command === 'c' || command === '#') at = restOfLine(at)
    // A label ends with its statement, in GNU sed as the name of one does that is gone to.
    else if ('btT:'.includes(command)) while (at < text.length && !';}\n'.includes(text.charAt(at))) at += 1
  }
  if (at < text.length) opaque.add('limit')
  return { inner, opaque: [...opaque] }
}
