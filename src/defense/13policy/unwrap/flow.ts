/**
 * Files that one command of a request makes and a later one runs: written with known text, copied or linked from a
 * program, fetched or decoded. Only what stands in the request counts; no file is looked at.
 * Rules: POSIX.1-2024, cp, ln, mv, tee and redirection; curl(1), wget(1), hash in bash(1).
 * @module
 */

import { baseName, isWithin } from '../../../base/lexical-path.ts'
import type { Opaque, UsedPath } from '../effective.ts'
import { joinPath } from '../join-path.ts'
import type { ShellRedirect, ShellWord } from '../shell/shell.ts'
import { makesTrees, treeOf } from './fetched-trees.ts'
import type { Stdin } from './inner.ts'
import { goesBy, namesOf } from './names.ts'
import type { ParsedArguments } from './options.ts'
import { decodes } from './stream.ts'
import { compiles } from './wrappers-commands.ts'

/** What is known of a file that the request has made. */
export type Made =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'program'; readonly names: readonly string[] }
  | {
      readonly kind: 'hidden'
      readonly opaque: Opaque /** It came over the network. */
      readonly isFetched?: boolean
    }

export type Flow = {
  files: Named<Made>
  hashed: Named<string>
  /** Directories that hold what was fetched. */
  readonly trees: string[]
  /** Links, and where they lead. */
  links: Named<string>
  /** Files that a tool has been found to run. */
  readonly run: string[]
}

type Named<Value> = ReadonlyMap<string, Value>

/** Files of one request that are kept; what people write has two. */
const FILES_MAX = 64

/** Text of one file that is kept; what is longer counts as not known. */
const TEXT_MAX = 65_536

export function startFlow(): Flow {
  return { files: NOTHING, hashed: NOTHING, trees: [], links: NOTHING, run: [] }
}

/** Shared: most requests make no file. */
const NOTHING: Named<never> = new Map<string, never>()

/** The same map with that entry, where it is not the shared one. */
function withEntry<Value>(map: Named<Value>, key: string, value: Value): Named<Value> {
  return map === NOTHING ? new Map([[key, value]]) : (map as Map<string, Value>).set(key, value)
}

/** What a command does, as far as files that it makes are concerned. */
export type Maker = {
  readonly names: readonly string[]
  readonly options: readonly string[]
  readonly parsed: ParsedArguments
  readonly words: readonly ShellWord[]
  readonly redirects: readonly ShellRedirect[]
  readonly stdin: Stdin
  readonly output: string | undefined
  readonly cwd: string | undefined
  readonly calls: readonly string[]
  readonly paths: readonly UsedPath[]
}

const FETCHERS: ReadonlySet<string> = new Set(
  'curl wget wget2 uclient-fetch aria2c axel fetch http https xh lwp-download lwp-request GET nc netcat ncat socat ftp lftp tftp sftp scp rsync aws gsutil rclone az telnet openssl ssh kermit rcp smbclient lynx w3m links elinks youtube-dl yt-dlp gdown ipfs wormhole croc magic-wormhole'.split(
    ' ',
  ),
)
const COPIERS: ReadonlySet<string> = new Set(['cp', 'mv', 'ln', 'link', 'install', 'ditto', 'rsync'])

export function fetches(names: readonly string[]): boolean {
  return goesBy(names, FETCHERS)
}

function pathOf(word: ShellWord | undefined, cwd: string | undefined): string | undefined {
  if (word === undefined || word.opaque !== undefined || word.isGlob || word.text === '') return undefined
  if (word.text.startsWith('/')) return joinPath('/', word.text)
  return cwd === undefined ? undefined : joinPath(cwd, word.text)
}

function put(flow: Flow, path: string | undefined, made: Made | undefined): void {
  if (path === undefined || path.startsWith('/dev/')) return
  const before = flow.files.get(path)
  // A name that `mktemp` has made may be that of several files; what is hidden in one of them stays so.
  if (before !== undefined && before.kind !== 'text' && path.includes('XXX')) {
    if (before.kind === 'program' && made?.kind === 'program')
      flow.files = withEntry(flow.files, path, {
        kind: 'program',
        names: [...before.names, ...made.names].slice(0, FILES_MAX),
      })
    else if (before.kind === 'program')
      flow.files = withEntry<Made>(flow.files, path, { kind: 'hidden', opaque: 'eval' })
  } else if (made === undefined) {
    if (before !== undefined) (flow.files as Map<string, Made>).delete(path)
  } else if (before !== undefined || flow.files.size < FILES_MAX)
    flow.files = withEntry(flow.files, path, made)
}

/** What comes over a command's input, as the content of a file that is filled with it. */
function contentOfInput({ stdin }: Maker): Made | undefined {
  if (stdin.kind === 'text' && stdin.word.opaque === undefined) return { kind: 'text', text: stdin.word.text }
  if (stdin.kind === 'text') return { kind: 'hidden', opaque: 'eval' }
  if (stdin.kind !== 'pipe') return undefined
  if (stdin.isDecoded) return { kind: 'hidden', opaque: 'decoded' }
  if (stdin.output !== undefined) return { kind: 'text', text: stdin.output }
  return { kind: 'hidden', opaque: 'piped', isFetched: stdin.isFetched ?? false }
}

/** Names of the standard input among files. */
const INPUT_NAMES: readonly string[] = Object.freeze([
  '/dev/stdin',
  '/dev/fd/0',
  '/proc/self/fd/0',
  '/proc/thread-self/fd/0',
])
/** They put what they read, or are told, into a file that they are given. */
const FILTERS: ReadonlySet<string> = new Set(
  'sort uniq shuf split csplit ex vi vim nvim view ed red xxd gpg gpg2 tsort rev'.split(' '),
)

/** What the command puts out, as the content of a file. */
function contentOf(flow: Flow, maker: Maker): Made | undefined {
  const { names, stdin, output, words } = maker
  // Of a group, what all its commands write.
  if (words.length === 0) return { kind: 'hidden', opaque: 'eval' }
  if (output !== undefined) return output.length > TEXT_MAX ? undefined : { kind: 'text', text: output }
  if (decodes(maker) || (stdin.kind === 'pipe' && stdin.isDecoded))
    return { kind: 'hidden', opaque: 'decoded' }
  if (
    names.includes('sponge') ||
    (names[0] === 'cat' && INPUT_NAMES.includes(maker.parsed.operands[0]?.text ?? ''))
  )
    return contentOfInput(maker)
  if (names[0] === 'cat') {
    const from = pathOf(maker.parsed.operands[0], maker.cwd)
    if (from === undefined) return undefined
    return flow.files.get(from) ?? { kind: 'program', names: namesOf(from, undefined) }
  }
  const isPrinter = names[0] === 'echo' || names[0] === 'printf'
  if (isPrinter && words.some(({ opaque }) => opaque !== undefined)) return { kind: 'hidden', opaque: 'eval' }
  // As where it is piped into a shell: what it puts out is not known.
  return { kind: 'hidden', opaque: 'piped', isFetched: fetches(names) }
}

function isMaker(name: string): boolean {
  return (
    COPIERS.has(name) ||
    FILTERS.has(name) ||
    FETCHERS.has(name) ||
    OTHER_MAKERS.includes(name) ||
    makesTrees(name)
  )
}

const OTHER_MAKERS: readonly string[] = Object.freeze(['tee', 'sponge', 'dd', 'hash', 'mkfifo', 'mknod'])

/** Takes down the files that a command makes. */
export function noteFiles(flow: Flow, maker: Maker): void {
  const { names, parsed, redirects, cwd } = maker
  // A program is as well known as its source.
  const { stdin } = maker
  if (stdin.kind === 'pipe' && (stdin.isDecoded || stdin.isFetched === true) && compiles(names))
    for (const { path, use } of maker.paths) if (use === 'write') put(flow, path, contentOfInput(maker))
  if (redirects.length === 0 && maker.calls.length === 0 && !names.some(isMaker)) return
  const outputs = redirects.filter(({ fd, kind }) => fd !== 2 && (kind === 'write' || kind === 'readwrite'))
  const isTee = names.includes('tee') || names.includes('sponge')
  if (outputs.length > 0 || isTee) {
    const made = contentOf(flow, maker)
    for (const { target } of outputs) write(flow, pathOf(target, cwd), made)
    if (isTee) for (const word of parsed.operands) write(flow, pathOf(word, cwd), made)
  }
  // What code has written is not known either; a compiler runs none of what it is given.
  const isRun = maker.calls.length > 0 && !compiles(names)
  for (const { path, use, isGlob, isOpaque } of isRun ? maker.paths : [])
    if (use === 'write' && !isGlob && !isOpaque) put(flow, path, { kind: 'hidden', opaque: 'eval' })
  if (goesBy(names, FILTERS) && (maker.stdin.kind === 'text' || isTold(maker))) {
    const noted = new Set(outputs.map(({ target }) => pathOf(target, cwd)))
    for (const { path, use, isGlob, isOpaque } of maker.paths)
      if (use === 'write' && !isGlob && !isOpaque && !noted.has(path))
        put(flow, path, { kind: 'hidden', opaque: 'eval' })
    // Of `split` the names are not known beforehand; they begin with the last word.
    const last = parsed.operands.at(-1)
    if (names.includes('split') && last !== undefined)
      put(flow, pathOf({ ...last, text: `${last.text}aa` }, cwd), { kind: 'hidden', opaque: 'eval' })
  }
  if (goesBy(names, COPIERS)) noteCopies(flow, maker)
  if (fetches(names)) noteFetched(flow, maker)
  if (names.includes('dd')) noteBlocks(flow, maker)
  if (names.some(makesTrees)) noteTree(flow, maker)
  if (names[0] === 'hash') noteHashed(flow, maker)
  // What comes out of a pipe with a name is what anybody puts in.
  if (names.includes('mkfifo') || (names.includes('mknod') && parsed.operands.at(-1)?.text === 'p'))
    for (const word of parsed.operands) put(flow, pathOf(word, cwd), { kind: 'hidden', opaque: 'piped' })
}

/** An editor that is told what to write by its options, or a filter at the end of a pipe. */
function isTold({ stdin, options }: Maker): boolean {
  return stdin.kind === 'pipe' || options.includes('-c')
}

/** A file may also be added to: then it has what it had, and more. */
function write(flow: Flow, path: string | undefined, made: Made | undefined): void {
  if (path === undefined) return
  const before = flow.files.get(path)
  if (before?.kind === 'text' && made?.kind === 'text' && before.text.length + made.text.length <= TEXT_MAX) {
    put(flow, path, { kind: 'text', text: `${before.text}${made.text}` })
  } else put(flow, path, made)
}

function noteCopies(flow: Flow, maker: Maker): void {
  const { parsed, cwd, names } = maker
  const target = parsed.values.find(({ option }) => option === '-t' || option === '--target-directory')?.word
  const sources =
    target === undefined && parsed.operands.length > 1 ? parsed.operands.slice(0, -1) : parsed.operands
  const here: ShellWord = { text: '.', isGlob: false, opaque: undefined }
  const to = pathOf(target ?? (parsed.operands.length > 1 ? parsed.operands.at(-1) : here), cwd)
  if (to === undefined) return
  const isLink =
    names.some((name) => LINKERS.includes(name)) ||
    (names.includes('cp') && parsed.options.some((option) => LINKING.includes(option)))
  for (const source of sources) {
    const from = pathOf(source, cwd)
    if (from === undefined) continue
    const isRemote = source.text.indexOf(':') > 0 && names.includes('rsync')
    const made: Made | undefined = isRemote
      ? { kind: 'hidden', opaque: 'piped' }
      : INPUT_NAMES.includes(from)
        ? contentOfInput(maker)
        : (flow.files.get(from) ?? { kind: 'program', names: namesOf(from, undefined) })
    put(flow, to, made)
    put(flow, joinPath(to, baseName(from)), made)
    if (isLink && flow.links.size < FILES_MAX)
      flow.links = withEntry(withEntry(flow.links, to, from), joinPath(to, baseName(from)), from)
  }
}

const LINKERS: readonly string[] = Object.freeze(['ln', 'link'])
/** What they do to a link, they do not do to where it leads. */
const OF_LINKS: readonly string[] = Object.freeze(['rm', 'unlink', 'mv', 'ln', 'rmdir', 'trash'])
const LINKING: readonly string[] = Object.freeze(['-s', '-l', '--symbolic-link', '--link'])

/** Where paths lead through links: whoever writes to the one writes to the other. Removing a link removes no more. */
export function linkedPaths({ links }: Flow, { names, paths }: Maker): readonly UsedPath[] {
  const found: UsedPath[] = []
  const isOfLinks = names.some((name) => OF_LINKS.includes(name))
  for (const used of paths.slice(0, FILES_MAX))
    for (const [link, target] of links)
      if (
        used.use !== 'mention' &&
        isWithin(link, used.path) &&
        !isWithin(target, used.path) &&
        !(isOfLinks && used.path === link)
      )
        found.push({ ...used, path: joinPath(target, `.${used.path.slice(link.length)}`) })
  return found
}

/** Options by which a program that fetches is told the name of the file. */
const NAMED: ReadonlySet<string> = new Set([
  '-o',
  '--output',
  '-O',
  '--output-document',
  '--out',
  '-l',
  '--download',
])
const DIRECTORIES: ReadonlySet<string> = new Set(['-P', '--directory-prefix', '-d', '--dir', '--output-dir'])

function noteFetched(flow: Flow, { parsed, cwd }: Maker): void {
  const made: Made = { kind: 'hidden', opaque: 'piped', isFetched: true }
  const directory = parsed.values.find(({ option }) => DIRECTORIES.has(option))?.word
  const place = directory === undefined ? cwd : pathOf(directory, cwd)
  for (const { option, word } of parsed.values) if (NAMED.has(option)) put(flow, pathOf(word, place), made)
  for (const word of parsed.operands) {
    const colon = word.text.indexOf(':')
    const path = word.text.split('?', 1)[0]?.split('#', 1)[0] ?? ''
    const name = baseName(path.slice(path.lastIndexOf(':') + 1))
    // An address or a remote file keeps its name; the last operand may be another one.
    if (colon > 0 || path.includes('/')) put(flow, pathOf({ ...word, text: name }, place), made)
  }
  const last = parsed.operands.at(-1)
  const isCopy = parsed.operands.length > 1 && last !== undefined && last.text.indexOf(':') < 0
  if (isCopy) put(flow, pathOf(last, cwd), made)
}

/** Takes down a directory that is filled with what comes over the network. */
function noteTree(flow: Flow, maker: Maker): void {
  const tree = treeOf(maker)
  if (tree === undefined || flow.trees.length >= FILES_MAX) return
  const { archive } = tree
  const { stdin, cwd } = maker
  const isFetched =
    archive === 'remote' ||
    (archive === 'stdin'
      ? stdin.kind === 'pipe' && stdin.isFetched === true
      : wasFetched(madeFile(flow, archive, cwd)))
  const directory = pathOf({ text: tree.directory, isGlob: false, opaque: undefined }, cwd)
  if (isFetched && directory !== undefined) flow.trees.push(directory)
}

/** Said of a command that works in such a directory, or is given one: what it finds there tells it what to do. */
export const FETCHED_TREE = 'tree:fetched'

/** Whether a command stands in a directory that holds what was fetched, or is given one. */
export function usesTree(
  { trees }: Flow,
  { cwd, paths, parsed }: Pick<Maker, 'cwd' | 'paths' | 'parsed'>,
): boolean {
  if (trees.length === 0) return false
  const given = [...parsed.operands, ...parsed.values.map(({ word }) => word)]
  const places = [
    cwd,
    ...paths.flatMap(({ path, use }) => (use === 'write' ? [] : [path])),
    ...given.map((word) => pathOf(word, cwd)),
  ]
  return places.some((place) => place !== undefined && trees.some((tree) => isWithin(tree, place)))
}

function wasFetched(made: Made | undefined): boolean {
  return made?.kind === 'hidden' && made.isFetched === true
}

const FETCHED: Made = Object.freeze({ kind: 'hidden', opaque: 'piped', isFetched: true })

/** What was put at `path`, or came there with a tree. */
function madeAt(flow: Flow, path: string | undefined): Made | undefined {
  if (path === undefined) return undefined
  return flow.files.get(path) ?? (flow.trees.some((tree) => isWithin(tree, path)) ? FETCHED : undefined)
}

function noteBlocks(flow: Flow, maker: Maker): void {
  const value = (name: string) => {
    const word = maker.parsed.operands.find(({ text }) => text.startsWith(name))
    return word === undefined ? undefined : pathOf({ ...word, text: word.text.slice(name.length) }, maker.cwd)
  }
  const to = value('of=')
  const from = value('if=')
  if (to === undefined) return
  const { stdin } = maker
  if (from !== undefined)
    put(flow, to, flow.files.get(from) ?? { kind: 'program', names: namesOf(from, undefined) })
  else if (stdin.kind === 'text' && stdin.word.opaque === undefined)
    put(flow, to, { kind: 'text', text: stdin.word.text })
  else if (stdin.kind === 'pipe' && stdin.output !== undefined)
    put(flow, to, { kind: 'text', text: stdin.output })
  else put(flow, to, contentOf(flow, maker))
}

/** `hash -p /bin/rm ls`: from here on, the name is that program. */
function noteHashed(flow: Flow, { parsed }: Maker): void {
  const path = parsed.values.find(({ option }) => option === '-p')?.word
  if (path === undefined || path.opaque !== undefined) return
  for (const { text } of parsed.operands)
    if (flow.hashed.size < FILES_MAX) flow.hashed = withEntry(flow.hashed, text, path.text)
}

/**
 * What is known of the program that `text` names. One without a directory may be any file of that name that was made,
 * where no program is known by it.
 */
export function madeProgram(
  flow: Flow,
  text: string,
  path: string | undefined,
  isKnown: boolean,
): Made | undefined {
  if (text.includes('/')) return madeAt(flow, path)
  const hashed = flow.hashed.get(text)
  if (hashed !== undefined) return { kind: 'program', names: namesOf(hashed, undefined) }
  if (isKnown || flow.files.size === 0) return undefined
  for (const [file, made] of flow.files) if (baseName(file) === text) return made
  return undefined
}

/** The file at `word`, where the request has made it. */
export function madeFile(flow: Flow, word: ShellWord, cwd: string | undefined): Made | undefined {
  if (flow.files.size === 0 && flow.trees.length === 0) return undefined
  return madeAt(flow, pathOf(word, cwd))
}

/** `/proc/self/exe` and open files: which program that is depends on who runs it. */
export function isSelf(text: string): boolean {
  if (!text.startsWith('/proc/') && !text.startsWith('/dev/fd/')) return false
  return text.endsWith('/exe') || text.includes('/fd/')
}

/** Standard input, which may be a file that the request has made. */
export function inputOf(
  flow: Flow,
  { redirects, cwd, stdin }: Pick<Maker, 'redirects' | 'cwd' | 'stdin'>,
): Stdin {
  if (redirects.length === 0) return stdin
  const input = redirects.findLast(({ fd, kind }) => fd === 0 && kind === 'read')
  const made = input === undefined ? undefined : madeFile(flow, input.target, cwd)
  if (made === undefined || made.kind === 'program') return stdin
  if (made.kind === 'text')
    return { kind: 'text', word: { text: made.text, isGlob: false, opaque: undefined } }
  return {
    kind: 'pipe',
    output: undefined,
    isDecoded: made.opaque === 'decoded',
    isFetched: made.isFetched ?? false,
  }
}

/** What `cat` puts out of a file that the request has made. */
export function copiedText(
  flow: Flow,
  { names, parsed, cwd }: Pick<Maker, 'names' | 'parsed' | 'cwd'>,
): string | undefined {
  const [file, another] = parsed.operands
  if (names[0] !== 'cat' || file === undefined || another !== undefined) return undefined
  const made = madeFile(flow, file, cwd)
  return made?.kind === 'text' ? made.text : undefined
}

/** The file at `word`: one that was made, or an open one that was given a text (`3<<< text`). */
export function scriptAt(
  flow: Flow,
  word: ShellWord,
  { redirects, cwd }: Pick<Maker, 'redirects' | 'cwd'>,
): Made | undefined {
  const descriptor = ['/dev/fd/', '/proc/self/fd/'].find((start) => word.text.startsWith(start))
  if (descriptor === undefined) return madeFile(flow, word, cwd)
  const fd = Number(word.text.slice(descriptor.length))
  const given = redirects.findLast((redirect) => redirect.fd === fd && redirect.kind === 'text')
  return given === undefined || given.target.opaque !== undefined
    ? { kind: 'hidden', opaque: 'piped' }
    : { kind: 'text', text: given.target.text }
}
