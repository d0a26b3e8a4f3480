/**
 * The configuration from its file: found, measured, read as strict JSON, checked whole.
 * A file that cannot be read is CONFIG_LOAD_FAILED, one that cannot be used is CONFIG_INVALID with every problem in
 * `details.problems`. Nothing of a bad file is used.
 * @module
 */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { errnoOf, errnoText, readBounded } from '../base/files.node.ts'
import { type Json, parseStrictJson } from '../base/strict-json.ts'
import { type Environment, userConfigDirectory } from '../base/user-directory.ts'
import { type Config, type ConfigProblem, parseConfig } from '../config.ts'
import { SYSTEM_CONFIG_DIRECTORY } from '../config-fields.ts'
import { SassError } from '../errors.ts'
import { CONFIG_BYTES } from '../limits.ts'

/** The name of the configuration in each of its places. */
export const CONFIG_NAME = 'sass.edge.json'
/** The directory that belongs to a working directory. */
export const LOCAL_DIRECTORY = '.sass-edge'

/** A read and checked configuration. `text` is the file as it is, for whoever edits it. */
export type LoadedConfig = {
  readonly path: string
  readonly text: string
  readonly value: Json
  readonly config: Config
}

/** `line 3, column 7` of an offset into a text. */
function position(text: string, offset: number): string {
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  return `line ${line}, column ${offset - before.lastIndexOf('\n')}`
}

/** One line for one problem, as people read it. */
export function problemText(problem: ConfigProblem): string {
  const where = problem.path === '' ? 'the file' : problem.path
  return `${where} ${problem.problem}${problem.hint === undefined ? '' : ` (${problem.hint})`}`
}

/** The error of a file that was read and cannot be used. */
export function invalid(path: string, problems: readonly ConfigProblem[]): SassError {
  const all = problems.map(problemText).join('; ')
  const count = problems.length === 1 ? '' : `it has ${problems.length} problems: `
  const sentence = `${path} cannot be used, since ${count}${all}: correct ${problems.length === 1 ? 'it' : 'them'} and try again.`
  return new SassError('CONFIG_INVALID', sentence, { path, problems })
}

/** The bytes of the file; CONFIG_LOAD_FAILED with the path and the errno. */
function readBytes(path: string): Buffer {
  try {
    const read = readBounded(path, CONFIG_BYTES)
    if (read.ok) return read.bytes
    const what =
      read.reason === 'too-large' ? `is larger than ${CONFIG_BYTES} bytes` : 'is not a regular file'
    throw new SassError(
      'CONFIG_LOAD_FAILED',
      `The configuration ${path} ${what}: name another one with --config.`,
      { path },
    )
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    const remedy =
      errno === 'ENOENT'
        ? 'make one with sass-edge init, or name it with --config'
        : 'correct that or name another one with --config'
    const sentence = `The configuration ${path} cannot be read, since ${errnoText(errno)}: ${remedy}.`
    throw new SassError('CONFIG_LOAD_FAILED', sentence, { path, errno }, error)
  }
}

/**
 * Reads the configuration at `file` (relative to the working directory).
 * @throws SassError CONFIG_LOAD_FAILED or CONFIG_INVALID
 */
export function loadConfig(file: string): LoadedConfig {
  const path = resolve(file)
  const bytes = readBytes(path)
  const parsed = parseStrictJson(bytes, { size: CONFIG_BYTES })
  const text = bytes.toString('utf8')
  if (!parsed.ok) {
    const problem = `is not valid JSON at ${position(text, parsed.offset)}: ${parsed.problem}`
    throw invalid(path, [{ path: '', problem }])
  }
  const result = parseConfig(parsed.value, { configDirectory: dirname(path) })
  if (!result.ok) throw invalid(path, result.problems)
  return { path, text, value: parsed.value, config: result.config }
}

/** Whoever may write the file decides what the daemon runs, so in a directory above us it must be ours or root's. */
function refuseForeign(path: string): void {
  const stats = statSync(path)
  const own = process.geteuid?.() ?? 0
  if (stats.uid === own || stats.uid === 0) return
  const sentence = `${path} belongs to another user (uid ${stats.uid}) and was not used: name it with --config if you trust it.`
  throw new SassError('CONFIG_LOAD_FAILED', sentence, { path, uid: stats.uid })
}

/**
 * Where the configuration is when nobody names one: the nearest `.sass-edge/sass.edge.json` of `cwd` and its parents,
 * then the user's, then the system's. Undefined where there is none.
 * @throws SassError CONFIG_LOAD_FAILED where the nearest one belongs to somebody else
 */
export function findConfig(cwd: string, environment: Environment): string | undefined {
  for (let directory = resolve(cwd); ; directory = dirname(directory)) {
    const path = join(directory, LOCAL_DIRECTORY, CONFIG_NAME)
    if (existsSync(path)) {
      refuseForeign(path)
      return path
    }
    if (directory === dirname(directory)) break
  }
  const candidates = [join(SYSTEM_CONFIG_DIRECTORY, CONFIG_NAME)]
  const user = userConfigDirectory(environment)
  if (user !== undefined) candidates.unshift(join(user, CONFIG_NAME))
  return candidates.find((path) => existsSync(path))
}
