/**
 * Calls whose value is known from what they are given, and names of places: they join the parts of a path or a text,
 * make a list, or give a directory that is the same on every device.
 * From the references of Python, Node.js, Ruby, Go, Java, R and Julia.
 * @module
 */
import type { Language } from '../unwrap/inner.ts'
import type { Value } from './reading.ts'

/** Calls that give one of the names that they are given, or all of them as one path. */
export const JOINERS: ReadonlySet<string> = new Set(
  'Pathname URL pathToFileURL url.pathToFileURL os.path.join posixpath.join path.join path.resolve path.normalize File.join File.expand_path filepath.Join filepath.Clean Path.Combine os.path.expanduser os.path.abspath os.path.realpath os.path.normpath os.fspath str Path pathlib.Path PurePath pathlib.PurePath pathlib.PosixPath Pathname.new String decodeURI joinpath Base.joinpath expanduser catfile catdir File.Spec.catfile File.Spec.catdir File.Spec.rel2abs file.path path.expand normalizePath Path.join Path.expand filename.join filename:join buildPath buildNormalizedPath build-path FileNameJoin Filename.concat fullfile'.split(
    ' ',
  ),
)
/** Calls that give a list of what they are given, in R, Java, Kotlin and Scala. */
export const LISTERS: ReadonlySet<string> = new Set([
  'c',
  'list',
  'List',
  'List.of',
  'listOf',
  'Arrays.asList',
  'Seq',
])
/** Calls that give one text of those that they are given. */
export const CONCATENATORS: ReadonlySet<string> = new Set(
  'paste0 str_c stringr.str_c strcat string-append concat string.concat String.Concat'.split(' '),
)

const placed = (text: string): Value => Object.freeze({ kind: 'text', text, isOpaque: false })

/** Names, called or not, of places that are the same on every device, or lie there as these do. */
export const PLACES: ReadonlyMap<string, Value> = new Map([
  ...'Path.home pathlib.Path.home os.homedir Dir.home os.UserHomeDir process.env.HOME homedir os.home'
    .split(' ')
    .map((name) => [name, placed('~')] as const),
  ...'os.root os.sep os.path.sep path.sep DIRECTORY_SEPARATOR File.SEPARATOR File.separator'
    .split(' ')
    .map((name) => [name, placed('/')] as const),
  ['sys.executable', placed('/usr/bin/python3')],
  ['process.execPath', placed('/usr/bin/node')],
  ['RbConfig.ruby', placed('/usr/bin/ruby')],
  ['PHP_BINARY', placed('/usr/bin/php')],
])

const PYTHON_PATHS: ReadonlySet<string> = new Set(['Path', 'pathlib.Path', 'PosixPath', 'pathlib.PosixPath'])
/** A path of Java and its kin. */
const PATH_MAKER = /(?:^|\.)(?:File|Directory|Paths?\.(?:of|get|new)|PathBuf\.from|Path)$/

export function makesPath(name: string, language: Language): boolean {
  return (
    PYTHON_PATHS.has(name) ||
    name === 'Pathname.new' ||
    (name === 'Pathname' && language === 'ruby') ||
    (name === 'path' && language === 'perl') ||
    (language === 'other' && PATH_MAKER.test(name))
  )
}
