/**
 * Commands whose output, exit and number of starts are known beforehand: what a job writes at any offset of either
 * stream can be computed. Each appends its id to a file when it really starts. All are drawn from a seed.
 * @module
 */
import type { Random } from '../fuzz/engine.ts'

/** Lines of seven bytes, counted from this one: the byte at an offset tells where it belongs. */
const FIRST_LINE = 100_000
const LINE_BYTES = 7
/** In the workspace; one line for each start. */
export const STARTS_FILE = 'starts'

export type JobKind =
  | 'short'
  | 'slow'
  /** Left after its first output, and gone back to. */
  | 'detached'
  | 'much'
  | 'both'
  | 'stdin'
  | 'head'
  | 'signals'
  | 'stubborn'
  | 'silent'
  | 'unary'
  | 'missing'
  | 'mistaken'
  | 'denied'

export type Expected =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: number }
  /** Not started: STATUS 11. */
  | { readonly kind: 'not-started' }
  /** STATUS 106. */
  | { readonly kind: 'mistake' }
  /** Shown a screen that never ends. */
  | { readonly kind: 'denied' }

export type Job = {
  readonly id: string
  readonly kind: JobKind
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string | undefined
  /** Lines of each stream. */
  readonly stdout: { readonly lines: number; readonly text?: string }
  readonly stderr: { readonly lines: number; readonly text?: string }
  /** Bytes of the same lines that go to its stdin; undefined: it has none. */
  readonly stdinBytes: number | undefined
  readonly expected: Expected
}

/** The byte of counted lines at an offset. */
function lineByte(offset: number): number {
  const column = offset % LINE_BYTES
  if (column === LINE_BYTES - 1) return 0x0a
  const line = FIRST_LINE + Math.floor(offset / LINE_BYTES)
  return 0x30 + (Math.floor(line / 10 ** (LINE_BYTES - 2 - column)) % 10)
}

/** Bytes `from` to `from + bytes` of counted lines. */
export function linesAt(from: number, bytes: number): Uint8Array {
  return Uint8Array.from({ length: bytes }, (_, index) => lineByte(from + index))
}

export function outputBytes({ lines, text }: Job['stdout']): number {
  return text === undefined ? lines * LINE_BYTES : text.length
}

/** Where `bytes` differ from what the job writes at `offset`: that offset; undefined where they do not. */
export function firstDifference(
  output: Job['stdout'],
  offset: number,
  bytes: Uint8Array,
): number | undefined {
  const { text } = output
  for (let index = 0; index < bytes.length; index++) {
    const at = offset + index
    const due =
      at >= outputBytes(output) ? -1 : text === undefined ? lineByte(at) : (text.charCodeAt(at) ?? -1)
    if (bytes[index] !== due) return at
  }
  return undefined
}

function hex(random: Random, bytes: number): string {
  return Array.from({ length: bytes }, () => random.below(256).toString(16).padStart(2, '0')).join('')
}

const counted = (lines: number) => `seq ${FIRST_LINE} ${FIRST_LINE + lines - 1}`
/** So many lines, a few at a time with a pause after each. */
const inSteps = (lines: number, step: number, seconds: string) =>
  `i=${FIRST_LINE}; while [ $i -lt ${FIRST_LINE + lines} ]; do seq $i $((i+${step - 1})); i=$((i+${step})); sleep ${seconds}; done`

type Draft = Partial<Omit<Job, 'id' | 'kind'>> & { readonly script?: string }

/** How each kind is drawn. `denied` names a path that the configuration of the history denies. */
const DRAFTS: Readonly<Record<JobKind, (random: Random) => Draft>> = {
  short(random) {
    const code = random.below(4) === 0 ? random.below(256) : 0
    const lines = 1 + random.below(20)
    return {
      script: `${counted(lines)}; exit ${code}`,
      stdout: { lines },
      expected: { kind: 'exited', code },
    }
  },
  slow(random) {
    const lines = 10 * (2 + random.below(8))
    return { script: inSteps(lines, 10, '0.04'), stdout: { lines } }
  },
  detached: () => ({ script: inSteps(30, 10, '0.01'), stdout: { lines: 30 } }),
  much(random) {
    const lines = 2_000 + random.below(30_000)
    return { script: counted(lines), stdout: { lines } }
  },
  both(random) {
    const lines = 100 + random.below(12_000)
    const errors = 100 + random.below(12_000)
    const script = `${counted(errors)} >&2 & ${counted(lines)}; wait`
    return { script, stdout: { lines }, stderr: { lines: errors } }
  },
  stdin(random) {
    const lines = 1 + random.below(random.below(2) === 0 ? 30 : 20_000)
    return { script: 'exec cat', stdout: { lines }, stdinBytes: lines * LINE_BYTES }
  },
  head(random) {
    const lines = 1 + random.below(200)
    const script = `head -c ${lines * LINE_BYTES}; sleep 0.05`
    return { script, stdout: { lines }, stdinBytes: (lines + random.below(12_000)) * LINE_BYTES }
  },
  signals: () => ({
    script:
      "exec 2>/dev/null; n=0; trap 'n=$((n+1)); echo T$n' TERM; echo R; until [ $n -ge 3 ]; do sleep 0.02; done; trap '' TERM; exit 7",
    stdout: { lines: 0, text: 'R\nT1\nT2\nT3\n' },
    expected: { kind: 'exited', code: 7 },
  }),
  stubborn: () => ({
    script: "trap '' TERM; echo R; exec sleep 60",
    stdout: { lines: 0, text: 'R\n' },
    expected: { kind: 'signalled', signal: 9 },
  }),
  silent: () => ({ script: 'kill -15 $$', expected: { kind: 'signalled', signal: 15 } }),
  unary(random) {
    const lines = 1 + random.below(random.below(2) === 0 ? 50 : 8_000)
    const errors = random.below(2) * random.below(300)
    const code = random.below(3)
    const script = `${counted(lines)}; ${errors > 0 ? `${counted(errors)} >&2; ` : ''}sleep 0.0${random.below(9)}; exit ${code}`
    return { script, stdout: { lines }, stderr: { lines: errors }, expected: { kind: 'exited', code } }
  },
  missing: () => ({ command: '/nowhere/such-program', args: [], expected: { kind: 'not-started' } }),
  mistaken: () => ({ command: 'true', args: [], cwd: 'no/such/place', expected: { kind: 'not-started' } }),
  denied: () => ({ command: 'cat', args: [`${DENIED_PATH}/6`], expected: { kind: 'denied' } }),
}

/** More of what is likely to go wrong. */
const WEIGHTS: readonly JobKind[] = [
  ...(['short', 'short', 'slow', 'slow', 'detached', 'much', 'much', 'both', 'both'] as const),
  ...(['stdin', 'stdin', 'stdin', 'head', 'signals', 'signals', 'stubborn', 'silent'] as const),
  ...(['unary', 'unary', 'missing', 'mistaken', 'denied'] as const),
]
export const DENIED_PATH = '/srv/denied'

export function drawJob(random: Random, kind = WEIGHTS[random.below(WEIGHTS.length)] ?? 'short'): Job {
  const id = hex(random, 16)
  const { script, ...draft } = DRAFTS[kind](random)
  const shell =
    script === undefined ? {} : { command: 'sh', args: ['-c', `echo ${id} >> ${STARTS_FILE}; ${script}`] }
  return {
    id,
    kind,
    command: '',
    args: [],
    cwd: undefined,
    stdout: { lines: 0 },
    stderr: { lines: 0 },
    stdinBytes: undefined,
    expected: { kind: 'exited', code: 0 },
    ...shell,
    ...draft,
  }
}
