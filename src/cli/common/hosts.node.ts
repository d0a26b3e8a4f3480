/**
 * A user's names for devices, in `hosts.json` of the user's configuration directory; absent: none. What is written there
 * leaves every other byte of the file as it is.
 * @module
 */

import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseStrictJson } from '../../base/encoding/strict-json.ts'
import { errnoOf, errnoText, readBounded, replaceFile } from '../../base/files.node.ts'
import { nearest } from '../../base/text/suggest.ts'
import { type Environment, userConfigDirectory } from '../../base/user-directory.ts'
import { misuse, SassError } from '../../errors.ts'
import { HOSTS_FILE_BYTES } from '../../limits.ts'
import { setMember } from '../words/config-edit.ts'
import { type Hosts, hostWord, parseHosts, resolveTarget, type Target } from '../words/target.ts'
import { makingError } from './system-error.node.ts'

const FILE_MODE = 0o600

function refusal(path: string, why: string, cause?: unknown): SassError {
  return new SassError(
    'CONFIG_LOAD_FAILED',
    `The device names ${path} cannot be used, since ${why}: correct the file.`,
    { path },
    cause,
  )
}

/** Every name; key paths are absolute, relative ones start at the directory of the file. */
export function loadHosts(environment: Environment): Hosts {
  const directory = userConfigDirectory(environment)
  if (directory === undefined) return {}
  const path = `${directory}/hosts.json`
  try {
    const read = readBounded(path, HOSTS_FILE_BYTES)
    if (!read.ok)
      throw refusal(
        path,
        read.reason === 'too-large'
          ? `it is larger than ${HOSTS_FILE_BYTES} bytes`
          : 'it is not a regular file',
      )
    const json = parseStrictJson(read.bytes, { size: HOSTS_FILE_BYTES })
    if (!json.ok) throw refusal(path, json.problem)
    const result = parseHosts(json.value)
    if (!result.ok) throw refusal(path, result.problem)
    return Object.fromEntries(
      Object.entries(result.hosts).map(([name, host]) => [
        name,
        host.key === undefined ? host : { ...host, key: resolve(dirname(path), host.key) },
      ]),
    )
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    if (errno === 'ENOENT') return {}
    throw refusal(path, errnoText(errno), error)
  }
}

/** The device that a word of the command line means. SassError USAGE where it means none. */
export function targetOf(word: string, environment: Environment): Target {
  const result = resolveTarget(word, loadHosts(environment))
  if (result.ok) return result.target
  const shown = JSON.stringify(word.slice(0, 64))
  throw misuse(
    `${shown} names no device, since ${result.problem}: ${result.hint}${result.hint.endsWith('?') ? '' : '.'}`,
  )
}

/** That a word is none of the user's names for devices, and which of them may be meant; undefined where it is one. */
export function unlistedHint(word: string, environment: Environment): string | undefined {
  const name = hostWord(word)
  const names = Object.keys(loadHosts(environment))
  if (names.includes(name)) return undefined
  const meant = nearest(name, names)
  return `${JSON.stringify(name.slice(0, 64))} is not in hosts.json${meant === undefined ? '' : ` (did you mean ${meant}?)`}`
}

/**
 * Writes one name; the rest of the file stays as somebody wrote it.
 * @throws SassError CONFIG_LOAD_FAILED where the file cannot be used, STATE_UNWRITABLE where it cannot be written
 */
export function saveHost(environment: Environment, name: string, entry: Hosts[string]): void {
  // What cannot be read is not written over.
  loadHosts(environment)
  const path = `${userConfigDirectory(environment)}/hosts.json`
  try {
    const read = existsSync(path) ? readBounded(path, HOSTS_FILE_BYTES) : undefined
    const text = read?.ok === true ? read.bytes.toString('utf8') : '{}\n'
    replaceFile(path, Buffer.from(setMember(text, name, entry)), FILE_MODE)
  } catch (error) {
    throw makingError(
      error,
      'STATE_UNWRITABLE',
      path,
      (since) => `The device names ${path} cannot be written, since ${since}: correct that and try again.`,
    )
  }
}
