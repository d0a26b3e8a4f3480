/**
 * What a program does, by its name: the table that tools, toxic combinations and the guarded places ask. A program may
 * be of several kinds; of some only certain subcommands are.
 * Rules: docs/responses.md, section 1 (tool access, specifics); the manual pages of the programs named.
 * @module
 */
import type { EffectiveCommand } from './13policy/effective.ts'
import { goesBy } from './13policy/programs/names.ts'

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const PROGRAMS = Object.freeze({
  /** They read files or say what is, and write nothing but their output. */
  reader: words(
    'cat head tail less more wc diff diff3 cmp comm stat file md5sum sha1sum sha256sum sha512sum cksum b2sum strings xxd ' +
      'od hexdump nl tac cut paste join fold fmt column expand unexpand sort uniq tr rev jq basename dirname realpath ' +
      'readlink date uname id groups whoami hostname arch nproc pwd echo printf true false test [ seq sleep ps free ' +
      'uptime w who last lscpu lsusb lspci lsblk lsmod lsns lsof vmstat iostat printenv tty locale getconf cal bc expr',
  ),
  lister: words('ls dir vdir find fd tree du df locate which whereis type'),
  searcher: words('grep egrep fgrep zgrep rg ag ack look'),
  writer: words('tee touch mkdir cp mv install ln truncate rmdir'),
  /** Their business is another host. */
  network: words(
    'curl wget http https aria2c axel lynx links w3m fetch ssh scp sftp rsync nc ncat netcat socat telnet ftp lftp tftp ' +
      'ncftp rclone s3cmd aws gsutil mosh rsh rlogin whois',
  ),
  /** They run what they are given, and need what that needs. */
  carrier: words('env nice ionice nohup timeout time stdbuf setsid chrt taskset busybox toybox'),
  /** On a terminal they take commands, and one of those runs a shell. `git` shows what is long with one of them. */
  pager: words('less more git'),
  interpreter: words('python perl ruby node bun deno php lua awk tclsh wish expect guile emacs vim vi ed ex'),
  /** They remove, or change who may do what. */
  changer: words('rm shred unlink chmod chown chgrp setfacl chattr'),
  /** They take a directory with all that lies in it. */
  remover: words('rm rmdir mv shred unlink chmod chown chgrp rsync'),
  /** They see a directory and nothing of what lies in it but names. */
  looker: words('ls dir stat cd pwd test [ realpath readlink dirname basename pushd df'),
})
export type ProgramKind = keyof typeof PROGRAMS

type ByProgram = ReadonlyMap<string, readonly string[]>
const SUBCOMMANDS = Object.freeze({
  reader: new Map([
    [
      'git',
      [
        'status',
        'log',
        'diff',
        'show',
        'blame',
        'shortlog',
        'describe',
        'rev-parse',
        'ls-files',
        'ls-tree',
        'cat-file',
        'grep',
      ],
    ],
  ]),
  /** They bring in what others wrote. */
  fetcher: new Map([
    ['git', ['clone', 'fetch', 'pull']],
    ['npm', ['install', 'i', 'ci']],
    ['pip', ['install', 'download']],
    ['gem', ['install', 'fetch']],
    ['docker', ['pull']],
    ['podman', ['pull']],
  ]),
  sender: new Map([
    ['git', ['push']],
    ['npm', ['publish']],
    ['gem', ['push']],
    ['cargo', ['publish']],
    ['twine', ['upload']],
    ['docker', ['push']],
    ['podman', ['push']],
  ]),
} satisfies Readonly<Record<string, ByProgram>>)
export type SubcommandKind = keyof typeof SUBCOMMANDS

/** Whether the program, by one of its names, is of that kind. */
export function isProgram(kind: ProgramKind, { names }: Pick<EffectiveCommand, 'names'>): boolean {
  return goesBy(names, PROGRAMS[kind])
}

/** Whether its first operand is a subcommand of that kind. */
export function isSubcommand(
  kind: SubcommandKind,
  { names, operands }: Pick<EffectiveCommand, 'names' | 'operands'>,
): boolean {
  const table: ByProgram = SUBCOMMANDS[kind]
  const subcommand = operands[0] ?? ''
  return names.some((name) => table.get(name)?.includes(subcommand) === true)
}
