/**
 * Whether a line has ended in a session as it does without a daemon: with the same exit code, and with output of the same
 * shape. Numbers, digests and times differ from run to run and count as equal.
 * @module
 */

export type Ending = {
  readonly exitCode: number | undefined
  readonly signal: number | undefined
  readonly timedOut: boolean
  readonly stdout: string
}

/** Of a long list some lines may be others: two such lists are alike where so many of their lines are. */
const ALIKE_SHARE = 0.5
/** Beyond so many lines, what is listed is the device's own (packages, mounts); then only how much counts. */
const LONG_LINES = 20
const LONG_FACTOR = 2

/** The lines of an output, without what differs from run to run. */
export function shapeOf(text: string): readonly string[] {
  return text
    .replaceAll(/\b[0-9a-f]{7,64}\b/g, 'h')
    .replaceAll(/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b/g, 'd')
    .replaceAll(/\d+/g, '0')
    .replaceAll(/tmp[./][\w.-]+/g, 'tmp')
    .split('\n')
    .map((line) => line.trim().replaceAll(/\s+/g, ' '))
    .filter((line) => line !== '')
}

/** Beside tab, line feed and return: bytes of this kind are no text, and only how many there are can be compared. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const NO_TEXT = /[\x00-\x06\x0e-\x1a\x7f]/

function outputsAlike(one: string, other: string): boolean {
  if (NO_TEXT.test(one) && NO_TEXT.test(other))
    return Math.max(one.length, other.length) <= LONG_FACTOR * Math.min(one.length, other.length)
  const [left, right] = [shapeOf(one), shapeOf(other)]
  if (left.length === 0 || right.length === 0) return left.length === right.length
  const most = Math.max(left.length, right.length)
  if (most > LONG_LINES && most <= LONG_FACTOR * Math.min(left.length, right.length)) return true
  if (most === 1) return wordsAlike(left[0] ?? '', right[0] ?? '')
  const rest = [...right]
  let common = 0
  for (const line of left) {
    const at = rest.indexOf(line)
    if (at === -1) continue
    rest.splice(at, 1)
    common++
  }
  return common >= ALIKE_SHARE * most
}

/** One line: the same words but for some; random bytes and names are one word. */
function wordsAlike(one: string, other: string): boolean {
  return one === other || one.split(' ').length === other.split(' ').length
}

/** Undefined: they are alike; else what differs. */
export function difference(session: Ending, alone: Ending): string | undefined {
  if (session.timedOut !== alone.timedOut)
    return session.timedOut ? 'takes longer in a session' : 'takes longer alone'
  if (session.timedOut) return undefined
  const code = ({ exitCode, signal }: Ending) => exitCode ?? 128 + (signal ?? 0)
  if (code(session) !== code(alone)) return `exit code ${code(session)}, alone ${code(alone)}`
  return outputsAlike(session.stdout, alone.stdout) ? undefined : 'another output'
}
