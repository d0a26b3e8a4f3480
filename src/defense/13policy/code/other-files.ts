/**
 * Files that code changes in languages which are not told apart: what opens one to write, by the names of its calls,
 * and places that nobody names but to use them, however that is done.
 * From the references of Java, Kotlin, Scala, Groovy, Clojure, Go, Rust, C, C++, C#, Swift, Zig, Nim, Haskell, OCaml,
 * Erlang, Elixir, Lisp, Scheme, Julia, R, Dart, D, Pascal, Fortran, Ada, COBOL, Forth and Smalltalk.
 * @module
 */
import { addPath, looksAbsolute, mark, nameAt, type Reading, type Value } from './reading.ts'

function set(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/))
}

/** Last parts of names, in small letters, that open what is named behind them to write, or change it. */
const WRITERS: ReadonlySet<string> = set(
  `filewriter fileoutputstream printwriter printstream filehandler newbufferedwriter newoutputstream bufferedwriter
outputstreamwriter ofstream streamwriter binarywriter openwrite openwritesync createtext appendtext creat mknod mkfifo
symlink link mkdir mkdirall mkdirtemp set_permissions setattributes setlastwritetime setposixfilepermissions spit
open_out open_out_bin open_out_gen open-output-file call-with-output-file with-output-to-file open-file-output-port
sink dput dump save forcenewfilenamed newfilenamed filenamed fileout nput fwrite_file hputfile putfile ftruncate
over append tofile create-file png jpeg tiff bmp svg pdf postscript cairo_pdf`,
)

/** The same that open to read or to write, as another word beside the file says. */
const OPENERS: ReadonlySet<string> = set(
  `randomaccessfile filestream fstream openfile openbinaryfile withfile withbinaryfile with-open-file open openfd
newbytechannel filechannel.open openfileabsolute openhandle filehandle file openoptions openasync opensync fopen freopen
assignfile assign tfilestream open-file stream! filesystem.open io_open open64 openat opencolumnfile`,
)

/** The same that copy what stands first to what stands behind. */
const COPIERS: ReadonlySet<string> = set('copy cp copyfile copy_file copytree copyitem copyto copysync')

/** Words that say so: modes, flags, and how streams are called. */
const WRITING_NAME =
  /(?:^|[._])(?:O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)|(?:FileMode\.)?(?:Create|CreateNew|Append|Truncate|OpenOrCreate)|(?:FileAccess\.)?(?:Write|ReadWrite)|WRITE|APPEND|CREATE|CREATE_NEW|TRUNCATE_EXISTING|WriteMode|AppendMode|ReadWriteMode|output|io|append|overwrite|supersede|write|fmReadWrite|fmReadWriteExisting|fmWrite|fmAppend|fmOpenWrite|fmOpenReadWrite|fmCreate|read_write|write_only|forWritingAtPath|forUpdatingAtPath|forWritingTo|out|app|trunc|Out_File|Append_File|Inout_File|w)$/
const WRITING_TEXT =
  /^(?:rw[sd]?|[rb]{0,2}[wax][btx+]{0,3}|[rb]{1,2}\+b?|replace|new|readwrite|write|append|unknown)$/i

/** What stands elsewhere in the code and says of all that it opens that it is written. */
const WRITING_ELSEWHERE =
  /\.(?:write|append|truncate|create|create_new)\(true\)|\b(?:rewrite|ReWrite|Rewrite|REWRITE)\s{0,4}\(|\bopen\s{1,4}(?:output|extend|i-o)\b|\bw\/o\b|\br\/w\b|\bwrite\s{0,4}\(\s{0,4}(?:unit\s{0,4}=\s{0,4})?\d{1,3}\s{0,4},|\bstatus\s{0,4}=\s{0,4}['"]delete/i

/** Words of one call that are looked at. */
const SCAN_TOKENS = 48

/** Where the call whose name stands before `open` ends: with its bracket, or with the line. */
function endOf(reading: Reading, open: number): number {
  const limit = Math.min(reading.tokens.length, open + SCAN_TOKENS)
  const isBracketed = mark(reading, open) === '('
  let depth = 0
  for (let at = open; at < limit; at++) {
    const text = mark(reading, at)
    if (text === '(' || text === '[' || text === '{') depth += 1
    else if (text === ')' || text === ']' || text === '}') {
      depth -= 1
      if (depth < 0 || (isBracketed && depth === 0)) return at
    } else if (!isBracketed && depth === 0 && (text === ';' || text === '\n')) return at
  }
  return limit
}

function isWritten(reading: Reading, from: number, to: number): boolean {
  for (let at = from; at <= to; at++) {
    const token = reading.tokens[at]
    if (token?.kind === 'name' && WRITING_NAME.test(token.text)) return true
    if (token?.kind === 'string' && WRITING_TEXT.test(token.text)) return true
  }
  return false
}

/** Takes down what a call of `name`, with its arguments from `open` on, opens to write. */
export function noteOpened(reading: Reading, name: string, open: number, writesElsewhere: boolean): void {
  const last = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
  const isOpener = OPENERS.has(last)
  if (!isOpener && !WRITERS.has(last) && !COPIERS.has(last)) return
  const end = endOf(reading, open)
  if (isOpener && !writesElsewhere && !isWritten(reading, open, end)) return
  // Forth has the words behind its text.
  const from = last.endsWith('-file') ? open - FORTH_TOKENS : open
  for (let at = COPIERS.has(last) ? commaAfter(reading, open, end) : from; at < end; at++) {
    const value = textAt(reading, at)
    if (value === undefined || !looksAbsolute(value.text)) continue
    reading.used.add(at)
    addPath(reading, value, 'write')
  }
}

/** The text at `at`, or what the name there stands for. */
function textAt({ tokens, values }: Reading, at: number): (Value & { readonly kind: 'text' }) | undefined {
  const token = tokens[at]
  if (token?.kind === 'string') return { kind: 'text', text: token.text.trim(), isOpaque: token.isOpaque }
  const value = token?.kind === 'name' ? values.get(token.text) : undefined
  return value?.kind === 'text' ? value : undefined
}

/** What is copied stands before the first comma. */
function commaAfter(reading: Reading, open: number, end: number): number {
  let depth = 0
  for (let at = open; at < end; at++) {
    const text = mark(reading, at)
    if (text === '(') depth += 1
    else if (text === ')') depth -= 1
    else if (text === ',' && depth <= 1) return at
  }
  return end
}

const FORTH_TOKENS = 5

export function writesWhatItOpens(text: string): boolean {
  return WRITING_ELSEWHERE.test(text)
}

/** Disks, memory, what the machine starts from, and who may do what. */
const GUARDED =
  /^(?:\/dev\/(?:(?:sd|hd|vd|xvd)[a-z]|nvme\d|mmcblk|mtd|k?mem$|port$|disk\/|dm-|mapper\/|md\d|loop\d|ubi|nbd|block\/|watchdog)|\/boot(?:\/|$)|\/etc\/(?:passwd|shadow|gshadow|group|sudoers|cron|systemd\/|init\.d|inittab|rc\.|profile|ld\.so|pam\.d|fstab|udev\/|modprobe\.d|machine-id)|\/var\/spool\/cron|\/(?:usr\/)?lib\/(?:systemd|modules|udev)\/|(?:~|\/root|\/home\/[^/]{1,64})\/\.(?:ssh|bashrc|profile|bash_profile|zshrc|config\/(?:systemd|autostart))|\/proc\/sys(?:rq-trigger|\/))/
/** Names behind which a file stands that is read, looked at, or only told of. */
const READER =
  /read|input|source|from|load|slurp|scan|lines|exist|isfile|isdir|stat|info|^get|print|log|echo|display|puts|write-?line|format|say|equals|contains|starts|open_in|ifstream|include|import|assert|expect|check|cat$|^in$/i

/** A text in the code that names such a place counts as used: read where the name before it says so, else written. */
export function noteGuarded(reading: Reading): void {
  const taken = new Set(
    reading.inner.flatMap((one) => (one.kind === 'path' && one.use !== 'mention' ? one.word.text : [])),
  )
  reading.tokens.forEach(({ kind, text, isOpaque }, index) => {
    if (kind !== 'string' || taken.has(text) || !GUARDED.test(text) || !looksAbsolute(text)) return
    const use = READER.test(nameBefore(reading, index)) ? 'read' : 'write'
    addPath(reading, { kind: 'text', text, isOpaque }, use)
  })
}

const BEFORE_TOKENS = 4

function nameBefore(reading: Reading, index: number): string {
  for (let at = index - 1; at >= 0 && index - at <= BEFORE_TOKENS; at--) {
    const name = nameAt(reading, at)
    if (name !== '' && name !== 'new') return name.slice(name.lastIndexOf('.') + 1)
    if (mark(reading, at) === ';' || mark(reading, at) === '\n') return ''
  }
  return ''
}
