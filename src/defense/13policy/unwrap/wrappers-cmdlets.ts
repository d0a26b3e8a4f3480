/**
 * Orders of PowerShell that start something: a program with a list of arguments, and a block in braces; and those that
 * act on what comes down the pipeline.
 * From the reference of Start-Process, Start-Job, Invoke-Command, ForEach-Object, Remove-Item and Set-Content.
 * @module
 */

import type { ShellWord } from '../shell/shell.ts'
import { argv, literal, shell, type Unwrap } from './inner.ts'
import { LISTED_INPUT } from './wrappers-inputs.ts'

/** Parameters of Start-Process that take nothing. */
const SWITCHES: readonly string[] = [
  '-wait',
  '-passthru',
  '-nonewwindow',
  '-loaduserprofile',
  '-usenewenvironment',
]

/** Arguments between commas, which the marks around each have been taken from; or one text, which is cut at blanks. */
function listed({ text, opaque }: ShellWord): readonly ShellWord[] {
  const parts = text.includes(',') ? text.split(',', 256) : text.split(/\s+/, 256)
  return parts
    .map((part) => part.trim().replace(/^["'@(]+|["')]+$/g, ''))
    .filter((part) => part !== '')
    .map((part) => (opaque === undefined ? literal(part) : { text: part, isGlob: false, opaque }))
}

/** `Start-Process [-FilePath] PROGRAM [[-ArgumentList] LIST]`. */
const startProcess: Unwrap = (call) => {
  const given: ShellWord[] = []
  let list: ShellWord | undefined
  let program: ShellWord | undefined
  for (let index = 1; index < call.words.length; index++) {
    const word = call.words[index]
    if (word === undefined) break
    const name = word.text.toLowerCase()
    if (!name.startsWith('-') || program !== undefined) {
      if (name === '-argumentlist' || name === '-args') continue
      if (program === undefined) program = word
      else if (!SWITCHES.includes(name)) given.push(word)
    } else if (!SWITCHES.includes(name)) {
      const next = call.words[index + 1]
      index += 1
      if (name.startsWith('-f')) program = next
      else if (name.startsWith('-a')) list = next
    }
  }
  if (program === undefined) return []
  return argv([program, ...(list === undefined ? given : [list, ...given]).flatMap(listed)], call.name)
}

/** `Start-Job { TEXT }`, `| ForEach-Object { TEXT }`: what stands between the first brace and the last. */
const block: Unwrap = (call) => {
  const from = call.words.findIndex(({ text }, index) => index > 0 && text.startsWith('{'))
  if (from < 0) return []
  const words = call.words.slice(from)
  const text = words
    .map((word) => (word.opaque === undefined ? word.text : word.text === '' ? '$_' : `${word.text}$_`))
    .join(' ')
    .slice(1)
  const inside = text.endsWith('}') ? text.slice(0, -1) : text
  // A member of what comes down is put out, and not run.
  return inside.trim() === '' || inside.trim() === '$_' ? [] : [shell(literal(inside.trim()), call.name)]
}

/** Parameters of orders on files that take the next word, and it is no file that is acted on. */
const VALUES: readonly string[] = [
  ...['-value', '-destination', '-newname', '-filter', '-include', '-exclude', '-stream', '-encoding'],
  ...['-erroraction', '-ea', '-credential', '-itemtype', '-inputobject'],
]

/** `| Clear-Content`, `| Move-Item -Destination /x`: what is acted on comes down the pipeline, where none is named. */
const fromPipeline: Unwrap = ({ words, stdin, name }) => {
  const [order] = words
  if (stdin.kind !== 'pipe' || order === undefined) return []
  const isValue = (index: number) => VALUES.includes(words[index - 1]?.text.toLowerCase() ?? '')
  const isNamed = words.some(({ text }, index) => index > 0 && !text.startsWith('-') && !isValue(index))
  if (isNamed && !MOVERS.has(name)) return []
  return [{ kind: 'argv', words: [order, LISTED_INPUT], via: name, stdin: { kind: 'closed' } }]
}

/** To these a name is where it goes. */
const MOVERS: ReadonlySet<string> = new Set(['Move-Item', 'Rename-Item', 'mi', 'rni', 'ren'])

/** `| ForEach-Object Delete`, `| % MoveTo /x`: a member that is called on what comes down the pipeline. */
const eachMember: Unwrap = (call) => {
  const member = call.words.find(({ text }, index) => index > 0 && !text.startsWith('-'))?.text ?? ''
  if (call.stdin.kind !== 'pipe' || !MEMBERS.test(member)) return []
  const words = [literal('Remove-Item'), LISTED_INPUT]
  return [{ kind: 'argv', words, via: call.name, stdin: { kind: 'closed' } }]
}

const MEMBERS = /^(?:Delete|MoveTo|CopyTo|Encrypt|SetAccessControl)$/i

/** They act on what they are given; a text that comes down the pipeline is what is written where they name a file. */
const ACTORS =
  'Remove-Item ri del erase rd Clear-Content clc Set-Content Add-Content Move-Item mi Rename-Item rni ren Stop-Process spps'

export const CMDLET_WRAPPERS: readonly (readonly [string, Unwrap])[] = [
  ['Start-Process', startProcess],
  ['Start-Job', (call) => [...block(call), ...eachMember(call)]],

  ...ACTORS.split(' ').map((name) => [name, fromPipeline] as const),
]
