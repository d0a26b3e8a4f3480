/**
 * What takes the environment without being code: a filter of jq, and the drive of PowerShell in which it lies.
 * From jq(1) and the reference of PowerShell, about_Environment_Provider.
 * @module
 */
import { SECRET_READ } from '../code/environment-reads.ts'
import { goesBy } from './names.ts'
import type { Draft } from './pipeline.ts'

const FILTERS: ReadonlySet<string> = new Set(['jq', 'gojq', 'jaq', 'yq', 'jqp', 'fq'])
/** `env` and `$ENV` as a whole; of one variable it is `env.HOME`, and `.env` is a key of the input. */
const WHOLE_OF_FILTER =
  /\$ENV\b(?!\s{0,4}[.[])|(?:^|[|,(;[\s])env(?=\s{0,4}(?:$|[|,);\]])|\s{1,4}(?:as|\/\/)\b)|\benv\s{0,4}\[(?!")/
const LISTERS: ReadonlySet<string> = new Set(
  'get-childitem gci ls dir get-item gi get-content gc cat get-itemproperty gp'.split(' '),
)
const WHOLE_DRIVE = /^env:(?:[\\/])?\*?$/i

function isWhole({ names, operands, optionValues }: Draft): boolean {
  if (goesBy(names, FILTERS))
    return [...operands, ...optionValues.map(({ value }) => value)].some((text) => WHOLE_OF_FILTER.test(text))
  if (!operands.some((text) => WHOLE_DRIVE.test(text))) return false
  return names.some((name) => LISTERS.has(name.toLowerCase()))
}

/** Of a command that takes secrets out of the environment, the call that says so. */
export function environmentCalls(draft: Draft): readonly string[] {
  return isWhole(draft) ? TAKEN : NONE
}

const TAKEN: readonly string[] = Object.freeze([SECRET_READ])
const NONE: readonly never[] = Object.freeze([])
