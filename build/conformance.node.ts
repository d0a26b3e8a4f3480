/**
 * `npm run conformance`: writes docs/conformance.md from docs/conformance.json and the TAP of the last `npm test`
 * (.tap/results.tap). Refuses, with one sentence and exit code 1: no test results, a run that bailed out, a list
 * that is not well formed, and (after writing) tests that name a requirement which the list does not have, and rows
 * whose state the tests do not bear out.
 * An argument names another root directory than the repository's own.
 * @module
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkList } from './conformance-list.ts'
import { parseTap, renderReport } from './conformance-report.ts'

/** Some 100 bytes an assertion: room for half a million of them, and a bound on what is read into memory. */
const INPUT_BYTES = 64 * 1_048_576

process.exitCode = writeReport(process.argv[2] ?? join(import.meta.dirname, '..'))

/** The exit code. */
function writeReport(root: string): number {
  const listPath = join(root, 'docs/conformance.json')
  const resultsPath = join(root, '.tap/results.tap')
  const reportPath = join(root, 'docs/conformance.md')

  const listText = readBounded(listPath)
  if (listText === undefined) return refuse(`${listPath} cannot be read; restore it from the repository.`)
  const check = checkList(parseJson(listText))
  if (!check.ok)
    return refuse(`${listPath} is not a list of requirements; correct this: ${check.problems.join('; ')}.`)

  const results = readBounded(resultsPath)
  if (results === undefined) return refuse(`There are no test results at ${resultsPath}; run npm test first.`)
  const { tests, bailedOut } = parseTap(results)
  if (bailedOut !== undefined) {
    return refuse(`The last test run bailed out (${bailedOut}) and proves nothing; run npm test again.`)
  }

  const report = renderReport(check.list, tests)
  writeFileSync(reportPath, report.markdown)
  process.stdout.write(`${reportPath}: ${report.proven} proven, ${report.open} open\n`)
  if (report.contradictions.length > 0)
    return refuse(`The list and the tests say different things: ${report.contradictions.join(' ')}`)
  if (report.unknownIds.length === 0) return 0
  return refuse(
    `Tests name ${report.unknownIds.join(', ')}, which ${listPath} does not have; correct their names.`,
  )
}

/** The text of a file; undefined where it is missing, unreadable or larger than INPUT_BYTES. */
function readBounded(path: string): string | undefined {
  try {
    return statSync(path).size > INPUT_BYTES ? undefined : readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** undefined for text that is not JSON: the check of the list then says so. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function refuse(sentence: string): number {
  process.stderr.write(`conformance: ${sentence}\n`)
  return 1
}
