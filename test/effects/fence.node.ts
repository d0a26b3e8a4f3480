/**
 * The last fence around a world of the measurement: control groups with programs of the kernel in them that let nobody
 * open a device of the machine or write a setting of its kernel, whatever rights it has there, and that count who tried.
 * Under the daemon nobody may even come that far, so the count is a figure. Memory and processes are bounded as well.
 * Sources: bpf(2), linux/bpf.h, Documentation/bpf/prog_cgroup_sysctl.rst, Documentation/admin-guide/devices.txt, cgroups(7).
 * @module
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadSyscalls } from '../../src/sandbox/kernel/syscalls.node.ts'

const BPF_NUMBER = process.arch === 'x64' ? 321n : 280n
const MAP_CREATE = 0
const MAP_LOOKUP = 1
const PROG_LOAD = 5
const PROG_ATTACH = 8
const MAP_TYPE_ARRAY = 2
const PROGRAM_DEVICE = { type: 15, attach: 6 }
const PROGRAM_SYSCTL = { type: 23, attach: 18 }
const HELPER_MAP_LOOKUP = 1
const HELPER_SYSCTL_NAME = 101
/** `net/` as a little-endian word: settings of the network belong to the world, which has one of its own. */
const NET_PREFIX = 0x2f74656e
const O_RDONLY = 0
const ATTRIBUTE_BYTES = 128
/** errno(3); and how often it is asked, as libbpf does. */
const EAGAIN = 11
const BPF_TRIES = 5

/** What a world may have at most; a miss is to harm nobody else. */
const MEMORY_BYTES = 4 * 2 ** 30
const PROCESSES = 4_000

type Instruction = {
  readonly code: number
  readonly to?: number
  readonly from?: number
  readonly offset?: number
  readonly label?: string
  readonly value?: number
}
type Line = Instruction | string

/** Counts, and says no; `allow` says yes. `map` is a descriptor. */
const ending = (map: number): readonly Line[] => [
  'deny',
  { code: 0x62, to: 10, offset: -4, value: 0 },
  { code: 0xbf, to: 2, from: 10 },
  { code: 0x07, to: 2, value: -4 },
  { code: 0x18, to: 1, from: 1, value: map },
  { code: 0x00 },
  { code: 0x85, value: HELPER_MAP_LOOKUP },
  { code: 0x15, to: 0, value: 0, label: 'counted' },
  { code: 0xb7, to: 1, value: 1 },
  { code: 0xdb, to: 0, from: 1 },
  'counted',
  { code: 0xb7, to: 0, value: 0 },
  { code: 0x95 },
  'allow',
  { code: 0xb7, to: 0, value: 1 },
  { code: 0x95 },
]

const allowIf = (register: number, value: number): Line => ({
  code: 0x15,
  to: register,
  value,
  label: 'allow',
})
const toLabel = (label: string): Line => ({ code: 0x05, label })

/** Characters 1:3, 5, 7, 8, 9 (null, zero, full, random, urandom), 5:0, 2 (tty, ptmx) and 136 to 143 (terminals). */
const DEVICES: readonly Line[] = [
  { code: 0x61, to: 2, from: 1, offset: 0 },
  { code: 0x61, to: 3, from: 1, offset: 4 },
  { code: 0x61, to: 4, from: 1, offset: 8 },
  { code: 0x57, to: 2, value: 0xffff },
  { code: 0x55, to: 2, value: 2, label: 'deny' },
  { code: 0x15, to: 3, value: 1, label: 'memory' },
  { code: 0x15, to: 3, value: 5, label: 'terminal' },
  { code: 0xa5, to: 3, value: 136, label: 'deny' },
  { code: 0xa5, to: 3, value: 144, label: 'allow' },
  toLabel('deny'),
  'memory',
  ...[3, 5, 7, 8, 9].map((minor) => allowIf(4, minor)),
  toLabel('deny'),
  'terminal',
  ...[0, 2].map((minor) => allowIf(4, minor)),
  toLabel('deny'),
]

const SETTINGS: readonly Line[] = [
  { code: 0x61, to: 2, from: 1, offset: 0 },
  allowIf(2, 0),
  { code: 0x7a, to: 10, offset: -16, value: 0 },
  { code: 0x7a, to: 10, offset: -24, value: 0 },
  { code: 0xbf, to: 2, from: 10 },
  { code: 0x07, to: 2, value: -24 },
  { code: 0xb7, to: 3, value: 16 },
  { code: 0xb7, to: 4, value: 0 },
  { code: 0x85, value: HELPER_SYSCTL_NAME },
  { code: 0x61, to: 2, from: 10, offset: -24 },
  allowIf(2, NET_PREFIX),
  toLabel('deny'),
]

function assemble(lines: readonly Line[]): Uint8Array<ArrayBuffer> {
  const labels = new Map<string, number>()
  const instructions: Instruction[] = []
  for (const line of lines) {
    if (typeof line === 'string') labels.set(line, instructions.length)
    else instructions.push(line)
  }
  const bytes = new Uint8Array(new ArrayBuffer(instructions.length * 8))
  const view = new DataView(bytes.buffer)
  for (const [index, { code, to = 0, from = 0, offset = 0, label, value = 0 }] of instructions.entries()) {
    const far = label === undefined ? offset : (labels.get(label) ?? Number.NaN) - index - 1
    view.setUint8(index * 8, code)
    view.setUint8(index * 8 + 1, to | (from << 4))
    view.setInt16(index * 8 + 2, far, true)
    view.setInt32(index * 8 + 4, value, true)
  }
  return bytes
}

type Hierarchy = { readonly place: string; readonly options: string; readonly version: 1 | 2 }

/** Every mounted hierarchy of control groups, once. */
export function hierarchies(): readonly Hierarchy[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line): readonly Hierarchy[] => {
      const [left = '', right = ''] = line.split(' - ')
      const [, , , , place = ''] = left.split(' ')
      const [type, , options = ''] = right.split(' ')
      if (type === 'cgroup2') return [{ place, options: '', version: 2 as const }]
      return type === 'cgroup'
        ? [{ place, options: options.replace(/^r[wo],/, ''), version: 1 as const }]
        : []
    })
}

export type Fence = {
  /** Where a process writes its number to be within. */
  readonly directories: readonly string[]
  /** How often somebody within wanted a device or a setting of the machine. */
  reached(): { readonly devices: number; readonly settings: number }
  /** Whatever is within has ended. False: its last process is still on its way out; ask again. */
  remove(): boolean
}

function tryWrite(path: string, text: string): void {
  try {
    writeFileSync(path, text)
  } catch {
    // A controller that this machine does not have bounds nothing.
  }
}

function removeTree(directory: string): boolean {
  try {
    for (const entry of readdirSync(directory, { withFileTypes: true }))
      if (entry.isDirectory()) removeTree(join(directory, entry.name))
    rmdirSync(directory)
  } catch {
    // Gone with its last process, or not yet empty.
  }
  return !existsSync(directory)
}

/** @throws Error with a sentence where this machine lets no such fence be made. */
export function makeFence(name: string): Fence {
  const { libc, addressOf, checked } = loadSyscalls()
  const bpf = (command: number, fill: (view: DataView) => void): number => {
    const attribute = new Uint8Array(new ArrayBuffer(ATTRIBUTE_BYTES))
    fill(new DataView(attribute.buffer))
    // The kernel's verifier gives up where a signal arrives meanwhile, and wants to be asked again, as libbpf does.
    for (let tries = 0; ; tries++) {
      const result = libc.syscall(
        BPF_NUMBER,
        BigInt(command),
        addressOf(attribute),
        BigInt(ATTRIBUTE_BYTES),
        0n,
        0n,
        0n,
      )
      if (result >= 0n) return Number(result)
      const refused = checked(-1)
      if (refused !== -EAGAIN || tries === BPF_TRIES)
        throw new Error(`bpf(${command}) is refused (${refused})`)
    }
  }
  const all = hierarchies()
  const unified = all.find(({ version }) => version === 2)
  if (unified === undefined) throw new Error('there are no control groups of version 2')
  const directories = all.map(({ place }) => join(place, name))
  for (const [index, directory] of directories.entries()) {
    mkdirSync(directory)
    const parent = all[index]?.place ?? ''
    if (all[index]?.options.includes('cpuset'))
      for (const file of ['cpuset.cpus', 'cpuset.mems'])
        tryWrite(join(directory, file), readFileSync(join(parent, file), 'utf8'))
    tryWrite(join(directory, 'memory.limit_in_bytes'), String(MEMORY_BYTES))
    tryWrite(join(directory, 'memory.max'), String(MEMORY_BYTES))
    tryWrite(join(directory, 'pids.max'), String(PROCESSES))
  }
  const newMap = () =>
    bpf(MAP_CREATE, (view) => {
      for (const [at, value] of [MAP_TYPE_ARRAY, 4, 8, 1].entries()) view.setUint32(at * 4, value, true)
    })
  const group = checked(libc.open(join(unified.place, name), O_RDONLY, 0))
  const guard = (body: readonly Line[], kind: { type: number; attach: number }): number => {
    const map = newMap()
    const program = assemble([...body, ...ending(map)])
    const licence = new TextEncoder().encode('Apache-2.0\0')
    const loaded = bpf(PROG_LOAD, (view) => {
      view.setUint32(0, kind.type, true)
      view.setUint32(4, program.length / 8, true)
      view.setBigUint64(8, addressOf(program), true)
      view.setBigUint64(16, addressOf(licence), true)
      view.setUint32(68, kind.attach, true)
    })
    bpf(PROG_ATTACH, (view) => {
      for (const [at, value] of [group, loaded, kind.attach].entries()) view.setUint32(at * 4, value, true)
    })
    libc.close(loaded)
    return map
  }
  const maps = [guard(DEVICES, PROGRAM_DEVICE), guard(SETTINGS, PROGRAM_SYSCTL)]
  libc.close(group)
  const count = (map: number): number => {
    const key = new Uint8Array(new ArrayBuffer(4))
    const value = new BigUint64Array(new ArrayBuffer(8))
    bpf(MAP_LOOKUP, (view) => {
      view.setUint32(0, map, true)
      view.setBigUint64(8, addressOf(key), true)
      view.setBigUint64(16, addressOf(value), true)
    })
    return Number(value[0])
  }
  return {
    directories,
    reached: () => ({ devices: count(maps[0] ?? -1), settings: count(maps[1] ?? -1) }),
    remove() {
      for (const map of maps.splice(0)) libc.close(map)
      return directories.map(removeTree).every((isGone) => isGone)
    },
  }
}
