/**
 * The commands that tell how much disk and memory there is, read into what has to be shown. They are never run:
 * figures.ts makes what they say. What is not understood wholly here is refused, because it could not be made.
 * Sources: draft 8.4 (storage and memory spoofing); df(1), free(1), head(1), tail(1), proc_meminfo(5).
 * @module
 */

export type DiskUnit = 'kibi' | 'mebi' | 'human' | 'si'
export type MemoryUnit = 'bytes' | 'kibi' | 'mebi' | 'gibi' | 'human'
export type FigureRequest =
  | {
      readonly kind: 'disks'
      readonly unit: DiskUnit
      readonly hasType: boolean
      readonly isPortable: boolean
      readonly isRootOnly: boolean
    }
  | {
      readonly kind: 'memory'
      readonly unit: MemoryUnit
      readonly isWide: boolean
      readonly hasTotal: boolean
    }
  /** The lines from `from` on up to `to`, as Array.slice takes them. */
  | { readonly kind: 'meminfo'; readonly from: number; readonly to: number | undefined }

const MEMINFO = '/proc/meminfo'
/** What head and tail show unasked. */
const DEFAULT_LINES = 10

/** Every option as one word, clusters taken apart: `-hT` is `h` and `T`, `--total` is `total`; operands apart. */
function split(args: readonly string[]): { readonly options: string[]; readonly operands: string[] } {
  const options: string[] = []
  const operands: string[] = []
  for (const argument of args) {
    if (argument.startsWith('--')) options.push(argument.slice(2))
    else if (argument.startsWith('-')) options.push(...argument.slice(1))
    else operands.push(argument)
  }
  return { options, operands }
}

const DISK_UNITS: Readonly<Record<string, DiskUnit>> = {
  k: 'kibi',
  m: 'mebi',
  h: 'human',
  'human-readable': 'human',
  H: 'si',
  si: 'si',
}

function readDisks(args: readonly string[]): FigureRequest | undefined {
  const { options, operands } = split(args)
  let unit: DiskUnit = 'kibi'
  let hasType = false
  let isPortable = false
  if (operands.some((path) => path !== '/')) return undefined
  for (const option of options) {
    const chosen = Object.hasOwn(DISK_UNITS, option) ? DISK_UNITS[option] : undefined
    if (chosen !== undefined) unit = chosen
    else if (option === 'T' || option === 'print-type') hasType = true
    else if (option === 'P' || option === 'portability') isPortable = true
    else return undefined
  }
  return { kind: 'disks', unit, hasType, isPortable, isRootOnly: operands.length > 0 }
}

const MEMORY_UNITS: Readonly<Record<string, MemoryUnit>> = {
  b: 'bytes',
  bytes: 'bytes',
  k: 'kibi',
  kibi: 'kibi',
  m: 'mebi',
  mebi: 'mebi',
  g: 'gibi',
  gibi: 'gibi',
  h: 'human',
  human: 'human',
}

function readMemory(args: readonly string[]): FigureRequest | undefined {
  const { options, operands } = split(args)
  let unit: MemoryUnit = 'kibi'
  let isWide = false
  let hasTotal = false
  if (operands.length > 0) return undefined
  for (const option of options) {
    const chosen = Object.hasOwn(MEMORY_UNITS, option) ? MEMORY_UNITS[option] : undefined
    if (chosen !== undefined) unit = chosen
    else if (option === 'w' || option === 'wide') isWide = true
    else if (option === 't' || option === 'total') hasTotal = true
    else return undefined
  }
  return { kind: 'memory', unit, isWide, hasTotal }
}

/** `-n 5`, `-n5`, `-5` or `--lines=5`: how many lines; undefined for anything else. */
function readLineCount(args: readonly string[]): number | undefined {
  const [first = '', second = '', ...rest] = args
  if (rest.length > 0) return undefined
  const text =
    first === '-n' || first === '--lines'
      ? second
      : second !== ''
        ? ''
        : first.startsWith('--lines=')
          ? first.slice('--lines='.length)
          : first.startsWith('-n')
            ? first.slice(2)
            : first.slice(1)
  if (!first.startsWith('-')) return undefined
  return /^\d{1,6}$/.test(text) ? Number(text) : undefined
}

function readMeminfo(name: string, args: readonly string[]): FigureRequest | undefined {
  if (args.at(-1) !== MEMINFO) return undefined
  const options = args.slice(0, -1)
  if (name === 'cat') return options.length === 0 ? { kind: 'meminfo', from: 0, to: undefined } : undefined
  const lines = options.length === 0 ? DEFAULT_LINES : readLineCount(options)
  if (lines === undefined) return undefined
  if (name === 'head') return { kind: 'meminfo', from: 0, to: lines }
  return lines === 0 ? { kind: 'meminfo', from: 0, to: 0 } : { kind: 'meminfo', from: -lines, to: undefined }
}

/** What `name` with `args` asks to be shown, or undefined where it is none of these commands. */
export function readFigureRequest(name: string, args: readonly string[]): FigureRequest | undefined {
  switch (name) {
    case 'df':
      return readDisks(args)
    case 'free':
      return readMemory(args)
    case 'cat':
    case 'head':
    case 'tail':
      return readMeminfo(name, args)
    default:
      return undefined
  }
}
