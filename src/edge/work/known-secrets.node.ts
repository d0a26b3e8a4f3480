/**
 * The secrets that this device knows, so that they are hidden wherever they are printed: what the operator names, the
 * daemon's own private keys, secrets in its environment, and what files of settings in the workspace hold. Beside them
 * canaries: what is there for nothing but to be found where it should not be.
 * Read only: at most so many files of so many bytes, no links followed, and what cannot be read is left out, since then no
 * command of this user reads it either.
 * Rules: docs/firewall.md, "Known secrets".
 * @module
 */
import { randomBytes } from 'node:crypto'
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from '../../base/attempt.ts'
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { createFile } from '../../base/files.node.ts'
import { bytesAt } from '../../base/small-file.node.ts'
import { SETTINGS_FILE_BYTES, SETTINGS_FILES } from '../../defense/firewall/limits.ts'
import type { SecretTables } from '../../defense/firewall/secrets/kinds.ts'
import type { KnownValue } from '../../defense/firewall/secrets/known.ts'
import { createSecretPass } from '../../defense/firewall/secrets/pass.ts'
import { KEY_FILE_BYTES } from '../../limits.ts'

export type KnownPlaces = {
  /** Of the operator: a secret a line, and a canary a line. */
  readonly secretsFile: string | null
  readonly canariesFile: string | null
  readonly stateDirectory: string
  readonly workspaceRoot: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Names of variables whose values are secrets; PWD alone is where somebody is. */
const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)?|_PWD|CREDENTIALS?)$/i
/** `.env`, `.env.production`, `production.env`. */
const SETTINGS_NAME = /^(?:\.env(?:\..+)?|.+\.env)$/
/** In the state directory, which no session sees: whoever prints it has been there. */
const CANARY_FILE = 'canary'
const CANARY_BYTES = 16
const CANARY_MODE = 0o600
const PEM_LINE = /^[A-Za-z0-9+/=]{16,}$/

const settingsAt = (path: string): Uint8Array | undefined => bytesAt(path, SETTINGS_FILE_BYTES, true)

const bytesOf = (texts: readonly string[]): Uint8Array[] =>
  texts.map((text) => new Uint8Array(Buffer.from(text)))

function linesAt(path: string): string[] {
  const bytes = settingsAt(path)
  const text = bytes === undefined ? undefined : decodeUtf8(bytes)
  return (text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** Names in a directory that fit, the first of them; none where it cannot be read. */
function namesIn(directory: string, fits: (name: string) => boolean): string[] {
  return attempt(() => readdirSync(directory).filter(fits).sort().slice(0, SETTINGS_FILES), [])
}

const settingsIn = (root: string): string[] =>
  namesIn(root, (name) => SETTINGS_NAME.test(name)).map((name) => join(root, name))

/** Private keys of the daemon: of its record, of which each epoch has its own, of its connections, and as a sender. */
const keysIn = (stateDirectory: string): string[] =>
  [stateDirectory, join(stateDirectory, 'intent')].flatMap((directory) =>
    namesIn(directory, (name) => name.endsWith('.key')).map((name) => join(directory, name)),
  )

/** Raw keys, and the lines of a PEM file's body: each is told where it is printed without the rest. */
function ownKeys(stateDirectory: string): Uint8Array[] {
  return keysIn(stateDirectory).flatMap((path) => {
    const bytes = settingsAt(path)
    if (bytes?.length === KEY_FILE_BYTES) return [bytes]
    return bytesOf(linesAt(path).filter((line) => PEM_LINE.test(line)))
  })
}

/** What the firewall itself would hide of a file. */
function secretsIn(path: string, tables: SecretTables): Uint8Array[] {
  const bytes = settingsAt(path)
  if (bytes === undefined) return []
  const found: Uint8Array[] = []
  const pass = createSecretPass(tables, new Uint8Array(SETTINGS_FILE_BYTES))
  const emit: Parameters<typeof pass.push>[1] = (_bytes, _offset, _span, secret) => {
    if (secret !== undefined) found.push(secret.slice())
  }
  pass.push(bytes, emit)
  pass.finish(emit)
  return found
}

/** Whatever changes when one of the files does: to be asked again and again. */
export function knownMark({
  secretsFile,
  canariesFile,
  stateDirectory,
  workspaceRoot,
}: Omit<KnownPlaces, 'environment'>): string {
  const named = [secretsFile, canariesFile].filter((path) => path !== null)
  const paths = [...named, ...keysIn(stateDirectory), ...settingsIn(workspaceRoot)]
  const marks = paths.map((path) => {
    try {
      const { ino, size, mtimeMs } = lstatSync(path)
      return `${path} ${ino} ${size} ${mtimeMs}`
    } catch {
      return path
    }
  })
  return marks.join('\n')
}

/** What nobody has a reason to print: of this daemon, made at its first start. Undefined: it cannot be kept. */
function ownCanary(directory: string): string | undefined {
  const path = join(directory, CANARY_FILE)
  const [known] = linesAt(path)
  if (known !== undefined) return known
  const made = `sass-edge-canary-${randomBytes(CANARY_BYTES).toString('hex')}`
  try {
    createFile(path, new Uint8Array(Buffer.from(`${made}\n`)), CANARY_MODE)
    return made
  } catch {
    return undefined
  }
}

/**
 * Canaries and secrets, what is surest first.
 * @param tablesOf gives what finds secrets in files of settings: asked where there are some
 */
export function readKnownSecrets(places: KnownPlaces, tablesOf: () => SecretTables): KnownValue[] {
  const { secretsFile, canariesFile, stateDirectory, workspaceRoot, environment } = places
  const set = Object.entries(environment).flatMap(([name, value]) =>
    // Where a secret is, is none.
    value !== undefined && SECRET_NAME.test(name) && !value.startsWith('/') ? [value] : [],
  )
  const settings = settingsIn(workspaceRoot)
  const tables = settings.length === 0 ? undefined : tablesOf()
  const found = tables === undefined ? [] : settings.flatMap((path) => secretsIn(path, tables))
  const canary = ownCanary(stateDirectory)
  const canaries = [
    ...(canary === undefined ? [] : [canary]),
    ...(canariesFile === null ? [] : linesAt(canariesFile)),
  ]
  const named = secretsFile === null ? [] : linesAt(secretsFile)
  const secrets = [...bytesOf(named), ...ownKeys(stateDirectory), ...bytesOf(set), ...found]
  const all: KnownValue[] = [
    ...bytesOf(canaries).map((bytes) => ({ kind: 'canary', bytes }) as const),
    ...secrets.map((bytes) => ({ kind: 'known-secret', bytes }) as const),
  ]
  const once = new Map(all.toReversed().map((value) => [Buffer.from(value.bytes).toString('base64'), value]))
  return [...once.values()].toReversed()
}
