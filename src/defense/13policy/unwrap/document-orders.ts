/**
 * Commands and changes of files that stand in a document of no language that is read: the settings, recipes and
 * descriptions by which tools are told what to do. Only what clearly does something is taken out of it.
 * From the documentation of the tools that project-files.ts names.
 * @module
 */
import { argv, type Inner, literal, PROJECT, shell } from './inner.ts'

/** Words that begin a command which does harm; what else stands in a recipe is not guessed. */
const ORDER =
  /(?:^|[\s:=[({"'`,;&|@!%-])((?:(?:sudo|doas|rm|dd|mkfs[\w.]*|shred|wipefs|curl|wget|nc|ncat|socat|chmod|chown|mv|cp|ln|tee|cat|head|tail|base64|xxd|find|tar|rsync|echo|printf|pkill|killall|systemctl|iptables|nft|umount|crontab|scp|truncate|userdel|groupdel|deluser|chpasswd|blkdiscard|swapoff|fdisk|sfdisk|sgdisk|parted|lvremove|vgremove|pvremove|cryptsetup|mdadm|zpool|zfs|ifconfig|ufw|nmcli|chattr|setcap|setfacl|kexec|sysctl|flashrom|fw_setenv|flash_erase|gpioset|i2cset|cansend|insmod|rmmod|modprobe|useradd|usermod|passwd|(?:sh|bash|dash|zsh|python3?)[\s"',]+-c|(?:perl|ruby|node)[\s"',]+-e)[\s"',][^\n]{0,1024}|(?:reboot|poweroff|halt|shutdown)(?=["'\s,)\]}]|$)))/gm

/** Commands of one text; what people write has some dozens. */
export const ORDERS_MAX = 128

/** The text that an interpreter is given stands in quotes of its own; that of a shell is a command itself. */
const CODE_ORDER = /^(?:python3?|perl|ruby|node)\s+-[ce]\s/
const SHELL_ORDER = /^(?:sh|bash|dash|zsh)[\s"',]+-c[\s"',]+/

/** What ends a list of texts. */
const LIST_END = /["'`]\s{0,64}[\])}]/

/** An order that begins behind a quote ends with the text, or with the list of which it is the first item. */
function withinQuotes(order: string, before: string): string {
  if (before !== '"' && before !== "'" && before !== '`') return order
  const end = order.indexOf(before)
  if (end < 0) return order
  const isList = !/\s/.test(order.slice(0, end))
  const last = isList ? order.search(LIST_END) : end
  return last < 0 ? order : order.slice(0, last)
}

function commandOf(order: string): string {
  if (CODE_ORDER.test(order)) return order
  const from = SHELL_ORDER.exec(order)?.[0].length ?? 0
  // As the items of a list it is an argv. A mark with a word behind it is a redirection, and no end of an element.
  return order
    .slice(from)
    .replaceAll(/["'`,()[\]{}]+|<+|>+(?!>|[&|]?\s{0,4}["']?[\w/~.$])/g, ' ')
    .trim()
}

/** Marks of a document around its words: `<executable>rm</executable><argument>-rf</argument>`. */
const TAG = /<\/?[A-Za-z][\w.:-]{0,64}>/g

/** The commands in a document that clearly do something. */
export function ordersOf(document: string): readonly Inner[] {
  // A quote within a text: `"sh -c \\"cmd\\""`.
  const bare = document.includes('\\"') ? document.replaceAll('\\"', "'") : document
  const text = bare.includes('</') ? bare.replaceAll(TAG, ' ') : bare
  const orders: Inner[] = []
  const search = new RegExp(ORDER)
  for (let found = search.exec(text); found !== null; found = search.exec(text)) {
    if (orders.length >= ORDERS_MAX) return [...orders, { kind: 'opaque', opaque: 'limit' }]
    const start = search.lastIndex - (found[1] ?? '').length
    const order = withinQuotes(found[1] ?? '', text.charAt(start - 1))
    // Others may stand in the same line.
    search.lastIndex = start + order.length
    orders.push(shell(literal(commandOf(order)), PROJECT))
  }
  return orders
}

/** `file(WRITE "/x" ...)` of CMake: what is done with files. */
const FILE_ORDER =
  /\b(?:file|configure_file)\s{0,8}\(\s{0,8}(READ|STRINGS|UPLOAD|GLOB|GENERATE|INSTALL|MAKE_DIRECTORY|COPY_FILE|COPY|WRITE|APPEND|REMOVE|REMOVE_RECURSE|RENAME|DOWNLOAD|CREATE_LINK|TOUCH|CHMOD)\s([^)]{0,4096})\)/g
/** `configure_file(x /x)` */
const CONFIGURED = /\bconfigure_file\s{0,8}\(\s{0,8}[^\s)]{1,512}\s{1,8}["']?((?:\/|~\/)[^\s"')]{1,512})/g
const READING_ORDERS: ReadonlySet<string> = new Set(['READ', 'STRINGS', 'GLOB', 'UPLOAD'])

/** `<delete dir="/x"/>` of Ant: what is done with files. */
const ELEMENT_ORDER =
  /<(?:delete|copy|move|touch|mkdir|chmod|chown|echo|get|replace|unzip|untar|symlink)\s[^>]{0,512}?["'](\/[^"']{1,512})["']/g

/** The files that a document has changed, and the programs in places of its settings. */
export function fileOrdersOf(text: string): readonly Inner[] {
  const elements = [...text.matchAll(ELEMENT_ORDER)]
    .slice(0, ORDERS_MAX)
    .map(([, path = '']): Inner => ({ kind: 'path', word: literal(path), use: 'write' }))
  const changed = [...text.matchAll(CHANGE), ...text.matchAll(CHANGED), ...text.matchAll(CONFIGURED)]
    .slice(0, ORDERS_MAX)
    .map(([, path = '']): Inner => ({ kind: 'path', word: literal(path), use: 'write' }))
  const programs = [...text.matchAll(NAMED_PROGRAM)]
    .slice(0, ORDERS_MAX)
    .flatMap(([, path = '']) => argv([literal(path)], PROJECT))
  return [...elements, ...changed, ...programs, ...calledOrdersOf(text), ...takenIn(text)]
}

/** `new File("/x").deleteDir()` */
const CHANGED =
  /["']((?:\/|~\/)[^"'\n]{1,512})["']\s{0,4}\)\s{0,4}\.\s{0,4}(?:delete|remove|unlink|rmtree|rmdir|write|append|truncate|set)/gi

/** `Remove Directory    /x`, `IO.delete(file("/x"))`, `<RemoveDir Directories="/x"/>`, `\\openout1=/x`. */
const CHANGE =
  /(?:\b|[a-z_])(?:remove|delete|erase|wipe|purge|truncate|unlink|rmtree|rmdir|rm_rf|overwrite|write|append|openout|create|touch|move|rename|save|spit|destination|todir|target :=|(?:cache|work|temp|build|out|output|target|dest|dist|log|install|clean|data)[-_]?(?:dir|path|files?|targets)|basetemp|directory(?=>))\w{0,24}[^\n/~]{0,96}?["'\s(=:>]((?:\/|~\/)[^\s"'`,;)<>\]}]{1,512})/gi

/** The files that a text of a few words changes: only one in quotes or brackets is not just spoken of. */
export function changesIn(text: string): readonly Inner[] {
  return [...text.matchAll(CHANGE)]
    .filter(([whole, path = '']) => /["'(]/.test(whole.charAt(whole.length - path.length - 1)))
    .concat([...text.matchAll(CHANGED)])
    .slice(0, ORDERS_MAX)
    .map(([, path = '']): Inner => ({ kind: 'path', word: literal(path), use: 'write' }))
}

/** `rustc-wrapper = "/tmp/x"`: a program of a place where anybody writes. */
const NAMED_PROGRAM =
  /(?:(?:wrapper|runner|linker|rustc|shell|yarnPath|preload|compiler|launcher|interpreter|plugins?|require|executable|editor|pager|hookspath|command|program|agent|agentpath|agentlib|fuse-ld|\bpath|^(?:c|cpp|ar|ld|cc|cxx|strip))["']?\s{0,4}[=:]|=>)\s{0,4}\[?\s{0,4}["']?((?:\/tmp|\/var\/tmp|\/dev\/shm)(?:\/[^\s"',\]]{0,256}|(?=["'\s\]])))/gim

/** `import "/tmp/x.just"`, `apply from: "https://x"`, `includes:` with a file: what a document takes in from where anybody writes. */
const TAKEN_IN =
  /(?:\b(?:imports?|includes?|extends|apply from|load|taskfile|inherit|subninja|project\()|<import)\b[^\n/]{0,64}(?:\n[ \t]{1,16}[\w.-]{1,64}:[ \t]{0,4}){0,2}["']?((?:\/tmp|\/var\/tmp|\/dev\/shm)\/[^\s"',\]]{1,256}|https?:\/\/[^\s"',\]]{1,256})/gi

/** Files and addresses from which a document takes orders: a file is a program of that place, an address is not known. */
function takenIn(text: string): readonly Inner[] {
  return [...text.matchAll(TAKEN_IN)]
    .slice(0, ORDERS_MAX)
    .flatMap(([whole, place = '']): readonly Inner[] => {
      if (place.startsWith('/')) return argv([literal(place)], PROJECT)
      return REMOTE.test(whole) ? [{ kind: 'opaque', opaque: 'piped' }] : []
    })
}
/** Words behind which tools fetch what they run. */
const REMOTE = /^(?:apply from|includes:|taskfile)/i

/** `set(NAME value)`, `NAME := value`, `<property name="NAME" value="value"/>`: settings of the document itself. */
const SETTING =
  /(?:^[ \t]{0,16}(?:set|foreach)\([ \t]{0,8}([A-Za-z_]\w{0,63})[ \t]{1,8}|(?:^[ \t]{0,16}(?:(?:export|let|var|val|def|my|local)[ \t])?|[{,][ \t]{0,4}|[ \t](?=\w{1,64}=["']\/))["']?\$?([A-Za-z_][\w.-]{0,63})["']?[ \t]{0,8}(?:[:?]?=|:)|name=["']([\w.-]{1,64})["'][ \t]{1,8}(?:value|location)=|<([\w.-]{1,64})>)[ \t]{0,8}["']?((?![ \t{])[^\n"'`)<>]{1,256})/gm
const USED =
  /\$\{([\w.-]{1,64})\}|\$\(([\w.-]{1,64})\)|\{\{\s{0,4}\.?([\w.-]{1,64})\s{0,4}\}\}|\$([A-Za-z_]\w{0,63})|%\(([\w.-]{1,64})\)s|@(\w{1,64})@/g
const HOME = '$ENV{HOME}'
/** Settings of one document, and how long it becomes by them. */
const SETTINGS_MAX = 256
const GROWN_MAX = 65_536

/** `string(CONCAT x a b)`, `list(APPEND x a)` of CMake: settings that are made of texts. */
const MADE_SETTING =
  /\b(string|list)\s{0,8}\(\s{0,8}(CONCAT|APPEND|PREPEND|JOIN|ASCII|REPLACE|REVERSE|SUBSTRING|TOLOWER)\s{1,8}([^()]{1,1024})\)/g
const MADE_WORD = /"([^"]*)"|([^\s"]+)/g

type MakeSetting = (given: readonly string[], before: string) => string

/** Where among the words the name of the setting stands, counted from the end where below zero, and what it becomes of the others. */
const MADE: ReadonlyMap<string, readonly [number, MakeSetting]> = new Map<
  string,
  readonly [number, MakeSetting]
>([
  ['string CONCAT', [0, (given) => given.join('')]],
  ['string APPEND', [0, (given, before) => before + given.join('')]],
  ['string PREPEND', [0, (given, before) => given.join('') + before]],
  ['string JOIN', [1, ([glue = '', ...given]) => given.join(glue)]],
  ['string ASCII', [-1, (given) => given.map((code) => String.fromCharCode(Number(code))).join('')]],
  ['string REPLACE', [2, ([from = '', to = '', ...given]) => given.join('').replaceAll(from, to)]],
  ['string REVERSE', [-1, ([text = '']) => [...text].reverse().join('')]],
  ['string TOLOWER', [-1, ([text = '']) => text.toLowerCase()]],
  ['string SUBSTRING', [-1, ([text = '', from, length]) => partOfText(text, Number(from), Number(length))]],
  ['list APPEND', [0, (given, before) => [before, ...given].join(' ').trim()]],
  ['list PREPEND', [0, (given, before) => [...given, before].join(' ').trim()]],
])

function partOfText(text: string, from: number, length: number): string {
  return length < 0 ? text.slice(from) : text.slice(from, from + length)
}

/** Adds to the settings those that the document makes of texts. */
function addMade(text: string, settings: Map<string, string>, put: (from: string) => string): void {
  for (const [, kind, order, words = ''] of text.matchAll(MADE_SETTING)) {
    const [place, make] = MADE.get(`${kind} ${order}`) ?? []
    if (place === undefined || make === undefined || settings.size >= SETTINGS_MAX) continue
    const given = [...words.matchAll(MADE_WORD)].map(([, quoted, bare]) => put(quoted ?? bare ?? ''))
    const [name = ''] = given.splice(place, 1)
    settings.set(name, make(given, settings.get(name) ?? '').slice(0, TEXT_MAX))
  }
}

/** A setting that is made of texts. */
const TEXT_MAX = 4_096

/** The document with its own settings put in where it uses them. */
export function withSettings(text: string): string {
  if (!/[$%@]|\{\{/.test(text) || text.length > GROWN_MAX) return text
  const settings = new Map<string, string>()
  for (const [, set, line, element, tag, value = ''] of text.matchAll(SETTING)) {
    if (settings.size >= SETTINGS_MAX) break
    const given = value.trim().replace(/[}\],]{1,8}$/, '')
    // `foreach(x IN LISTS list)`
    const listed =
      set === undefined
        ? given
        : given.replace(/^IN (?:ITEMS |LISTS (\w+))/, (_, name) => (name === undefined ? '' : `\${${name}}`))
    settings.set(set ?? line ?? element ?? tag ?? '', listed)
  }
  const put = (from: string) =>
    from.replaceAll(HOME, '~').replaceAll(USED, (whole, ...names) => {
      const name = names.slice(0, USES).find((found) => found !== undefined)
      return settings.get(String(name)) ?? whole
    })
  if (text.includes('string') || text.includes('list')) addMade(text, settings, put)
  // One of a setting within another.
  const once = put(text)
  const twice = once.length > GROWN_MAX ? once : put(once)
  return twice.length > GROWN_MAX ? text : twice
}

/** Ways to use a setting in `USED`. */
const USES = 6

function calledOrdersOf(text: string): readonly Inner[] {
  return [...text.matchAll(FILE_ORDER)].slice(0, ORDERS_MAX).flatMap(([, verb = '', given = '']) =>
    given
      .split(/[\s"]+/, ORDERS_MAX)
      .filter((word) => /^(?:\/|~\/|\.\.\/)/.test(word))
      .map(
        (word): Inner => ({
          kind: 'path',
          word: literal(word),
          use: READING_ORDERS.has(verb) ? 'read' : 'write',
        }),
      ),
  )
}
