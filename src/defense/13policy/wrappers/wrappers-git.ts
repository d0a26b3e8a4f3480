/**
 * What git runs: aliases, and the settings and options whose value is a command.
 * From git(1), git-config(1) and the pages of its subcommands.
 * @module
 */

import {
  argv,
  eachLine,
  has,
  type Inner,
  joined,
  literal,
  type Stdin,
  shell,
  tail,
  type Unwrap,
} from '../arguments/inner.ts'
import { parseArguments } from '../arguments/options.ts'
import { GIT_FORM, gitForm } from '../arguments/subcommands.ts'
import type { ShellWord } from '../shell/shell.ts'

/** Keys of git's configuration whose value is a command; `*` stands for a name between dots. */
const GIT_COMMANDS: readonly string[] = [
  'core.pager',
  'core.editor',
  'core.sshcommand',
  'core.fsmonitor',
  'core.askpass',
  'core.gitproxy',
  'core.alternaterefscommand',
  'sequence.editor',
  'gpg.program',
  'diff.external',
  'credential.helper',
  'uploadpack.packobjectshook',
  'sendemail.smtpserver',
  'web.browser',
  'man.viewer',
]

const GIT_SECTIONS: readonly (readonly [string, string])[] = [
  ['alias.', ''],
  ['pager.', ''],
  ['filter.', '.clean'],
  ['filter.', '.smudge'],
  ['filter.', '.process'],
  ['diff.', '.command'],
  ['diff.', '.textconv'],
  ['difftool.', '.cmd'],
  ['difftool.', '.path'],
  ['mergetool.', '.cmd'],
  ['mergetool.', '.path'],
  ['merge.', '.driver'],
  ['credential.', '.helper'],
  ['gpg.', '.program'],
  ['browser.', '.cmd'],
  ['man.', '.cmd'],
  ['remote.', '.uploadpack'],
  ['remote.', '.receivepack'],
  ['remote.', '.vcs'],
  ['submodule.', '.update'],
  ['trailer.', '.command'],
  ['trailer.', '.cmd'],
  ['tar.', '.command'],
  ['interactive.', 'difffilter'],
]

function isGitCommand(key: string): boolean {
  return (
    GIT_COMMANDS.includes(key) ||
    GIT_SECTIONS.some(
      ([start, end]) => key.length > start.length + end.length && key.startsWith(start) && key.endsWith(end),
    ) ||
    key === 'interactive.difffilter'
  )
}

/** `KEY=VALUE` of git's configuration as a command, where it is one. */
function gitSetting(key: string, value: ShellWord): readonly Inner[] {
  const lower = key.toLowerCase()
  if (lower === 'core.hookspath' || lower === 'include.path')
    return [{ kind: 'path', word: value, use: 'read' }]
  if (!isGitCommand(lower)) return []
  if (lower.startsWith('alias.') || lower.startsWith('credential.') || lower.startsWith('submodule.')) {
    // Without the mark it is one of git's own.
    if (value.text.startsWith('!')) return [shell(tail(value, 1), 'git -c')]
    return lower.startsWith('alias.')
      ? [{ kind: 'shell', word: { ...value, text: `git ${value.text}` }, via: 'git -c' }]
      : []
  }
  if (['true', 'false', ''].includes(value.text) && value.opaque === undefined) return []
  return [shell(value.text.startsWith('!') ? tail(value, 1) : value, 'git -c')]
}

/** Options of `git config` that change the file. */
const GIT_CONFIG_CHANGES: readonly string[] = [
  '--add',
  '--unset',
  '--unset-all',
  '--replace-all',
  '--remove-section',
  '--rename-section',
  '-e',
  '--edit',
]

/** Subcommands that change the files of the work tree. */
const WRITES_TREE: ReadonlySet<string> = new Set(
  'checkout restore reset clean switch stash merge pull rebase apply am cherry-pick revert checkout-index read-tree submodule'.split(
    ' ',
  ),
)

/** And those that show what a file holds or has held. */
const SHOWS_FILES: ReadonlySet<string> = new Set('log show diff blame annotate grep whatchanged'.split(' '))

/** A path that is relative to the directory that git changes to. */
function beneath(inner: Inner, directory: ShellWord): Inner {
  if (inner.kind !== 'path' || inner.word.text.startsWith('/') || directory.opaque !== undefined) return inner
  return { ...inner, word: { ...inner.word, text: `${directory.text}/${inner.word.text}` } }
}

export const git: Unwrap = (call) => {
  const inner: Inner[] = []
  const parsed = parseArguments(call.words, GIT_FORM)
  for (const { option, word } of parsed.values) {
    const equals = word.text.indexOf('=')
    if (option === '-c' && equals > 0)
      inner.push(...gitSetting(word.text.slice(0, equals), tail(word, equals + 1)))
    if (option === '-C' || option === '--git-dir' || option === '--work-tree')
      inner.push({ kind: 'path', word, use: 'mention' })
    // Git's own programs are then others.
    if (option === '--exec-path')
      inner.push({ kind: 'path', word, use: 'read' }, { kind: 'opaque', opaque: 'program' })
  }
  const [subcommand, ...words] = call.words.slice(parsed.firstOperand)
  if (subcommand === undefined) return inner
  const contents = words.findIndex(({ text }) => text === '--contents' || text === '--no-index')
  if (contents >= 0)
    for (const word of words.slice(contents + 1))
      if (word.text.includes('/')) inner.push({ kind: 'path', word, use: 'read' })
  if (subcommand.text === 'hash-object' && words.some(({ text }) => text === '--stdin-paths'))
    inner.push(...listedFiles(call.stdin))
  const directory = parsed.values.find(({ option }) => option === '-C')?.word
  const found = gitSubcommand(subcommand.text, words)
  const tree = parsed.values.find(({ option }) => option === '--work-tree' || option === '-C')?.word
  if (tree !== undefined && WRITES_TREE.has(subcommand.text))
    inner.push({ kind: 'path', word: tree, use: 'write' })
  return [...inner, ...(directory === undefined ? found : found.map((one) => beneath(one, directory)))]
}

/** Names of files on the standard input, each of which goes into the store. */
function listedFiles(stdin: Stdin): readonly Inner[] {
  const text = stdin.kind === 'text' ? stdin.word.text : stdin.kind === 'pipe' ? (stdin.output ?? '') : ''
  return eachLine(text, (line) =>
    line.trim() === '' ? [] : [{ kind: 'path', word: literal(line.trim()), use: 'read' }],
  )
}

/** A long option is also given by its beginning: `--exe` is `--exec`. */
function isGiven(option: string, known: string): boolean {
  return option === known || (option.length > 3 && option.startsWith('--') && known.startsWith(option))
}

function gitSubcommand(subcommand: string, words: readonly ShellWord[]): readonly Inner[] {
  const inner: Inner[] = []
  const parsed = parseArguments(words, gitForm(subcommand), 0)
  const texts = (...options: readonly string[]) => {
    for (const { option, word } of parsed.values)
      if (options.some((known) => isGiven(option, known))) inner.push(shell(word, `git ${subcommand}`))
  }
  switch (subcommand) {
    case 'rebase':
      texts('-x', '--exec')
      break
    case 'bisect':
      if (words[0]?.text === 'run') inner.push(...argv(words.slice(1), 'git bisect'))
      break
    case 'submodule': {
      const at = words.findIndex(({ text }) => text === 'foreach')
      const command = words.slice(at + 1).filter(({ text }, index) => index > 0 || text !== '--recursive')
      if (at >= 0 && command.length > 0) inner.push(shell(joined(command), 'git submodule'))
      break
    }
    case 'filter-branch':
      texts(
        '--tree-filter',
        '--index-filter',
        '--msg-filter',
        '--env-filter',
        '--commit-filter',
        '--parent-filter',
        '--tag-name-filter',
        '--setup',
      )
      break
    case 'difftool':
    case 'mergetool':
      texts('-x', '--extcmd')
      break
    case 'grep':
      texts('-O', '--open-files-in-pager')
      break
    case 'clone':
    case 'fetch':
    case 'pull':
    case 'push':
    case 'ls-remote':
    case 'fetch-pack':
    case 'send-pack':
    case 'archive':
      texts('-u', '--upload-pack', '--receive-pack', ...(subcommand === 'clone' ? [] : ['--exec']))
      for (const { option, word } of parsed.values) {
        const equals = word.text.indexOf('=')
        if ((option === '-c' || option === '--config') && equals > 0) {
          inner.push(...gitSetting(word.text.slice(0, equals), tail(word, equals + 1)))
        }
        if (option === '--template' || option === '--reference')
          inner.push({ kind: 'path', word, use: 'read' })
      }
      for (const word of parsed.operands)
        if (word.text.startsWith('ext::')) inner.push(shell(tail(word, 5), `git ${subcommand}`))
      if (subcommand === 'clone' && parsed.operands[1])
        inner.push({ kind: 'path', word: parsed.operands[1], use: 'write' })
      break
    case 'config': {
      const [key, value] = parsed.operands.filter(({ text }) => text !== 'set' && text !== 'unset')
      if (key !== undefined && value !== undefined) inner.push(...gitSetting(key.text, value))
      const isChanged = value !== undefined || has(parsed, ...GIT_CONFIG_CHANGES)
      for (const { option, word } of parsed.values)
        if (option === '-f' || option === '--file')
          inner.push({ kind: 'path', word, use: isChanged ? 'write' : 'read' })
      break
    }
    case 'clean':
    case 'rm':
    case 'mv':
    case 'restore':
      for (const word of parsed.operands) inner.push({ kind: 'path', word, use: 'write' })
      break
    case 'init':
      for (const word of parsed.operands) inner.push({ kind: 'path', word, use: 'write' })
      for (const { option, word } of parsed.values)
        if (option === '--template') inner.push({ kind: 'path', word, use: 'read' })
      break
    case 'worktree':
      if (parsed.operands[1]) inner.push({ kind: 'path', word: parsed.operands[1], use: 'write' })
      break
    case 'add':
    case 'diff':
    case 'show':
    case 'apply':
    case 'am':
    case 'hash-object':
      for (const word of parsed.operands)
        if (word.text.includes('/') || subcommand === 'hash-object' || has(parsed, '--no-index'))
          inner.push({ kind: 'path', word, use: 'read' })
      break
  }
  // What stands behind the dashes is files, whatever it looks like: `git -C /etc log -p -- shadow`.
  const dashes = words.findIndex(({ text }) => text === '--')
  if (dashes >= 0 && SHOWS_FILES.has(subcommand))
    for (const word of words.slice(dashes + 1)) inner.push({ kind: 'path', word, use: 'read' })
  for (const { option, word } of parsed.values) {
    if (
      option === '--output' ||
      option === '--separate-git-dir' ||
      (option === '-o' && (subcommand === 'archive' || subcommand === 'format-patch'))
    ) {
      inner.push({ kind: 'path', word, use: 'write' })
    }
    if (subcommand === 'apply' && option === '--directory') inner.push({ kind: 'path', word, use: 'write' })
    if (option === '-F' || option === '--file') inner.push({ kind: 'path', word, use: 'read' })
    if (subcommand === 'commit' && (option === '-t' || isGiven(option, '--template')))
      inner.push({ kind: 'path', word, use: 'read' })
  }
  return inner
}
