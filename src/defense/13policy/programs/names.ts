/**
 * The names that a program goes by: as called, as the file it resolves to is called, and its family.
 * Rules: the naming of Debian's alternatives and of versioned interpreters (`python3.11`, `vim.basic`, `mkfs.ext4`).
 * @module
 */
import { baseName } from '../../../base/text/lexical-path.ts'

/** Names of which a version is a part: `python3.11`, `lua5.4`, `php-8.2`, `ksh93`. */
const VERSIONED: ReadonlySet<string> = new Set(
  'python pypy perl ruby irb php php-cgi node nodejs lua luajit tclsh wish expect guile gcc g++ cpp clang clang++ pip gem gpg ksh julia gdb go erl ocaml emacs qemu cargo iptables-legacy sqlite psql R ping ping6'.split(
    ' ',
  ),
)

/** A variant and the program whose arguments it reads. */
const FAMILIES: ReadonlyMap<string, string> = new Map(
  [
    'awk gawk mawk nawk original-awk bwk',
    'vim vi nvim gvim rvim rview view ex vimdiff elvis vile',
    'nc netcat ncat',
    'tar gtar bsdtar star',
    'cpio bsdcpio',
    'watch viddy hwatch',
    'sed gsed ssed',
    'make gmake bmake remake',
    'grep egrep fgrep zgrep rgrep ggrep bzgrep xzgrep zegrep zfgrep',
    'find gfind bfs',
    'fd fdfind',
    'xargs gxargs',
    'node nodejs iojs tsx ts-node ts-node-esm babel-node esno jiti esbuild-register swc-node sucrase-node',
    'python pypy jython micropython',
    'ksh mksh lksh pdksh oksh rksh',
    'bash rbash',
    'tcsh csh',
    'mkfs mke2fs mkdosfs',
    'mysql mariadb',
    'mongo mongosh',
    'redis-cli iredis keydb-cli',
    'less zless pager lesspipe',
    'php php-cgi',
    'gpg gpg2',
    'ruby jruby rbx truffleruby',
    'ssh slogin dbclient',
    'env cross-env env-cmd',
  ].flatMap((line) => {
    const [family = '', ...variants] = line.split(' ')
    return variants.map((variant) => [variant, family] as const)
  }),
)

/** Emulators of one processor that run a program of it: `qemu-arm`, `qemu-aarch64-static`. */
const EMULATED =
  /^qemu-(?:aarch64|alpha|arm|i386|hexagon|hppa|loongarch64|m68k|microblaze|mips|nios2|or1k|ppc|riscv|s390x|sh4|sparc|x86_64|xtensa)[a-z0-9]*(?:-static)?$/

/** Programs of which a name with a suffix is a variant: `vim.tiny`, `nc.openbsd`, `mkfs.ext4`. */
const DOTTED: ReadonlySet<string> = new Set(
  'vim nc mkfs fsck mount umount gcc emacs traceroute ifconfig'.split(' '),
)

function isVersionMark(code: number): boolean {
  return (code >= 48 && code <= 57) || code === 46 || code === 45
}

/** `name` without the version at its end, or itself. */
export function withoutVersion(name: string): string {
  let end = name.length
  while (end > 0 && isVersionMark(name.charCodeAt(end - 1))) end -= 1
  return name.slice(0, end)
}

function addName(names: string[], name: string | undefined): void {
  if (name !== undefined && name !== '' && !names.includes(name)) names.push(name)
}

function addNames(names: string[], name: string): void {
  addName(names, name)
  const bare = withoutVersion(name)
  let family = name
  if (bare !== name && VERSIONED.has(bare)) {
    // `python3.11` is `python3` as well.
    const major = name.slice(bare.length).replace('-', '').split('.', 1)[0] ?? ''
    addName(names, bare + major)
    addName(names, bare)
    family = bare
  }
  const dot = name.indexOf('.')
  if (dot > 0 && DOTTED.has(name.slice(0, dot))) {
    family = name.slice(0, dot)
    addName(names, family)
  }
  if (family.startsWith('ld-') && (family.includes('.so') || family.endsWith('.so'))) addName(names, 'ld.so')
  if (family.startsWith('ld-linux') || family.startsWith('ld-musl') || family === 'ld64.so.2')
    addName(names, 'ld.so')
  if (family.startsWith('busybox')) addName(names, 'busybox')
  if (family.startsWith('qemu-') && EMULATED.test(family)) addName(names, 'qemu-user')
  addName(names, FAMILIES.get(family))
}

const INIT_SCRIPT = /^\/(?:etc|lib)\/(?:init\.d|rc\.d|rc\.d\/init\.d)\/[^/]+$/

/** The programs that are many: which one they are is the name that they are called by. */
const MULTIPLE: ReadonlySet<string> = new Set(['busybox', 'toybox', 'coreutils', 'busybox.static'])

/**
 * Every name of the program `called`, the one that decides how its arguments are read first: that of the file that it
 * resolves to. Where that is a program of many, the name that it is called by is the applet's, and stands first.
 */
export function namesOf(called: string, resolved: string | undefined): readonly string[] {
  // `=rm` is zsh's for where `rm` is, `^rm` what nu takes for a program, and `e:rm` elvish.
  const mark = called.startsWith('=') || called.startsWith('^') ? 1 : called.startsWith('e:') ? 2 : 0
  const own = baseName(called)
  // An array that is made with its one name, which most programs have, takes a third of the room.
  const names = mark > 0 || resolved !== undefined || own === '' ? [] : [own]
  if (mark > 0 && called.length > mark) addNames(names, called.slice(mark))
  const found = resolved === undefined ? undefined : baseName(resolved)
  // One file, and what it does is told by the name alone: as `pidof` it kills nobody.
  const file = found === 'killall5' && own === 'pidof' ? 'pidof' : found
  // What runs is the file: a link to rm is rm, whatever it is called. Of a program of many the name tells which.
  const other = file === own ? undefined : file
  if (other !== undefined && !isOfMany(other)) addNames(names, other)
  addNames(names, own)
  // A script of the start of the system, which takes the verbs of `service`.
  if (called.startsWith('/') && INIT_SCRIPT.test(called)) names.push('init-script')
  if (other !== undefined) addNames(names, other)
  return names
}

function isOfMany(name: string): boolean {
  return MULTIPLE.has(name) || name.startsWith('busybox')
}

/** Whether the program asks for an applet: it is called by the name of the whole. */
export function isMultiple(names: readonly string[]): boolean {
  return names[0] !== undefined && isOfMany(names[0])
}

const SHELLS: ReadonlySet<string> = new Set(
  'sh bash dash rc es sash ash ksh ksh93 mksh zsh fish tcsh csh rbash yash posh hush lksh pdksh oksh rksh rzsh ion murex oil osh bosh msh'.split(
    ' ',
  ),
)

/** Whether one of the names of a program is among these. */
export function goesBy(
  names: readonly string[],
  programs: { readonly has: (name: string) => boolean },
): boolean {
  for (let at = 0; at < names.length; at++) if (programs.has(names[at] ?? '')) return true
  return false
}

export function isShell(names: readonly string[]): boolean {
  return goesBy(names, SHELLS)
}
