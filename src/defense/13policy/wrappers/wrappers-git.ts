/**
 * What git runs: the settings and options whose value is a command, and what stands behind `run` and `foreach`; and
 * the files that its subcommands read and write.
 * From git(1), git-config(1) and the pages of its subcommands.
 * @module
 */
import { tableOf } from '../../../base/table.ts'
import { argv, type Inner, joined, shell, tail, type Unwrap } from '../arguments/inner.ts'
import { parseArguments } from '../arguments/options.ts'
import { GIT_FORM, gitForm } from '../arguments/subcommands.ts'
import type { PathUse } from '../effective.ts'
import type { ShellWord } from '../shell/shell.ts'

/** Keys of git's configuration whose value is a command. */
const STARTING =
  /^(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy|alternaterefscommand)|sequence\.editor|(?:alias|pager)\..+|(?:filter|diff|difftool|mergetool|merge|credential|gpg|browser|man|remote|submodule|trailer|tar)\.(?:.+\.)?(?:clean|smudge|process|command|textconv|cmd|path|driver|helper|program|external|uploadpack|receivepack|vcs|update)|interactive\.difffilter|uploadpack\.packobjectshook|sendemail\.smtpserver|web\.browser|man\.viewer)$/
/** And those whose value is a place where commands are found. */
const LEADING: readonly string[] = Object.freeze(['core.hookspath', 'include.path'])

/** Options of subcommands whose value is a command. */
const STARTING_OPTIONS = tableOf<readonly string[]>({
  rebase: ['-x', '--exec'],
  difftool: ['-x', '--extcmd'],
  mergetool: ['-x', '--extcmd'],
  grep: ['-O', '--open-files-in-pager'],
  clone: ['-u', '--upload-pack'],
  ...Object.fromEntries(
    ['fetch', 'pull', 'push', 'ls-remote', 'fetch-pack', 'send-pack', 'archive'].map((name) => [
      name,
      ['-u', '--upload-pack', '--receive-pack', '--exec'],
    ]),
  ),
  'filter-branch': ['tree', 'index', 'msg', 'env', 'commit', 'parent', 'tag-name']
    .map((part) => `--${part}-filter`)
    .concat('--setup'),
})

/** What subcommands do with their operands that are paths: all of them, or the one at a place. */
const OPERANDS = tableOf<readonly [PathUse, number?]>({
  ...Object.fromEntries(['clean', 'rm', 'mv', 'restore', 'init'].map((name) => [name, ['write'] as const])),
  ...Object.fromEntries(['clone', 'worktree'].map((name) => [name, ['write', 1] as const])),
  ...Object.fromEntries(
    ['add', 'diff', 'show', 'apply', 'am', 'hash-object'].map((name) => [name, ['read'] as const]),
  ),
})

/** Options that name a file, whatever the subcommand. */
const FILES = tableOf<PathUse>({
  '--output': 'write',
  '--separate-git-dir': 'write',
  '-o': 'write',
  '--directory': 'write',
  '-F': 'read',
  '-t': 'read',
  '--file': 'read',
  '--template': 'read',
  '--reference': 'read',
})

/** `KEY=VALUE` of git's configuration as a command, where it is one. */
function setting(key: string, value: ShellWord): readonly Inner[] {
  const lower = key.toLowerCase()
  if (LEADING.includes(lower)) return [{ kind: 'path', word: value, use: 'read' }]
  const isSwitch = value.opaque === undefined && ['true', 'false', ''].includes(value.text)
  if (isSwitch || !STARTING.test(lower)) return []
  if (value.text.startsWith('!')) return [shell(tail(value, 1), 'git -c')]
  // Without the mark it is one of git's own.
  if (lower.startsWith('alias.')) return [shell({ ...value, text: `git ${value.text}` }, 'git -c')]
  return /^(?:credential|submodule)\./.test(lower) ? [] : [shell(value, 'git -c')]
}

function settingOf(word: ShellWord): readonly Inner[] {
  const equals = word.text.indexOf('=')
  return equals > 0 ? setting(word.text.slice(0, equals), tail(word, equals + 1)) : []
}

/** A long option is also given by its beginning: `--exe` is `--exec`. */
function isGiven(option: string, known: string): boolean {
  return option === known || (option.length > 3 && option.startsWith('--') && known.startsWith(option))
}

export const git: Unwrap = (call) => {
  const inner: Inner[] = []
  const parsed = parseArguments(call.words, GIT_FORM)
  const place = parsed.values.find(({ option }) => option === '-C' || option === '--work-tree')?.word
  for (const { option, word } of parsed.values) {
    if (option === '-c') inner.push(...settingOf(word))
    // Git's own programs are then others.
    else if (option === '--exec-path') inner.push({ kind: 'opaque', opaque: 'program' })
    else inner.push({ kind: 'path', word, use: option === '--work-tree' ? 'write' : 'mention' })
  }
  const [subcommand, ...words] = call.words.slice(parsed.firstOperand)
  if (subcommand === undefined) return inner
  const found = subcommandOf(subcommand.text, words)
  return [...inner, ...(place === undefined ? found : found.map((one) => beneath(one, place)))]
}

/** A path that is relative to the directory that git changes to. */
function beneath(inner: Inner, directory: ShellWord): Inner {
  if (inner.kind !== 'path' || inner.word.text.startsWith('/') || directory.opaque !== undefined) return inner
  return { ...inner, word: { ...inner.word, text: `${directory.text}/${inner.word.text}` } }
}

function subcommandOf(name: string, words: readonly ShellWord[]): readonly Inner[] {
  const { values, operands } = parseArguments(words, gitForm(name), 0)
  const inner: Inner[] = []
  if (name === 'bisect' && words[0]?.text === 'run') inner.push(...argv(words.slice(1), 'git bisect'))
  const each = name === 'submodule' ? words.findIndex(({ text }) => text === 'foreach') + 1 : 0
  const command = each > 0 ? words.slice(each).filter(({ text }, at) => at > 0 || text !== '--recursive') : []
  if (command.length > 0) inner.push(shell(joined(command), 'git submodule'))
  if (name === 'config') {
    const [key, value] = operands.filter(({ text }) => text !== 'set' && text !== 'unset')
    if (key !== undefined && value !== undefined) inner.push(...setting(key.text, value))
    for (const { option, word } of values)
      if (option === '-f' || option === '--file') inner.push({ kind: 'path', word, use: 'write' })
    return inner
  }
  for (const { option, word } of values) {
    const use = FILES[option]
    if (STARTING_OPTIONS[name]?.some((known) => isGiven(option, known)) === true)
      inner.push(shell(word, `git ${name}`))
    else if (option === '-c' || option === '--config') inner.push(...settingOf(word))
    else if (use !== undefined && !(option === '-o' && name !== 'archive' && name !== 'format-patch'))
      inner.push({ kind: 'path', word, use })
  }
  for (const word of operands)
    if (word.text.startsWith('ext::')) inner.push(shell(tail(word, 5), `git ${name}`))
  const [use, at] = OPERANDS[name] ?? []
  // What stands behind the dashes is files, whatever it looks like: `git -C /etc log -p -- shadow`.
  const dashes = words.findIndex(({ text }) => text === '--')
  const named = at === undefined ? operands : operands.slice(at, at + 1)
  if (use !== undefined)
    for (const word of named)
      if (use === 'write' || word.text.includes('/')) inner.push({ kind: 'path', word, use })
  if (dashes >= 0)
    for (const word of words.slice(dashes + 1)) inner.push({ kind: 'path', word, use: use ?? 'read' })
  return inner
}
