/**
 * Which commands an unauthenticated caller on the device itself is played along with: a closed list of readers, each
 * with the options and operands that only ever look. What is not certainly a harmless read is not here: nothing that
 * writes, sets, starts another program, follows, waits, or reads a device or another process.
 * A program is named bare or in one of the system's directories, so that nobody's own `ls` is run. Operands are paths
 * from `/`, where these commands run, judged as text; that links lead elsewhere is for the confinement to bear.
 * Abbreviated long options are unknown ones. Memory and disk figures are never read: figures.ts makes them.
 * Sources: draft 8.4; the manuals of GNU coreutils, findutils, procps-ng and util-linux.
 * @module
 */

import { isWithin, resolvePath } from '../../base/text/lexical-path.ts'
import { readFigureRequest } from './figure-commands.ts'
import { isHarmlessFind } from './find-command.ts'
import { systemProgram } from './program-name.ts'

/** Arguments and characters of one command; the largest frame before authentication is smaller. */
const ARGUMENTS_MAX = 64
const CHARACTERS_MAX = 4_096

/** What comes after the options: nothing, names of files, short words, or a date's format. */
type Operands = 'none' | 'paths' | 'words' | 'format'
type Reader = {
  /** Short options without a value, one character each. */
  readonly flags: string
  /** Short options with a value, in the same argument or the next. */
  readonly valued?: string
  /** Long options; one that ends in `=` has a value. */
  readonly long?: readonly string[]
  /** `-20` for a number of lines. */
  readonly count?: true
  readonly operands: Operands
}

const LINES: Reader = {
  flags: 'qvz',
  valued: 'nc',
  long: ['lines=', 'bytes=', 'quiet', 'silent', 'verbose', 'zero-terminated'],
  count: true,
  operands: 'paths',
}

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  [
    'cat',
    {
      flags: 'AbeEnstTuv',
      long: [
        'show-all',
        'number-nonblank',
        'show-ends',
        'number',
        'squeeze-blank',
        'show-tabs',
        'show-nonprinting',
      ],
      operands: 'paths',
    },
  ],
  ['head', LINES],
  // Not -f, -F, --follow, --retry, --pid and -s, which wait.
  ['tail', LINES],
  [
    'ls',
    {
      flags: 'aABcCdfFgGhHiklLmnNopqQrRsStuUvxX1Z',
      valued: 'ITw',
      long: [
        ...['all', 'almost-all', 'author', 'escape', 'color', 'color=', 'directory', 'classify', 'file-type'],
        ...['format=', 'full-time', 'group-directories-first', 'no-group', 'human-readable', 'si', 'inode'],
        ...['numeric-uid-gid', 'literal', 'quote-name', 'reverse', 'recursive', 'size', 'sort=', 'time='],
        ...['time-style=', 'dereference', 'context'],
      ],
      operands: 'paths',
    },
  ],
  [
    'stat',
    {
      flags: 'Lft',
      valued: 'c',
      long: ['dereference', 'file-system', 'format=', 'printf=', 'terse'],
      operands: 'paths',
    },
  ],
  [
    'du',
    {
      flags: 'abchHDkLlmPSsx0',
      valued: 'd',
      long: [
        'all',
        'apparent-size',
        'bytes',
        'human-readable',
        'si',
        'max-depth=',
        'summarize',
        'total',
        'one-file-system',
      ],
      operands: 'paths',
    },
  ],
  [
    'wc',
    { flags: 'clmwL', long: ['bytes', 'chars', 'lines', 'words', 'max-line-length'], operands: 'paths' },
  ],
  // Not -C, which writes, nor -m, -f, -s, -z and -Z, which read what is named elsewhere, devices, or start programs.
  [
    'file',
    {
      flags: 'bhiLN',
      long: ['brief', 'dereference', 'no-dereference', 'mime', 'mime-type', 'mime-encoding'],
      operands: 'paths',
    },
  ],
  ['readlink', { flags: 'femnqsvz', operands: 'paths' }],
  [
    'ps',
    {
      flags: 'AadeTfFjlyMLHwcZ',
      valued: 'opuUCgGt',
      long: ['forest', 'no-headers', 'headers', 'format=', 'sort=', 'pid=', 'ppid=', 'user='],
      operands: 'words',
    },
  ],
  // No operands: env starts what it is given. printenv only prints.
  ['env', { flags: '0', long: ['null'], operands: 'none' }],
  ['printenv', { flags: '0', long: ['null'], operands: 'words' }],
  [
    'uname',
    {
      flags: 'asnrvmpio',
      long: [
        'all',
        'kernel-name',
        'nodename',
        'kernel-release',
        'kernel-version',
        'machine',
        'operating-system',
      ],
      operands: 'none',
    },
  ],
  ['arch', { flags: '', operands: 'none' }],
  ['nproc', { flags: '', long: ['all'], operands: 'none' }],
  ['id', { flags: 'agGnruzZ', long: ['group', 'groups', 'name', 'real', 'user', 'zero'], operands: 'words' }],
  ['whoami', { flags: '', operands: 'none' }],
  ['groups', { flags: '', operands: 'words' }],
  ['who', { flags: 'abdHlmpqrsTtuw', operands: 'none' }],
  // An operand would set it.
  [
    'hostname',
    { flags: 'sfiIdA', long: ['short', 'fqdn', 'long', 'ip-address', 'domain'], operands: 'none' },
  ],
  // Not -s, which sets; an operand without `+` would set too.
  [
    'date',
    {
      flags: 'uIR',
      valued: 'dr',
      long: ['utc', 'universal', 'date=', 'iso-8601', 'iso-8601=', 'rfc-3339=', 'rfc-email'],
      operands: 'format',
    },
  ],
  ['uptime', { flags: 'ps', long: ['pretty', 'since'], operands: 'none' }],
  ['pwd', { flags: 'LP', operands: 'none' }],
  ['which', { flags: 'a', operands: 'words' }],
  // With operands it would mount.
  ['mount', { flags: 'l', valued: 't', operands: 'none' }],
  [
    'lsblk',
    {
      flags: 'abdfiJlmnOpPrSt',
      valued: 'o',
      long: ['all', 'bytes', 'fs', 'json', 'list', 'noheadings', 'paths', 'output='],
      operands: 'none',
    },
  ],
])

/** What of /proc tells about the machine and not about a process. Its memory is figures.ts's. */
const PROC_FILES: ReadonlySet<string> = new Set(
  'cmdline cpuinfo devices diskstats filesystems interrupts loadavg modules mounts partitions stat swaps uptime version vmstat'
    .split(' ')
    .map((name) => `/proc/${name}`),
)

/** Letters, digits and what names of users, programs and columns have; no path, no expansion. */
const WORD = /^[A-Za-z0-9_.,:%@+=-]{1,64}$/
const COUNT = /^-\d{1,9}$/
const CONTROL = /\p{Cc}/u

/** True where a path, from `/`, leads to no device, no process and no kernel switch, as its text says. */
export function isHarmlessPath(path: string): boolean {
  const resolved = resolvePath('/', path)
  if (resolved === '/dev/null' || PROC_FILES.has(resolved)) return true
  return !['/dev', '/proc', '/sys'].some((root) => isWithin(root, resolved))
}

function isHarmlessOperand(operand: string, kind: Operands): boolean {
  switch (kind) {
    case 'none':
      return false
    case 'paths':
      return isHarmlessPath(operand)
    case 'words':
      return WORD.test(operand)
    case 'format':
      return operand.startsWith('+')
  }
}

/** How many arguments an option takes, itself included; 0 where it is not one of the reader's. */
function optionLength(argument: string, reader: Reader): number {
  if (argument.startsWith('--')) {
    const end = argument.indexOf('=')
    const name = end < 0 ? argument.slice(2) : argument.slice(2, end + 1)
    const long = reader.long ?? []
    if (long.includes(name)) return 1
    return end < 0 && long.includes(`${name}=`) ? 2 : 0
  }
  if (reader.count && COUNT.test(argument)) return 1
  for (const [index, letter] of [...argument.slice(1)].entries()) {
    if (reader.valued?.includes(letter)) return index + 2 === argument.length ? 2 : 1
    if (!reader.flags.includes(letter)) return 0
  }
  return 1
}

function isHarmless(args: readonly string[], reader: Reader): boolean {
  let isOperand = false
  for (let at = 0; at < args.length; ) {
    const argument = args[at] ?? ''
    if (!isOperand && argument === '--') {
      isOperand = true
      at++
    } else if (!isOperand && argument.length > 1 && argument.startsWith('-')) {
      const length = optionLength(argument, reader)
      if (length === 0 || at + length > args.length) return false
      // Whether a value or another option is nothing to be unsure of; numbers of lines may be negative.
      if (length === 2 && !reader.count && args[at + 1]?.startsWith('-')) return false
      at += length
    } else {
      if (!isHarmlessOperand(argument, reader.operands)) return false
      at++
    }
  }
  return true
}

/** True where `argv` is certainly nothing but a look, as it would run in `/` without stdin. */
export function isDeceivable(argv: readonly string[]): boolean {
  const [program = '', ...args] = argv
  if (argv.length > ARGUMENTS_MAX) return false
  if (argv.reduce((sum, argument) => sum + argument.length, 0) > CHARACTERS_MAX) return false
  if (argv.some((argument) => CONTROL.test(argument))) return false
  const name = systemProgram(program)
  if (name === undefined) return false
  if (readFigureRequest(name, args) !== undefined) return true
  if (name === 'find') return isHarmlessFind(args, isHarmlessPath)
  const reader = READERS.get(name)
  return reader !== undefined && isHarmless(args, reader)
}
