/**
 * What a program for disks does with the disk that it is given: whether these arguments change it, or only look at it.
 * Whatever is not known to look is taken to write.
 * From the manual pages of util-linux, e2fsprogs, cryptsetup, parted, gptfdisk and hdparm.
 * @module
 */
import type { PathUse } from '../effective.ts'
import type { ParsedArguments } from './options.ts'

/** What is done with the disk in the arguments of `name`, which the table of programs has as `use`. */
export function diskUse(name: string, parsed: ParsedArguments, use: PathUse): PathUse {
  // What lies on the disk is put right or made larger, and stays: rules on the programs themselves decide about that.
  if (KEEPERS.has(name)) return 'mention'
  if (changesDisk(name, parsed)) return 'write'
  return use === 'write' && onlyLooks(name, parsed) ? 'read' : use
}

const KEEPERS: ReadonlySet<string> = new Set(
  'e2fsck fsck fsck.ext2 fsck.ext3 fsck.ext4 fsck.vfat fsck.fat fsck.xfs fsck.btrfs dosfsck btrfsck xfs_repair resize2fs tune2fs'.split(
    ' ',
  ),
)

/** `hdparm` shows, unless an option changes. */
function changesDisk(name: string, { options }: ParsedArguments): boolean {
  return name === 'hdparm' && options.some((option) => DISK_CHANGES.some((start) => option.startsWith(start)))
}

const DISK_CHANGES: readonly string[] = Object.freeze([
  ...['--security', '--write', '--make-bad', '--repair', '--trim', '--fwdownload', '--dco', '--yes'],
  ...['--please', '-Y', '-s', '-S', '-y', '-W', '-B', '-M', '-N', '-p', '-X', '-w', '-f', '-F', '-z'],
])

/** Programs that look where they are given options, and no others than these. */
const QUERIES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [
    'fdisk -l --list -x --list-details -s -u -c -o -b -L --output --units --sector-size --color --bytes -lu -ul',
    'sfdisk -l --list -d --dump -J --json -V --verify -F --list-free -s --show-size -x -o --output -q --quiet -T --list-types -g --show-geometry -n --no-act --bytes',
    'sgdisk -p --print -i --info -v --verify -L --list-types -F -f -E -D -P --pretend --display-alignment --first-in-largest --end-of-largest --first-aligned-in-largest',
    'gdisk -l',
    'blkdiscard -h --help -V --version',
  ].map((line) => {
    const [name = '', ...options] = line.split(' ')
    return [name, new Set(options)] as const
  }),
)

/** Programs that look unless they are given one of these options. */
const CHANGES: ReadonlyMap<string, readonly string[]> = new Map([
  ['wipefs', ['-a', '--all', '-o', '--offset']],
  ['badblocks', ['-w']],
  ['debugfs', ['-w', '-z']],
  ['systemd-dissect', ['-m', '-M', '--mount', '--umount', '--copy-to', '--attach', '--detach', '-r']],
])

/** Commands that only look, of programs that take commands as operands: those of the program, by their beginnings. */
const LOOKS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'cryptsetup',
    ['luksDump', 'isLuks', 'luksUUID', 'luksOpen', 'open', 'status', 'benchmark', 'tcryptDump', 'bitlkDump'],
  ],
])

/** Commands of parted that change nothing, and those of their arguments that are words. */
const PARTED_LOOKS: ReadonlySet<string> = new Set(
  'p pr pri prin print u un uni unit align-check h help v version free list devices all opt optimal min minimal s B kB MB GB TB KiB MiB GiB TiB % cyl chs compact'.split(
    ' ',
  ),
)

function isShort(option: string): boolean {
  return option.length === 2 || option.startsWith('--')
}

function onlyLooks(name: string, parsed: ParsedArguments): boolean {
  const { options, operands } = parsed
  if (name === 'parted') return partedLooks(parsed)
  const changes = CHANGES.get(name)
  if (changes !== undefined) {
    const isDry = name === 'wipefs' && options.some((option) => option === '-n' || option === '--no-act')
    // Long options also count by their beginnings.
    const isChange = (option: string) =>
      changes.some((change) => change === option || (option.length > 2 && change.startsWith(option)))
    return isDry || !options.some(isChange)
  }
  const looks = LOOKS.get(name)
  if (looks !== undefined) return looks.includes(operands[0]?.text ?? '')
  const queries = QUERIES.get(name)
  if (queries === undefined || options.length === 0) return false
  // A cluster is there as a whole as well; its letters decide.
  return options.every((option) => queries.has(option) || !isShort(option))
}

/** `parted -l`, or commands that all look. Without a command it reads them from its input. */
function partedLooks({ options, operands }: ParsedArguments): boolean {
  if (options.includes('-l') || options.includes('--list')) return true
  const words = operands
    .slice(1)
    .flatMap(({ text, opaque }) => (opaque === undefined ? text.split(' ') : ['']))
  return words.length > 0 && words.every((word) => PARTED_LOOKS.has(word) || /^[0-9]{1,9}$/.test(word))
}
