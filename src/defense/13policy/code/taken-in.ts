/**
 * Files that code takes in by their name: those that it runs, and those that it puts into an archive.
 * From the documents of the languages named.
 * @module
 */
import type { Language } from '../unwrap/inner.ts'
import { isAddress } from './calls.ts'
import { beneath } from './joins.ts'
import { addCall, addInner, addPath, mark, type Reading, wordOf } from './reading.ts'
import { PLACES } from './value-calls.ts'
import { argumentsOf, closing } from './values.ts'

/** Its own input, as a file. */
const INPUT = /^\/(?:dev\/(?:stdin|fd\/0)|proc\/(?:self|thread-self)\/fd\/0)$/

/** `load FILE` of Ruby and `do FILE` of Perl run a file by its name; whether it was that. */
export function runsFile(reading: Reading, name: string, open: number): boolean {
  const { language, via } = reading
  if (name !== 'load' && name !== 'do' && name !== 'require_relative' && name !== 'autoload') return false
  if (language !== (name === 'do' ? 'perl' : 'ruby')) return false
  const first = argumentsOf(reading, open).list[name === 'autoload' ? 1 : 0]?.value
  if (first?.kind !== 'text' || first.isOpaque) return false
  if ((name === 'require_relative' || name === 'autoload') && !first.text.startsWith('/')) return false
  addCall(reading, 'load:file')
  if (INPUT.test(first.text)) reading.opaque.add('eval')
  addPath(reading, first, 'read')
  addInner(reading, { kind: 'script', word: wordOf(first), language, via })
  return true
}

/** What makes objects of a file, by code that stands in it, and the setting that says so where one does. */
const OBJECT_LOADERS: ReadonlyMap<string, string> = new Map([
  ...'pandas.read_pickle joblib.load dill.load cloudpickle.load jsonpickle.decode shelve.open YAML.unsafe_load YAML.unsafe_load_file Psych.unsafe_load Psych.unsafe_load_file Marshal.load Marshal.restore'
    .split(' ')
    .map((name) => [name, ''] as const),
  ['numpy.load', 'allow_pickle=True'],
  ['torch.load', 'weights_only=False'],
])

/** Takes down the files from which a call makes objects: a file of the project is as trusted as its code is. */
export function noteObjects(reading: Reading, name: string, open: number): void {
  const setting = OBJECT_LOADERS.get(name)
  if (setting === undefined || mark(reading, open) !== '(') return
  const { language, via } = reading
  const given = reading.tokens.slice(open + 1, closing(reading, open))
  if (
    !given
      .map(({ text }) => text)
      .join('')
      .includes(setting)
  )
    return
  for (const { kind, text, isOpaque } of given) {
    if (kind !== 'string' || isOpaque) continue
    if (/^[/~]|^\w{2,8}:/.test(text)) addCall(reading, 'load:file')
    if (isAddress(text)) reading.opaque.add('eval')
    const word = { text, isGlob: false, opaque: undefined }
    addInner(reading, { kind: 'script', word, language, via })
  }
}

/** `Path.home()`: what such a call gives is a path to the methods behind it. */
export function notePlace(reading: Reading, name: string, open: number): void {
  const path = mark(reading, open) === '(' ? PLACES.get(name) : undefined
  if (path !== undefined) reading.results.set(closing(reading, open), { path })
}

/** What the name of a file ends with that a loader is given without it. */
const SUFFIXES: Readonly<Partial<Record<Language, string>>> = Object.freeze({
  javascript: '.js',
  ruby: '.rb',
  lua: '.lua',
})

/** A file that is taken in by its path: the request may have written it. */
export function followFile(reading: Reading, path: string): void {
  const { language, via } = reading
  if (INPUT.test(path)) reading.opaque.add('eval')
  const text = /\.\w{1,4}$/.test(path) ? path : path + (SUFFIXES[language] ?? '')
  addInner(reading, { kind: 'script', word: { text, isGlob: false, opaque: undefined }, language, via })
}

/** `archive.add(PATH)` of Python's tarfile, whatever the archive is called. */
function addsToArchive({ calls }: Reading, name: string): boolean {
  return (name === 'add' || name.endsWith('.add')) && calls.has('import:tarfile')
}

/** The same of a method whose arguments begin with the mark at `open`. */
export function noteAdded(reading: Reading, method: string, open: number): void {
  if (!addsToArchive(reading, method)) return
  for (const { value } of argumentsOf(reading, open).list) {
    addPath(reading, value, 'read')
    // A directory goes in with what lies in it.
    addPath(reading, beneath(value, { kind: 'text', text: '*', isOpaque: false }), 'read')
  }
}
