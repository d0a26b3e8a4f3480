/**
 * Paths that code writes to though no table of calls knows it: the name of the call says so (`FileHandler`,
 * `remove_tree`), a mode stands behind the path (`ZipFile("/x", "w")`), or a setting says what is put there
 * (`outfile: "/x"`).
 * From the references of Python, Node.js, Perl, Ruby and PHP, and of packages that are in wide use.
 * @module
 */
import { soundsLikeSaving, soundsLikeWriting } from './calls.ts'
import { ARGUMENT_TOKENS, addCall, addPath, looksAbsolute, mark, nameAt, type Reading } from './reading.ts'
import { readValue } from './values.ts'

/** Last parts of names, whatever stands before them: what they are given as a path is made, changed or removed. */
const SAYS_MADE =
  /(?:^|\.)(?:\w*(?:FileHandler|Writer)|basicConfig|dictConfig|Workbook|Logger|Tempfile|Tempfile\.create|PStore|XLSX|transports\.File|to[Ff]ile|memmap|mkstemp|mkdtemp|NamedTemporaryFile|TemporaryDirectory|tempfile|tempdir|tempnam|mktmpdir|mbox|Maildir|rmtree\w*|remove_\w+|removeSync|delete_(?:dir|file|tree)\w*|emptyDir\w*|(?:write|output|append)File\w*|spew\w*|mirror|getstore|DumpFile|error_log|asXML|saveXML|openU[Rr][Ii]|copy_(?:file|entry|into)|move_into|image(?:png|jpe?g|gif|webp|avif|w?bmp|gd2?)|sys\.(?:writeFile|deleteFile|createDirectory)|pino|pino\.destination|venv\.create|YAML\.Store|loguru\.logger\.add)(?:\.(?:new|open))?$/

/** A mode by which a file is written: `w`, `a+`, `xb`, `r+`, `w:gz`. */
const WRITING_MODE = /^(?:[wax]|[rwax][bt]?\+)[bt+|]{0,2}(?::\w{0,4})?$/

/** Methods whose second argument is a text like any other, and those of routes, whose first is no file. */
const ON_TEXTS =
  /(?:^|\.)(?:replace\w*|re\.\w+|g?sub|split|tr|translate|count|join|index|find|print\w*|puts|get|post|put|patch|delete|head|options|all|use|route|add_\w+)$/

/** Names of settings that say where something is put. */
const OUTPUTS: ReadonlySet<string> = new Set(
  'outfile outdir outFile outDir outputFile outputDir outputPath output_file output_dir output_path download_dir cfile dst dest destination target_dir save_path savePath save_dir log_file logFile logfile exdir destfile extract_dir extract_path out err stdout stderr'.split(
    ' ',
  ),
)

/** Takes down what a call writes that no other table knows, with its arguments behind the mark or name at `open`. */
export function noteWritten(reading: Reading, name: string, open: number): void {
  const isNamed =
    soundsLikeWriting(name, reading.language) ||
    soundsLikeSaving(name) ||
    SAYS_MADE.test(name) ||
    (name === 'write' && isTree(reading))
  if (isNamed) writeNamed(reading, open)
  else if (hasWritingMode(reading, open) && !ON_TEXTS.test(name)) {
    addCall(reading, 'open:w')
    writeAt(reading, open + 1)
  }
}

/** Whether what is written by its method may be a document, which is given the path of its file. */
function isTree({ modules }: Reading): boolean {
  return modules.has('xml') || modules.has('lxml')
}

/** Whether behind a path at `open` a mode stands by which it is written. */
function hasWritingMode(reading: Reading, open: number): boolean {
  if (reading.tokens[open + 1]?.kind !== 'string') return false
  const separator = mark(reading, open + 2)
  if (separator !== ',' && separator !== '=>') return false
  const at = nameAt(reading, open + 3) === 'mode' ? open + 5 : open + 3
  const mode = reading.tokens[at]
  return mode?.kind === 'string' && WRITING_MODE.test(mode.text)
}

function writeAt(reading: Reading, at: number): void {
  const token = reading.tokens[at]
  if (token?.kind !== 'string' || (token.text !== '/' && !looksAbsolute(token.text))) return
  reading.used.add(at)
  addPath(reading, { kind: 'text', text: token.text, isOpaque: token.isOpaque }, 'write')
}

/** `filepath.Join("/", "x")`, `"/" / "x"`: what is put together at `at`. */
function writeJoined(reading: Reading, at: number): void {
  const before = mark(reading, at - 1)
  if ((before !== '(' && before !== ',') || reading.language !== 'other') return
  const { value, next } = readValue(reading, at)
  if (next > at + 1 && value.kind === 'text' && value.text.startsWith('/')) addPath(reading, value, 'write')
}

/** The paths among the arguments, also in lists and settings, but not those of calls among them. */
function writeNamed(reading: Reading, open: number): void {
  const isBracketed = mark(reading, open) === '('
  const limit = Math.min(reading.tokens.length, open + ARGUMENT_TOKENS)
  let depth = 0
  /** Of a call among the arguments, how deep it stands. */
  let inner = Number.POSITIVE_INFINITY
  for (let at = open + 1; at < limit; at++) {
    const text = mark(reading, at)
    if (text === '(' || text === '[' || text === '{') {
      if (text === '(' && reading.tokens[at - 1]?.kind === 'name') inner = Math.min(inner, depth)
      depth += 1
    } else if (text === ')' || text === ']' || text === '}') {
      depth -= 1
      if (depth < 0) return
      if (depth <= inner) inner = Number.POSITIVE_INFINITY
    } else if (!isBracketed && depth === 0 && (text === ';' || text === '\n')) return
    else if (depth <= inner) {
      writeAt(reading, at)
      writeJoined(reading, at)
    }
  }
}

/** Whether the text at `index` is given to a setting that says where something is put. */
export function isOutput(reading: Reading, index: number): boolean {
  if (reading.language === 'php' && mark(reading, index - 1) === ',') {
    // `ini_set("error_log", "/x")`, `["file", "/x", "w"]`
    const before = reading.tokens[index - 2]?.text
    const mode = reading.tokens[index + 2]?.text ?? ''
    if (nameAt(reading, index - 4) === 'ini_set' || (before === 'file' && /^[waxc]/.test(mode))) return true
  }
  // `out: ["/x", "w"]`
  if (mark(reading, index - 1) === '[') index -= 1
  const joint = mark(reading, index - 1)
  if (joint !== '=' && joint !== ':' && joint !== '=>') return false
  const key = reading.tokens[index - 2]
  if (key === undefined || !OUTPUTS.has(key.text)) return false
  return (
    ['(', ',', '{', '\n', ':'].includes(mark(reading, index - 3)) &&
    (joint !== '=' || mark(reading, index - 3) !== '\n')
  )
}
