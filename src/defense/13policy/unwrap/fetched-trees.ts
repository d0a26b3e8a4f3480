/**
 * Directories that a command of the request fills with what comes over the network: cloned, checked out, or unpacked
 * from an archive that was fetched. A program or a script that lies beneath one is as unknown as a fetched file.
 * Rules: git-clone(1), svn(1), hg(1), gh(1), tar(1), unzip(1), 7z(1).
 * @module
 */

import { baseName } from '../../../base/lexical-path.ts'
import type { ShellWord } from '../shell/shell.ts'
import { goesBy } from './names.ts'
import type { ParsedArguments } from './options.ts'

export type TreeMaker = {
  readonly names: readonly string[]
  readonly words: readonly ShellWord[]
  readonly parsed: ParsedArguments
}

/** What a tree is made of: a place beyond this device, or an archive that may have been fetched. */
export type Tree = { readonly directory: string; readonly archive: ShellWord | 'remote' | 'stdin' }

/** Programs that clone or check out, with the words that say so. */
const CLONERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['git', ['clone', 'submodule', 'subtree']],
  ['gh', ['clone']],
  ['glab', ['clone']],
  ['svn', ['checkout', 'co', 'export']],
  ['hg', ['clone']],
  ['bzr', ['branch', 'checkout', 'clone']],
  ['fossil', ['clone', 'open']],
  ['degit', []],
  ['tiged', []],
])
const UNPACKERS: ReadonlySet<string> = new Set(
  'tar bsdtar unzip 7z 7za 7zr cpio bsdcpio unar ar jar unrar'.split(' '),
)
const PLACES: ReadonlySet<string> = new Set(['-C', '--directory', '-d', '-o', '-D', '--cd'])

export function makesTrees(name: string): boolean {
  return CLONERS.has(name) || UNPACKERS.has(name)
}

function isRemote(text: string): boolean {
  return text.includes('://') || /^[\w.-]{1,64}@?[\w.-]{0,255}:/.test(text) || /^[\w.-]+\/[\w.-]+$/.test(text)
}

function cloned({ names, parsed }: TreeMaker): Tree | undefined {
  const [name = ''] = names
  const verbs = CLONERS.get(name)
  const operands = parsed.operands.filter(({ opaque }) => opaque === undefined).map(({ text }) => text)
  if (verbs === undefined || (verbs.length > 0 && !operands.slice(0, 2).some((word) => verbs.includes(word))))
    return undefined
  const from = operands.findIndex((word) => isRemote(word) && !verbs.includes(word))
  const place = operands[from]
  if (place === undefined) return undefined
  const own = baseName(place.replace(/\/+$/, '')).replace(/\.git$/, '')
  const directory = operands[from + 1] ?? own.slice(own.lastIndexOf(':') + 1)
  return { directory, archive: 'remote' }
}

function unpacked({ names, words, parsed }: TreeMaker): Tree | undefined {
  if (!goesBy(names, UNPACKERS)) return undefined
  const given = parsed.values.find(({ option }) => PLACES.has(option))?.word.text
  const attached = words.find(({ text }) => /^-o\S/.test(text))?.text.slice(2)
  const directory = given ?? (names[0]?.startsWith('7z') === true ? attached : undefined) ?? '.'
  const archive = words.find(
    ({ text }, at) => at > 0 && /\.[a-z0-9]{1,8}$/i.test(text) && !text.startsWith('-'),
  )
  return { directory, archive: archive ?? 'stdin' }
}

/** `gh release download`, `gh run download`: files of any name, into the working directory or the one that is given. */
function downloaded({ names, parsed }: TreeMaker): Tree | undefined {
  const [group, order] = parsed.operands.map(({ text }) => text)
  const isDownload = names[0] === 'gh' && (group === 'release' || group === 'run') && order === 'download'
  if (!isDownload) return undefined
  const given = parsed.values.find(({ option }) => option === '-D' || option === '--dir')?.word.text
  return { directory: given ?? '.', archive: 'remote' }
}

/** The directory that the command would fill, and from where. */
export function treeOf(maker: TreeMaker): Tree | undefined {
  return cloned(maker) ?? downloaded(maker) ?? unpacked(maker)
}
