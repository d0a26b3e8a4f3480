/**
 * Who may change what the daemon believes, and where it writes: the configuration and the rules, its directories, the
 * workspace, key files that lie beside the configuration, and secrets that lie in it.
 * As sshd's StrictModes: what others can write is not the operator's word any more.
 * @module
 */
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { attempt } from '../../base/attempt.ts'
import { publicKeyOf } from '../../base/crypto/ed25519.node.ts'
import { decodeBase64Url, encodeBase64Url } from '../../base/encoding/base64.ts'
import { errnoText, lstatOf, statOf, systemErrno, whyNotMade } from '../../base/files.node.ts'
import { shellWord } from '../../base/text/shell-word.ts'
import type { Config } from '../../config/config.ts'
import { knownError } from '../../errors.ts'
import { KEY_FILE_BYTES } from '../../limits.ts'
import { readPrivateKey } from '../state/key-file.node.ts'
import { type Finding, fail, pass } from './finding.ts'
import { nearestExisting } from './nearest-existing.node.ts'
import { failFrom } from './preflight-tls.node.ts'

const WRITABLE_BY_OTHERS = 0o022
const WRITABLE_BY_ALL = 0o002
const STICKY = 0o1000
/** Key files beside a configuration that are looked at. */
const KEY_FILES = 64
const PRIVATE_KEY = /-----BEGIN [A-Z ]{0,16}PRIVATE KEY-----/

const octal = (mode: number) => (mode & 0o7777).toString(8).padStart(4, '0')

/** A file whose content decides: only its owner may write it, and that is us, root, or whoever owns the state. */
function* checkTrusted(check: string, path: string, stateDirectory: string): Iterable<Finding> {
  const stats = statOf(path)
  if (stats === undefined) return

  if ((stats.mode & WRITABLE_BY_OTHERS) !== 0)
    yield fail(
      check,
      `${path} has mode ${octal(stats.mode)}, so others can change it`,
      `run chmod go-w ${shellWord(path)}`,
    )
  const own = process.geteuid?.() ?? 0
  const trusted = [own, 0, statOf(stateDirectory)?.uid]
  if (!trusted.includes(stats.uid))
    yield fail(
      check,
      `${path} belongs to another user (uid ${stats.uid}), who can change it`,
      `run chown ${own} ${shellWord(path)}`,
    )
  const directory = dirname(path)
  const { mode } = statSync(directory)
  if ((mode & WRITABLE_BY_ALL) !== 0 && (mode & STICKY) === 0)
    yield fail(
      check,
      `the directory of ${path} has mode ${octal(mode)}, so everybody can replace it`,
      `run chmod o-w ${shellWord(directory)}`,
    )
}

/** Writes and removes a file, since only that tells a read-only mount, a full disk and a missing right. */
export function checkWritable(check: string, path: string): Finding {
  if (lstatOf(path)?.isSymbolicLink() && nearestExisting(path) !== path)
    return fail(
      check,
      `${path} is a symbolic link to what is not there`,
      `run rm ${shellWord(path)}, or make what it names`,
    )
  const directory = nearestExisting(path)
  const probe = join(directory, `.${randomBytes(8).toString('hex')}.tmp`)
  try {
    closeSync(openSync(probe, 'wx', 0o600))
    unlinkSync(probe)
    return pass(check, directory === path ? `${path} can be written` : `${path} will be made`)
  } catch (error) {
    systemErrno(error)
    return fail(
      check,
      `${path} cannot be written, since ${whyNotMade(error, probe)}`,
      'make it a directory that this user may write, or name another one',
    )
  }
}

/** A directory of the daemon's own. */
export function checkDirectory(check: string, path: string): Finding {
  const writable = checkWritable(check, path)
  const mode = statOf(path)?.mode
  if (!writable.ok || mode === undefined || (mode & WRITABLE_BY_OTHERS) === 0) return writable
  return fail(
    check,
    `${path} has mode ${octal(mode)}, so others can change what the daemon keeps`,
    `run chmod 700 ${shellWord(path)}`,
  )
}

/** What is not there yet is made at the start. */
export function checkWorkspace(path: string): Finding {
  const check = 'security.workspace_root'
  if (nearestExisting(path) !== path) return checkWritable(check, path)
  const stats = statSync(path)
  if (!stats.isDirectory()) return fail(check, `${path} is not a directory`, 'name a directory')
  if ((stats.mode & WRITABLE_BY_ALL) !== 0 && (stats.mode & STICKY) === 0)
    return fail(
      check,
      `${path} has mode ${octal(stats.mode)}, so every user of the device can change it`,
      `run chmod o-w ${shellWord(path)}`,
    )
  try {
    accessSync(path, constants.R_OK | constants.X_OK)
    return pass(check, `${path} is there`)
  } catch (error) {
    return fail(
      check,
      `${path} cannot be used, since ${errnoText(systemErrno(error))}`,
      `run chmod u+rwx ${shellWord(path)}, or name another one`,
    )
  }
}

/** The socket of whoever may do everything: nobody else may put another one in its place. */
export function* checkSocketDirectory(check: string, path: string): Iterable<Finding> {
  const stats = statOf(dirname(path))
  if (stats === undefined || (stats.mode & WRITABLE_BY_ALL) === 0 || (stats.mode & STICKY) !== 0) return
  const directory = dirname(path)
  yield fail(
    check,
    `${directory} has mode ${octal(stats.mode)}, so everybody can put another socket there`,
    `run chmod o-w ${shellWord(directory)}`,
  )
}

/** Keys of agents beside the configuration, as `init` puts them there. */
function* checkKeyFiles({ agents }: Config, configPath: string): Iterable<Finding> {
  const directory = join(dirname(configPath), 'keys')
  let names: readonly string[]
  try {
    names = readdirSync(directory).filter((name) => name.endsWith('.key'))
  } catch {
    return
  }
  for (const name of names.slice(0, KEY_FILES)) {
    const path = join(directory, name)
    const index = agents.findIndex((agent) => `${agent.name}.key` === name)
    const check = index === -1 ? 'agents' : `agents[${index}].public_key`
    // A key in PEM may lie here as well, and is whoever's.
    if ((statOf(path)?.size ?? 0) > KEY_FILE_BYTES && isPem(path)) continue
    try {
      const seed = readPrivateKey(path)
      const written = encodeBase64Url(seed)
      const own = encodeBase64Url(publicKeyOf(seed))
      seed.fill(0)
      const published = agents.findIndex((agent) => agent.public_key === written)
      if (published !== -1) {
        yield fail(
          `agents[${published}].public_key`,
          `is the private key of ${path}`,
          `write "${own}" and make a new pair with sass-edge keygen, for this one is no secret any more`,
        )
      } else if (index !== -1 && agents[index]?.public_key !== own)
        yield fail(check, `is not the public half of ${path}`, `write "${own}", or move that file away`)
    } catch (error) {
      const known = knownError(error)
      yield failFrom(check, known)
    }
  }
}

function isPem(path: string): boolean {
  return attempt(() => readFileSync(path, 'latin1').startsWith('-----BEGIN'), false)
}

/** Agents whose public key is the private half of another agent's: both are 32 bytes, and mixed up easily. */
function* checkMixedKeys({ agents }: Config): Iterable<Finding> {
  const byKey = new Map(agents.map(({ public_key }, index) => [public_key, index]))
  for (const [index, { public_key }] of agents.entries()) {
    const seed = decodeBase64Url(public_key, KEY_FILE_BYTES)
    if (seed?.length !== KEY_FILE_BYTES) continue
    const other = byKey.get(encodeBase64Url(publicKeyOf(seed)))
    if (other === undefined) continue
    yield fail(
      `agents[${index}].public_key`,
      `is the private key of agents[${other}]`,
      'take this agent out and make a new pair with sass-edge keygen for both',
    )
  }
}

/** The program that is run by the daemon itself: nobody else may choose it. */
function* checkAlerts({ alerts, state_directory: state }: Config): Iterable<Finding> {
  const check = 'alerts.program'
  const { program } = alerts
  if (program === null) return
  try {
    accessSync(program, constants.X_OK)
    yield* checkTrusted(check, program, state)
  } catch (error) {
    const why = errnoText(systemErrno(error))
    yield fail(
      check,
      `${program} cannot be run, since ${why}`,
      `run chmod u+x ${shellWord(program)}, or name another one`,
    )
  }
}

/** Everything about files that the configuration names or lies in. `text`: the configuration as it is. */
export function* checkFiles(config: Config, configPath: string, text: string): Iterable<Finding> {
  const { policy, state_directory: state } = config
  yield* checkTrusted('', configPath, state)
  if (policy.rules_file !== null) yield* checkTrusted('policy.rules_file', policy.rules_file, state)
  if (PRIVATE_KEY.test(text))
    yield fail(
      '',
      `${configPath} holds a private key, and is shown and copied`,
      'take it out and make a new one: this one is no secret any more',
    )
  yield* checkAlerts(config)
  yield* checkKeyFiles(config, configPath)
  yield* checkMixedKeys(config)
}
