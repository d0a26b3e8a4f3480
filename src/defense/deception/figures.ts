/**
 * False figures of disk and memory, as df, free and /proc/meminfo would print those of a machine that does not exist.
 * The machine is drawn once, so that who asks twice, or asks two commands, hears the same story; what is in use moves
 * a little from one answer to the next. Columns add up: used + available = size, used + free + cached = total, and
 * percentages fit. Nothing is read from the device, and nothing of it can be told from these.
 * Sources: draft 8.4; df(1), free(1), proc_meminfo(5) for the forms.
 * @module
 */

import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import type { DiskUnit, FigureRequest, MemoryUnit } from './figure-commands.ts'
import { readFigureRequest } from './figure-commands.ts'
import { systemProgram } from './program-name.ts'

const KIB_PER_GIB = 1_048_576
const MEMORY_GIB: readonly number[] = [1, 2, 4, 8, 16]
const DISK_GIB: readonly number[] = [14, 29, 58, 117, 234]
const ROOT_DEVICES: readonly string[] = ['/dev/mmcblk0p2', '/dev/sda2', '/dev/nvme0n1p2', '/dev/vda1']
/** What is in use moves by up to this part of the whole between answers. */
const DRIFT_PERMILLE = 4

/** All in KiB. */
type Machine = {
  readonly memory: number
  readonly swap: number
  readonly rootDevice: string
  readonly disk: number
  readonly boot: number
  readonly diskUsed: number
  readonly memoryUsed: number
  readonly cached: number
}
type Draw = (below: number) => number
type Disk = {
  readonly device: string
  readonly type: string
  readonly size: number
  readonly used: number
  readonly mount: string
}
type Memory = {
  readonly total: number
  readonly used: number
  readonly free: number
  readonly shared: number
  readonly buffers: number
  readonly cached: number
  readonly reclaimable: number
  readonly available: number
  readonly swap: number
  readonly swapUsed: number
}

export type Figures = {
  /** What the command prints, or undefined where it tells no figures. */
  answer(argv: readonly string[]): Uint8Array | undefined
}

const part = (whole: number, permille: number): number => Math.floor((whole * permille) / 1000)

function drawMachine(draw: Draw): Machine {
  const pick = <T>(list: readonly T[], fallback: T): T => list[draw(list.length)] ?? fallback
  const memory = part(pick(MEMORY_GIB, 4) * KIB_PER_GIB, 930 + draw(50)) - draw(4_096)
  const disk = part(pick(DISK_GIB, 58) * KIB_PER_GIB, 970 + draw(30)) - draw(65_536)
  return {
    memory,
    swap: draw(2) === 0 ? 0 : part(memory, 500 + draw(500)),
    rootDevice: pick(ROOT_DEVICES, '/dev/sda2'),
    disk,
    boot: 258_095 + draw(2) * 264_192,
    diskUsed: part(disk, 180 + draw(600)),
    memoryUsed: part(memory, 150 + draw(400)),
    cached: part(memory, 120 + draw(200)),
  }
}

function disksOf(machine: Machine, draw: Draw): Disk[] {
  const { memory, disk, boot, diskUsed, rootDevice } = machine
  const temporary = part(memory, 100)
  return [
    { device: 'udev', type: 'devtmpfs', size: part(memory, 480), used: 0, mount: '/dev' },
    { device: 'tmpfs', type: 'tmpfs', size: temporary, used: 900 + draw(700), mount: '/run' },
    {
      device: rootDevice,
      type: 'ext4',
      size: disk,
      used: diskUsed + draw(part(disk, DRIFT_PERMILLE)),
      mount: '/',
    },
    { device: 'tmpfs', type: 'tmpfs', size: part(memory, 500), used: 0, mount: '/dev/shm' },
    { device: 'tmpfs', type: 'tmpfs', size: 5_120, used: 4 * draw(3), mount: '/run/lock' },
    {
      device: rootDevice.replace(/\d$/, (digit) => String(3 - Number(digit))),
      type: 'vfat',
      size: boot,
      used: part(boot, 220),
      mount: '/boot/firmware',
    },
  ]
}

function memoryOf(machine: Machine, draw: Draw): Memory {
  const { memory: total, swap } = machine
  const drift = part(total, DRIFT_PERMILLE)
  const used = machine.memoryUsed + draw(drift)
  const all = machine.cached + draw(drift)
  const buffers = part(all, 60)
  const reclaimable = part(all, 110)
  const free = total - used - all
  const shared = part(total, 4) + draw(2_048)
  return {
    total,
    used,
    free,
    shared,
    buffers,
    reclaimable,
    cached: all - buffers - reclaimable,
    available: free + part(all, 880) - shared,
    swap,
    swapUsed: part(swap, 30),
  }
}

const SUFFIXES = ['', 'K', 'M', 'G', 'T'] as const

/** As df -h: rounded up, one decimal below ten, `0` for nothing. */
function diskText(kib: number, unit: DiskUnit): string {
  if (unit === 'kibi') return String(kib)
  if (unit === 'mebi') return String(Math.ceil(kib / 1024))
  if (kib === 0) return '0'
  const step = unit === 'si' ? 1000 : 1024
  let value = kib * 1024
  let power = 0
  while (value >= step && power < SUFFIXES.length - 1) {
    value /= step
    power++
  }
  const text = value < 9.95 && power > 0 ? (Math.ceil(value * 10) / 10).toFixed(1) : String(Math.ceil(value))
  return `${text}${unit === 'si' && power === 1 ? 'k' : SUFFIXES[power]}`
}

/** As free: cut off; with -h one decimal below ten, and at most three digits before it. */
function memoryText(kib: number, unit: MemoryUnit): string {
  switch (unit) {
    case 'bytes':
      return String(kib * 1024)
    case 'kibi':
      return String(kib)
    case 'mebi':
      return String(Math.floor(kib / 1024))
    case 'gibi':
      return String(Math.floor(kib / KIB_PER_GIB))
    case 'human': {
      if (kib === 0) return '0B'
      let value = kib
      let power = 1
      while (value >= 1000 && power < SUFFIXES.length - 1) {
        value /= 1024
        power++
      }
      return `${value < 9.95 ? value.toFixed(1) : String(Math.floor(value))}${SUFFIXES[power]}i`
    }
  }
}

/** Columns as wide as their widest cell or `minimum`; texts to the left, numbers to the right. */
function table(
  rows: readonly (readonly string[])[],
  minimums: readonly number[],
  left: readonly boolean[],
): string {
  const last = minimums.length - 1
  const widths = minimums.map((minimum, column) =>
    Math.max(minimum, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => {
        if (column === last) return cell
        const width = widths[column] ?? 0
        return left[column] ? cell.padEnd(width) : cell.padStart(width)
      })
      .join(' ')
  return `${rows.map(line).join('\n')}\n`
}

function disksText(machine: Machine, request: FigureRequest & { kind: 'disks' }, draw: Draw): string {
  const { unit, hasType, isPortable, isRootOnly } = request
  const isHuman = unit === 'human' || unit === 'si'
  const size = isHuman ? 'Size' : `${unit === 'mebi' ? '1M' : isPortable ? '1024' : '1K'}-blocks`
  const available = isHuman && !isPortable ? 'Avail' : 'Available'
  const type = (text: string): string[] => (hasType ? [text] : [])
  const head = [
    'Filesystem',
    ...type('Type'),
    size,
    'Used',
    available,
    isPortable ? 'Capacity' : 'Use%',
    'Mounted on',
  ]
  const rows = disksOf(machine, draw)
    .filter((disk) => !isRootOnly || disk.mount === '/')
    .map((disk) => [
      disk.device,
      ...type(disk.type),
      diskText(disk.size, unit),
      diskText(disk.used, unit),
      diskText(disk.size - disk.used, unit),
      `${Math.ceil((disk.used * 100) / disk.size)}%`,
      disk.mount,
    ])
  const minimums = [14, ...(hasType ? [4] : []), 5, 5, 5, 4, 0]
  return table([head, ...rows], minimums, [true, hasType])
}

function memoryTable(memory: Memory, request: FigureRequest & { kind: 'memory' }): string {
  const { unit, isWide, hasTotal } = request
  const { total, used, free, shared, buffers, available, swap, swapUsed } = memory
  const cache = memory.cached + memory.reclaimable
  const columns = isWide
    ? ['total', 'used', 'free', 'shared', 'buffers', 'cache', 'available']
    : ['total', 'used', 'free', 'shared', 'buff/cache', 'available']
  const line = (label: string, cells: readonly string[]): string =>
    `${label.padEnd(8)}${cells.map((cell) => cell.padStart(12)).join('')}\n`
  const numbers = (label: string, values: readonly number[]): string =>
    line(
      label,
      values.map((value) => memoryText(value, unit)),
    )
  return (
    line('', columns) +
    numbers('Mem:', [
      total,
      used,
      free,
      shared,
      ...(isWide ? [buffers, cache] : [buffers + cache]),
      available,
    ]) +
    numbers('Swap:', [swap, swapUsed, swap - swapUsed]) +
    (hasTotal ? numbers('Total:', [total + swap, used + swapUsed, free + swap - swapUsed]) : '')
  )
}

function meminfoLines(memory: Memory): string[] {
  const { total, free, available, buffers, cached, reclaimable, shared, swap, swapUsed, used } = memory
  const anonymous = part(used, 610)
  const mapped = part(cached, 320)
  const unreclaimable = part(used, 70)
  const activeFile = part(cached - shared, 450)
  const activeAnonymous = part(anonymous, 80)
  const entries: readonly (readonly [name: string, kib: number])[] = [
    ['MemTotal', total],
    ['MemFree', free],
    ['MemAvailable', available],
    ['Buffers', buffers],
    ['Cached', cached],
    ['SwapCached', part(swapUsed, 40)],
    ['Active', activeFile + activeAnonymous],
    ['Inactive', cached - shared - activeFile + anonymous - activeAnonymous],
    ['Active(anon)', activeAnonymous],
    ['Inactive(anon)', anonymous - activeAnonymous],
    ['Active(file)', activeFile],
    ['Inactive(file)', cached - shared - activeFile],
    ['Unevictable', 0],
    ['Mlocked', 0],
    ['SwapTotal', swap],
    ['SwapFree', swap - swapUsed],
    ['Dirty', 4 * (shared % 97)],
    ['Writeback', 0],
    ['AnonPages', anonymous],
    ['Mapped', mapped],
    ['Shmem', shared],
    ['KReclaimable', reclaimable],
    ['Slab', reclaimable + unreclaimable],
    ['SReclaimable', reclaimable],
    ['SUnreclaim', unreclaimable],
    ['KernelStack', 16 * (180 + (shared % 211))],
    ['PageTables', part(anonymous, 21)],
    ['CommitLimit', swap + Math.floor(total / 2)],
    ['Committed_AS', part(anonymous, 2_900)],
    ['VmallocTotal', 34_359_738_367],
    ['VmallocUsed', part(used, 28)],
    ['VmallocChunk', 0],
    ['Percpu', 1_136],
  ]
  return entries.map(([name, kib]) => `${`${name}:`.padEnd(16)}${String(kib).padStart(8)} kB`)
}

/** `randomBytes` gives that many bytes of a CSPRNG. */
export function createFigures(randomBytes: (count: number) => Uint8Array): Figures {
  const draw: Draw = (below) => {
    const [a = 0, b = 0, c = 0, d = 0] = randomBytes(4)
    return Math.floor(((((a * 256 + b) * 256 + c) * 256 + d) * below) / 2 ** 32)
  }
  let machine: Machine | undefined

  return {
    answer(argv) {
      const [program = '', ...args] = argv
      const name = systemProgram(program)
      const request = name === undefined ? undefined : readFigureRequest(name, args)
      if (request === undefined) return undefined
      machine ??= drawMachine(draw)
      switch (request.kind) {
        case 'disks':
          return encodeUtf8(disksText(machine, request, draw))
        case 'memory':
          return encodeUtf8(memoryTable(memoryOf(machine, draw), request))
        case 'meminfo': {
          const lines = meminfoLines(memoryOf(machine, draw)).slice(request.from, request.to)
          return encodeUtf8(lines.map((line) => `${line}\n`).join(''))
        }
      }
    },
  }
}
