/**
 * Names of agents' instances: `{name}-{timestamp}-{nonce}`, the time in UTC and eight hexadecimal digits from the
 * system's CSPRNG. A name is given once: two in the same second differ in 32 random bits, and the session that carries
 * one is the only thing that ever has it.
 * Rules: docs/responses.md, section 1 (agent instances).
 * @module
 */
import { encodeHex } from '../../base/encoding/hex.ts'
import { SassError } from '../../errors.ts'
import type { Random } from '../../ports.ts'

const NONCE_BYTES = 4
/** Two of 2^32 in one second are hardly ever the same; twice in a row they never are. */
const TRIES = 8
const DAY_MS = 86_400_000

/** Year, month and day of a day counted from 1970-01-01, by the rules of the Gregorian calendar. */
function civilDate(days: number): readonly [number, number, number] {
  // Eras of 400 years that begin on the first of March: a leap day is then the last one of a year.
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const ofEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (ofEra - Math.floor(ofEra / 1_460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  )
  const ofYear = ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const monthFromMarch = Math.floor((5 * ofYear + 2) / 153)
  const day = ofYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  return [yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day]
}

const digits = (value: number, width: number): string => String(value).padStart(width, '0')

/** `20261120T105742Z`: ISO 8601, basic form. */
export function compactTime(wallMs: number): string {
  const days = Math.floor(wallMs / DAY_MS)
  const seconds = Math.floor((wallMs - days * DAY_MS) / 1_000)
  const [year, month, day] = civilDate(days)
  const time = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  return `${digits(year, 4)}${digits(month, 2)}${digits(day, 2)}T${time.map((part) => digits(part, 2)).join('')}Z`
}

/** A name that nothing has had: `isTaken` says which have been given. */
export function newInstance(
  name: string,
  wallMs: number,
  random: Random,
  isTaken: (instance: string) => boolean = () => false,
): string {
  for (let tries = 0; tries < TRIES; tries++) {
    const instance = `${name}-${compactTime(wallMs)}-${encodeHex(random.bytes(NONCE_BYTES))}`
    if (!isTaken(instance)) return instance
  }
  throw new SassError(
    'INTERNAL',
    'The random numbers of this machine repeat, so no session can be told from another.',
  )
}
