/**
 * A new installation in one directory: configuration, keys of one agent and one operator, state, workspace.
 * Used by `sass-edge init DIR` and by a daemon that starts where no configuration is. Loopback only.
 * Never overwrites. A directory that did not exist appears complete or not at all; in one that did, the configuration
 * comes last, so without it the installation is not there.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { encodeBase64Url } from '../../base/encoding/base64.ts'
import { formatJson } from '../../base/encoding/json-text.ts'
import { utf8Length } from '../../base/encoding/utf8.ts'
import { createFile, makeDirectories, syncDirectory, systemErrno, whyNotMade } from '../../base/files.node.ts'
import { isName } from '../../base/text/name.ts'
import type { Environment } from '../../base/user-directory.ts'
import { DEFAULT_CAPABILITY, SECRETS_WORD, WORKSPACE_WORD } from '../../config/caller-fields.ts'
import { EGRESS_SHIPPED } from '../../config/egress-fields.ts'
import { READ_PLACES } from '../../config/sandbox-fields.ts'
import { configSchema } from '../../config/schema.ts'
import { SassError } from '../../errors.ts'
import { DEFAULT_PORT, SOCKET_PATH_BYTES } from '../../limits.ts'
import { createKeyFiles } from '../state/key-file.node.ts'
import { callerPlaces } from './caller-places.node.ts'
import { CONFIG_NAME } from './config-file.node.ts'
import { gitSettings } from './git-settings.node.ts'

const DIRECTORY_MODE = 0o700
const CONFIG_MODE = 0o600
const SCHEMA_MODE = 0o644
const SCHEMA_NAME = 'sass.edge.schema.json'
const KEYS = 'keys'
const STATE = 'state'
const WORKSPACE = 'workspace'
/** Everything that an installation puts into its directory, the configuration last. */
const PARTS = [KEYS, STATE, WORKSPACE, SCHEMA_NAME, CONFIG_NAME] as const

export type InstallationOptions = {
  /** Default `agent`. */
  readonly agentName?: string
  /** Default `operator`. */
  readonly operatorName?: string
  /** Default 127.0.0.1; must be a loopback address. */
  readonly address?: string
  /** Default 19284; 0 takes any free port at each start. */
  readonly port?: number
  /** Where commands start: an absolute path, or absent for a `workspace` of its own. */
  readonly workspaceRoot?: string
  /**
   * Of whoever makes it: PATH, whose programs commands shall find wherever they lie, and where the place of runtime sockets
   * is looked up when DIRECTORY is too long for one. Absent: the programs of the system alone.
   */
  readonly environment?: Environment
  /** What commands may reach; absent: what ships. */
  readonly egress?: readonly string[]
  /** With founding rules (docs/security.md). */
  readonly isStrict?: boolean
}

/** What nobody who works in an agent's place has any business with: no branch holds it back. */
const FORBIDDEN = Object.freeze(['shutdown', 'mkfs*', 'insmod'])

/** Absolute paths of what was made, and the public keys in base64url. */
export type Installation = {
  readonly directory: string
  readonly configPath: string
  readonly workspaceRoot: string
  /** What PATH brought into the list of what commands can read. */
  readonly readToo: readonly string[]
  readonly agent: { readonly name: string; readonly keyPath: string; readonly publicKey: string }
  readonly operator: { readonly name: string; readonly keyPath: string; readonly publicKey: string }
}

function refusal(directory: string, sentence: string, cause?: unknown): SassError {
  return new SassError('STATE_UNWRITABLE', sentence, { path: directory }, cause)
}

/** What of an installation is in `directory` already. */
function present(directory: string): readonly string[] {
  return PARTS.filter((part) => existsSync(join(directory, part)))
}

/**
 * The admin socket: in the directory, or where only we may write when its path would not fit into a socket address.
 * Never in /tmp, where anybody could be there first after a restart.
 */
function socketPath(directory: string, environment: Environment): string {
  if (utf8Length(join(directory, 'admin.sock')) <= SOCKET_PATH_BYTES) return 'admin.sock'
  const id = randomBytes(6).toString('hex')
  const { XDG_RUNTIME_DIR: runtime, HOME: home } = environment
  const candidates = [
    process.geteuid?.() === 0 ? `/run/sass-edge-${id}.sock` : undefined,
    runtime?.startsWith('/') ? join(runtime, `sass-edge-${id}.sock`) : undefined,
    home?.startsWith('/') ? join(home, `.sass-edge-${id}.sock`) : undefined,
  ]
  const path = candidates.find(
    (candidate) => candidate !== undefined && utf8Length(candidate) <= SOCKET_PATH_BYTES,
  )
  if (path !== undefined) return path
  const sentence = `The path ${directory} is too long for a Unix socket beneath it: choose a shorter one or set XDG_RUNTIME_DIR.`
  throw refusal(directory, sentence)
}

function writeParts(stage: string, directory: string, options: InstallationOptions): Installation {
  const agentName = options.agentName ?? 'agent'
  const operatorName = options.operatorName ?? 'operator'
  mkdirSync(join(stage, KEYS), { mode: DIRECTORY_MODE })
  mkdirSync(join(stage, STATE), { mode: DIRECTORY_MODE })
  if (options.workspaceRoot === undefined) mkdirSync(join(stage, WORKSPACE), { mode: DIRECTORY_MODE })
  const agentKey = encodeBase64Url(createKeyFiles(join(stage, KEYS, agentName)).publicKey)
  const operatorKey = encodeBase64Url(createKeyFiles(join(stage, KEYS, operatorName)).publicKey)
  const { PATH: searchPath = '', HOME: home } = options.environment ?? {}
  const settings = gitSettings(home)
  const readToo = [
    ...callerPlaces(searchPath, READ_PLACES, home),
    ...(settings === undefined ? [] : [settings]),
  ]
  const config = {
    $schema: `./${SCHEMA_NAME}`,
    listen: {
      address: options.address ?? '127.0.0.1',
      port: options.port ?? DEFAULT_PORT,
      admin_socket: socketPath(directory, options.environment ?? {}),
    },
    state_directory: STATE,
    acl: { allow: ['127.0.0.0/8', '::1'] },
    agents: [
      { name: agentName, public_key: agentKey, role: 'agent', capability: DEFAULT_CAPABILITY },
      { name: operatorName, public_key: operatorKey, role: 'operator', capability: DEFAULT_CAPABILITY },
    ],
    capabilities: {
      [DEFAULT_CAPABILITY]: {
        allowed_commands: ['*'],
        allowed_paths: [WORKSPACE_WORD],
        allowed_env: ['*'],
        ...(options.isStrict === true ? { forbidden_commands: FORBIDDEN } : {}),
      },
    },
    // Written out, though it is what holds without: what commands see, change and reach is to be seen.
    sandbox: {
      branch_roots: [WORKSPACE_WORD],
      read: [...READ_PLACES, ...readToo],
      hidden: [SECRETS_WORD],
      devices: [],
      sockets: [],
      network: 'gate',
      egress: options.egress ?? EGRESS_SHIPPED,
    },
    security: {
      workspace_root: options.workspaceRoot ?? WORKSPACE,
      ...(options.isStrict === true ? { founding_rules: true } : {}),
    },
  }
  createFile(join(stage, SCHEMA_NAME), Buffer.from(`${formatJson(configSchema())}\n`), SCHEMA_MODE)
  createFile(join(stage, CONFIG_NAME), Buffer.from(`${formatJson(config)}\n`), CONFIG_MODE)
  return {
    directory,
    configPath: join(directory, CONFIG_NAME),
    workspaceRoot: options.workspaceRoot ?? join(directory, WORKSPACE),
    readToo,
    agent: { name: agentName, keyPath: join(directory, KEYS, `${agentName}.key`), publicKey: agentKey },
    operator: {
      name: operatorName,
      keyPath: join(directory, KEYS, `${operatorName}.key`),
      publicKey: operatorKey,
    },
  }
}

/** Moves the finished parts out of `stage`; the last of them makes the installation one. */
function publish(stage: string, directory: string, existed: boolean): void {
  if (!existed) {
    renameSync(stage, directory)
    syncDirectory(dirname(directory))
    return
  }
  for (const part of PARTS) {
    const source = join(stage, part)
    // A link never replaces, a rename of a directory only an empty one: nobody's file is lost to a race.
    if (part === CONFIG_NAME || part === SCHEMA_NAME) linkSync(source, join(directory, part))
    else if (existsSync(source)) renameSync(source, join(directory, part))
  }
  rmSync(stage, { recursive: true })
  syncDirectory(directory)
}

/**
 * Makes an installation in `directory`, whose parent is made too where it is missing.
 * @throws SassError USAGE where something of an installation is there already, STATE_UNWRITABLE where it cannot be made
 */
export function makeInstallation(directory: string, options: InstallationOptions = {}): Installation {
  const path = resolve(directory)
  const names = [options.agentName ?? 'agent', options.operatorName ?? 'operator']
  for (const name of names) {
    if (isName(name)) continue
    const sentence = `${JSON.stringify(name)} is not a valid name: use 1 to 64 of the characters A-Z a-z 0-9 . _ -.`
    throw new SassError('USAGE', sentence)
  }
  if (names[0] === names[1]) {
    throw new SassError('USAGE', `Agent and operator cannot both be called ${names[0]}: choose another name.`)
  }
  try {
    const existed = existsSync(path)
    if (existed && !lstatSync(path).isDirectory()) {
      throw refusal(path, `${path} is not a directory: choose another place for the installation.`)
    }
    const found = existed ? present(path) : []
    if (found.length > 0) {
      const sentence = found.includes(CONFIG_NAME)
        ? `${path} already holds an installation (${found.join(', ')}) and nothing was changed: start it with sass-edge run --config ${join(path, CONFIG_NAME)}.`
        : `${path} already holds ${found.join(', ')} but no ${CONFIG_NAME}, and nothing was changed: move that away or choose another directory.`
      throw new SassError('USAGE', sentence, { path, found })
    }
    makeDirectories(existed ? path : dirname(path))
    const stageParent = existed ? path : dirname(path)
    const stage = join(stageParent, `.${basename(path)}-${randomBytes(6).toString('hex')}.tmp`)
    mkdirSync(stage, { mode: DIRECTORY_MODE })
    try {
      const installation = writeParts(stage, path, options)
      publish(stage, path, existed)
      return installation
    } catch (error) {
      rmSync(stage, { recursive: true, force: true })
      throw error
    }
  } catch (error) {
    const errno = systemErrno(error)
    const sentence = `The installation ${path} cannot be made, since ${whyNotMade(error, path)}: correct that or choose another place.`
    throw new SassError('STATE_UNWRITABLE', sentence, { path, errno }, error)
  }
}
