/**
 * Programs with words of their own in which another program can be named: git, tar, ssh, socat, apt. What of it is a
 * command is given; the rest is theirs.
 * From the manual pages of the programs named.
 * @module
 */

import {
  argv,
  type Call,
  has,
  type Inner,
  joined,
  literal,
  optionValue,
  shell,
  tail,
  type Unwrap,
} from '../arguments/inner.ts'
import { parseArguments } from '../arguments/options.ts'
import { formOf } from '../programs/programs.ts'
import { git } from './wrappers-git.ts'

const tar: Unwrap = (call) => {
  const inner: Inner[] = []
  for (const { option, word } of call.parsed.values) {
    if (option === '--checkpoint-action' && word.text.startsWith('exec='))
      inner.push(shell(tail(word, 5), 'tar'))
  }
  // The old form: the first word is a cluster without a dash, and its letters take the next words.
  const first = call.words[1]?.text ?? ''
  const isOld = first !== '' && !first.startsWith('-') && first.length <= 32
  const operands = call.parsed.operands.slice(isOld ? 1 : 0)
  const isSet = (letter: string, ...names: readonly string[]) =>
    has(call.parsed, `-${letter}`, ...names) || (isOld && first.includes(letter))
  const extracts = isSet('x', '--extract', '--get')
  const creates = isSet('c', '--create') || isSet('r', '--append') || isSet('u', '--update')
  const removes = has(call.parsed, '--remove-files')
  if (isOld) {
    for (const letter of first) {
      if (!'fCIXTbgKVNH'.includes(letter)) continue
      const word = operands.shift()
      if (word === undefined) break
      if (letter === 'f') inner.push({ kind: 'path', word, use: creates ? 'write' : 'read' })
      else if (letter === 'C') inner.push({ kind: 'path', word, use: extracts ? 'write' : 'read' })
      else if (letter === 'I') inner.push(shell(word, 'tar'))
      else if (letter === 'T' || letter === 'X') inner.push({ kind: 'path', word, use: 'read' })
    }
  }
  for (const { option, word } of call.parsed.values) {
    if (option === '-f' || option === '--file')
      inner.push({ kind: 'path', word, use: creates ? 'write' : 'read' })
  }
  if (creates) {
    const base = optionValue(call.parsed, '-C', '--directory')
    for (const word of operands) {
      const isBeneath = base !== undefined && base.opaque === undefined && !word.text.startsWith('/')
      const file = isBeneath ? { ...word, text: `${base.text}/${word.text}` } : word
      inner.push({ kind: 'path', word: file, use: removes ? 'write' : 'read' })
    }
  }
  if (extracts && optionValue(call.parsed, '-C', '--directory') === undefined && !isSet('O', '--to-stdout')) {
    inner.push({ kind: 'path', word: literal('.'), use: 'write' })
  }
  if (extracts && isSet('P', '--absolute-names')) {
    inner.push({ kind: 'path', word: { text: '/', isGlob: false, opaque: 'expansion' }, use: 'write' })
  }
  return inner
}

/** `-o KEY=VALUE` of ssh and its kin, where the value is a command. */
function sshOptions(call: Call): readonly Inner[] {
  const inner: Inner[] = []
  for (const { option, word } of call.parsed.values) {
    if (option !== '-o') continue
    const at = word.text.search(/[= \t]/)
    if (at < 0) continue
    const key = word.text.slice(0, at).toLowerCase()
    const value = tail(word, at + 1)
    if (
      ['proxycommand', 'localcommand', 'knownhostscommand', 'remotecommand', 'xauthlocation'].includes(key)
    ) {
      if (value.text.trim() !== 'none') inner.push(shell({ ...value, text: value.text.trim() }, call.name))
    } else if (
      ['identityfile', 'include', 'userknownhostsfile', 'certificatefile', 'pkcs11provider'].includes(key)
    ) {
      inner.push({ kind: 'path', word: value, use: 'read' })
    }
  }
  return inner
}

const ssh: Unwrap = (call) => {
  // Options may stand between the host and the command.
  const words = call.words.slice(call.parsed.firstOperand + 1)
  const later = parseArguments(words, formOf(['ssh']), 0)
  const command = words.slice(later.firstOperand)
  const inner = [...sshOptions(call), ...sshOptions({ ...call, parsed: later })]
  if (command.length > 0) inner.push(shell(joined(command), 'ssh'))
  return inner
}

const socat: Unwrap = (call) =>
  call.parsed.operands.flatMap((word): readonly Inner[] => {
    const colon = word.text.indexOf(':')
    const kind = word.text.slice(0, Math.max(colon, 0)).toUpperCase()
    const value = word.text.slice(colon + 1).split(',', 1)[0] ?? ''
    if (kind === 'EXEC' || kind === 'SYSTEM' || kind === 'SHELL')
      return [shell({ ...word, text: value }, 'socat')]
    if (['OPEN', 'CREATE', 'FILE', 'CREAT', 'GOPEN'].includes(kind))
      return [{ kind: 'path', word: { ...word, text: value }, use: 'write' }]
    return []
  })

const daemon: Unwrap = (call) => {
  const program = optionValue(call.parsed, '-a', '--startas') ?? optionValue(call.parsed, '-x', '--exec')
  const dashes = call.words.findIndex(({ text }) => text === '--')
  const operands = dashes < 0 ? call.parsed.operands : call.words.slice(dashes + 1)
  return program === undefined || !has(call.parsed, '-S', '--start')
    ? []
    : argv([program, ...operands], call.name)
}

/** `-o DPkg::Pre-Invoke::=command` and the programs that apt is told to use. */
const apt: Unwrap = (call) =>
  call.parsed.values.flatMap(({ option, word }): readonly Inner[] => {
    const equals = word.text.indexOf('=')
    if ((option !== '-o' && option !== '--option') || equals < 0) return []
    const key = word.text.slice(0, equals).toLowerCase()
    return key.includes('invoke') || key.startsWith('dir::bin') || key.includes('pager')
      ? [shell(tail(word, equals + 1), call.name)]
      : []
  })

export const SPECIAL_WRAPPERS: readonly (readonly [string, Unwrap])[] = [
  ['git', git],
  ...['apt', 'apt-get', 'aptitude', 'apt-cache'].map((name) => [name, apt] as const),
  ['tar', tar],
  ['ssh', ssh],
  ['scp', sshOptions],
  ['sftp', sshOptions],
  ['socat', socat],
  ['start-stop-daemon', daemon],
]
