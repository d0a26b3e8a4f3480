/**
 * The configuration from its file: found, measured, read as strict JSON, checked whole.
 * A file that cannot be read is CONFIG_LOAD_FAILED, one that cannot be used is CONFIG_INVALID with every problem in
 * `details.problems`. Nothing of a bad file is used.
 * @module
 */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type Json, parseStrictJson } from '../../base/encoding/strict-json.ts'
import { errnoText, readBounded, systemErrno } from '../../base/files.node.ts'
import { type Environment, userConfigDirectory } from '../../base/user-directory.ts'
import { type Config, type ConfigProblem, parseConfig } from '../../config/config.ts'
import { SYSTEM_CONFIG_DIRECTORY } from '../../config/fields.ts'
import { type Place, placesOf } from '../../config/places.ts'
import { diagnose, isAgain } from '../../config/syntax.ts'
import { SassError } from '../../errors.ts'
import { CONFIG_BYTES } from '../../limits.ts'
import { egressProblems } from './contradicting-networks.ts'

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

/** A problem, and where in the file it stands. */
export type PlacedProblem = ConfigProblem & Place

/** A file that was read: with what is wrong with it, and the configuration as far as it can be told. */
export type ExaminedConfig = Omit<LoadedConfig, 'config' | 'value'> & {
  readonly problems: readonly PlacedProblem[]
  /** Whole where there is no problem; else with defaults in place of what is wrong, or undefined. */
  readonly config: Config | undefined
  readonly value: Json | undefined
}

/** One line for one problem, as people read it. */
export function problemText(problem: ConfigProblem): string {
  const where = problem.path === '' ? 'the file' : problem.path
  return `${where} ${problem.problem} (${problem.hint})`
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
    const errno = systemErrno(error)
    const remedy =
      errno === 'ENOENT'
        ? 'make one with sass-edge init, or name it with --config'
        : 'correct that or name another one with --config'
    const sentence = `The configuration ${path} cannot be read, since ${errnoText(errno)}: ${remedy}.`
    throw new SassError('CONFIG_LOAD_FAILED', sentence, { path, errno }, error)
  }
}

/** The problems, with where they stand in the text. */
export function placeProblems(text: string, problems: readonly ConfigProblem[]): readonly PlacedProblem[] {
  if (problems.length === 0) return []
  const places = placesOf(
    text,
    problems.map(({ path }) => path),
  )
  return problems.map((problem, index) => ({ ...problem, ...(places[index] ?? { line: 1, column: 1 }) }))
}

/** Of bytes that are not strict JSON. */
function examineSyntax(path: string, bytes: Buffer): ExaminedConfig {
  const { problems: mistakes, text, value } = diagnose(bytes, bytes.toString('utf8'))
  const problems = mistakes.map(({ line, column, problem, hint }) => {
    return {
      path: '',
      problem: `is not valid JSON at line ${line}, column ${column}: ${problem}`,
      hint,
      line,
      column,
    }
  })
  if (value === undefined) return { path, text, value, problems, config: undefined }
  const result = parseConfig(value, { configDirectory: dirname(path) })
  if (result.ok) return { path, text, value, problems, config: result.config }
  const others = result.problems.filter((problem) => !isAgain(problem.path))
  return { path, text, value, problems: [...problems, ...placeProblems(text, others)], config: result.draft }
}

/**
 * Reads the configuration at `file` (relative to the working directory) and says everything that is wrong with it.
 * @throws SassError CONFIG_LOAD_FAILED
 */
export function examineConfig(file: string): ExaminedConfig {
  const path = resolve(file)
  const bytes = readBytes(path)
  const parsed = parseStrictJson(bytes, { size: CONFIG_BYTES })
  if (!parsed.ok) return examineSyntax(path, bytes)
  const text = bytes.toString('utf8')
  const result = parseConfig(parsed.value, { configDirectory: dirname(path) })
  const read = { path, text, value: parsed.value }
  if (result.ok)
    return { ...read, problems: placeProblems(text, egressProblems(result.config)), config: result.config }
  return { ...read, problems: placeProblems(text, result.problems), config: result.draft }
}

/**
 * The configuration at `file` (relative to the working directory), to be used.
 * @throws SassError CONFIG_LOAD_FAILED or CONFIG_INVALID
 */
export function loadConfig(file: string): LoadedConfig {
  const { path, text, value, config, problems } = examineConfig(file)
  if (problems.length > 0 || config === undefined || value === undefined) throw invalid(path, problems)
  return { path, text, value, config }
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
