/**
 * Asks the registry of npm what is known against the locked packages that ship. Where nobody answers, or what answers is
 * no report, the check is skipped with the reason; it fails for what is critical alone.
 * @module
 */
import { execFile } from 'node:child_process'
import { readAudit, type Vulnerabilities } from './vulnerabilities.ts'

/** One question and its answer of some kilobytes; a registry that is slower is one that does not answer. */
const NPM_MS = 60_000
const ANSWER_BYTES = 16 * 1_048_576

/** @param root directory with package.json and package-lock.json @param registry another one than npm's own */
export function askVulnerabilities(root: string, registry?: string): Promise<Vulnerabilities> {
  const { promise, resolve } = Promise.withResolvers<Vulnerabilities>()
  const words = ['audit', '--omit=dev', '--package-lock-only', '--json', '--fetch-retries=0']
  execFile(
    'npm',
    registry === undefined ? words : [...words, `--registry=${registry}`],
    { cwd: root, timeout: NPM_MS, maxBuffer: ANSWER_BYTES },
    // Its exit code is not 0 where it has found anything: what it says counts.
    (error, stdout) => resolve(readAudit(stdout.trim() === '' ? (error?.message ?? '') : stdout)),
  )
  return promise
}
