/**
 * UTC times as signed work writes them: `2026-02-24T00:00:00+00:00` as Python's isoformat, or with `Z`, with a fraction
 * of a second or without. Other offsets are refused: one moment has few texts. By arithmetic on the calendar alone
 * (proleptic Gregorian, RFC 3339 section 5.6), without a leap second.
 * @module
 */

const UTC = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)$/
const DAY_MS = 86_400_000
/** Days from 1 March of year 0 to 1 January 1970. */
const EPOCH_DAYS = 719_468
/** The calendar repeats after so many days: 400 years. */
const ERA_DAYS = 146_097

/** Days since 1970 of a day; years begin in March here, so that a leap day is the last of its year. */
function daysOf(year: number, month: number, day: number): number {
  const shifted = month > 2 ? year : year - 1
  const monthDays = Math.floor((153 * ((month + 9) % 12) + 2) / 5)
  return (
    shifted * 365 +
    Math.floor(shifted / 4) -
    Math.floor(shifted / 100) +
    Math.floor(shifted / 400) +
    monthDays +
    day -
    1 -
    EPOCH_DAYS
  )
}

/** The day of so many days since 1970. */
function dateOf(days: number): readonly [year: number, month: number, day: number] {
  const since = days + EPOCH_DAYS
  const era = Math.floor(since / ERA_DAYS)
  const inEra = since - era * ERA_DAYS
  const yearInEra = Math.floor(
    (inEra - Math.floor(inEra / 1_460) + Math.floor(inEra / 36_524) - Math.floor(inEra / 146_096)) / 365,
  )
  const inYear = inEra - (365 * yearInEra + Math.floor(yearInEra / 4) - Math.floor(yearInEra / 100))
  const shiftedMonth = Math.floor((5 * inYear + 2) / 153)
  const day = inYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  return [yearInEra + era * 400 + (month <= 2 ? 1 : 0), month, day]
}

/** Unix milliseconds, what is below one cut off; undefined where the text is no such time or there is no such day. */
export function readUtcTime(text: string): number | undefined {
  const match = UTC.exec(text)
  if (match === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number)
  const days = daysOf(year, month, day)
  // 30 February and month 13 come out as another day.
  const [sameYear, sameMonth, sameDay] = dateOf(days)
  if (sameYear !== year || sameMonth !== month || sameDay !== day) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const fraction = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  return days * DAY_MS + hour * 3_600_000 + minute * 60_000 + second * 1_000 + fraction
}

/** As Python's isoformat writes it, with milliseconds where there are some. For times from 1970 to 9999. */
export function writeUtcTime(ms: number): string {
  const [year, month, day] = dateOf(Math.floor(ms / DAY_MS))
  const inDay = ms % DAY_MS
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  const fraction = ms % 1_000 === 0 ? '' : `.${String(ms % 1_000).padStart(3, '0')}`
  const time = `${two(inDay / 3_600_000)}:${two((inDay / 60_000) % 60)}:${two((inDay / 1_000) % 60)}`
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}T${time}${fraction}+00:00`
}
