/**
 * The book of enrolments on the disk: `identities.json` in the state directory, so that the configuration may be
 * read-only. One small file, replaced whole; the state directory itself is locked meanwhile, for the daemon and the
 * command line both write it. A book that cannot be read means that nobody knows who was let in: it is refused with what
 * to do. Whoever may not read it, as a user who only looks at the configuration, sees none.
 * Rules: docs/operations.md (enrolment).
 * @module
 */
import { constants, openSync } from 'node:fs'
import { join } from 'node:path'
import { closing } from '../../base/closing.node.ts'
import { decodeBase64Url } from '../../base/encoding/base64.ts'
import { formatJson } from '../../base/encoding/json-text.ts'
import { parseStrictJson } from '../../base/encoding/strict-json.ts'
import { decodeUtf8, encodeUtf8 } from '../../base/encoding/utf8.ts'
import { errnoOf, errnoText, readBounded, replaceFile, systemErrno } from '../../base/files.node.ts'
import { isName } from '../../base/text/name.ts'
import type { AgentConfig, Config } from '../../config/config.ts'
import { tierUnsaid } from '../../config/profile.ts'
import { SassError } from '../../errors.ts'
import { CONFIG_BYTES } from '../../limits.ts'
import type { Clock, Random } from '../../ports.ts'
import {
  type BookStore,
  createEnrolments,
  EMPTY_BOOK,
  type Enrolled,
  type Enrolments,
  type IdentityBook,
  type Invitation,
  type KeyChange,
} from '../../session/callers/enrolments.ts'
import { createFileLock } from './file-lock.node.ts'

export const BOOK_NAME = 'identities.json'
const MODE = 0o600
const LOCK_TRIES = 40
const LOCK_PAUSE_MS = 25

type Entry = Readonly<Record<string, unknown>>

const isKey = (value: unknown): value is string =>
  typeof value === 'string' && decodeBase64Url(value, 32)?.length === 32
const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value)
const hasRights = ({ name, role, capability, by }: Entry): boolean =>
  typeof name === 'string' &&
  isName(name) &&
  (role === 'agent' || role === 'operator') &&
  typeof capability === 'string' &&
  isName(capability) &&
  (by === undefined || (typeof by === 'string' && isName(by)))

const isInvitation = (entry: Entry): boolean =>
  hasRights(entry) &&
  /^[0-9a-f]{64}$/.test(String(entry['digest'])) &&
  isTime(entry['made_at']) &&
  isTime(entry['ttl_seconds'])
const isEnrolled = (entry: Entry): boolean =>
  hasRights(entry) && isKey(entry['public_key']) && isTime(entry['enrolled_at'])
const isKeyChange = ({ name, listed, current, previous, changed_at }: Entry): boolean =>
  typeof name === 'string' &&
  isName(name) &&
  isKey(listed) &&
  isKey(current) &&
  (previous === null || isKey(previous)) &&
  isTime(changed_at)

/** The list where each of its members is one; undefined otherwise. */
function listOf<T>(value: unknown, fits: (entry: Entry) => boolean): readonly T[] | undefined {
  if (!Array.isArray(value)) return undefined
  const isGood = value.every((entry) => typeof entry === 'object' && entry !== null && fits(entry as Entry))
  return isGood ? (value as readonly T[]) : undefined
}

function bookOf(bytes: Uint8Array): IdentityBook | undefined {
  const text = decodeUtf8(bytes)
  const parsed = text === undefined ? undefined : parseStrictJson(text, { size: CONFIG_BYTES, depth: 4 })
  if (parsed?.ok !== true || typeof parsed.value !== 'object' || parsed.value === null) return undefined
  const value = parsed.value as Entry
  const invitations = listOf<Invitation>(value['invitations'], isInvitation)
  const enrolled = listOf<Enrolled>(value['enrolled'], isEnrolled)
  const keys = listOf<KeyChange>(value['keys'], isKeyChange)
  return invitations && enrolled && keys && { invitations, enrolled, keys }
}

function unusable(path: string, why: string, cause?: unknown): SassError {
  return new SassError(
    'STATE_UNWRITABLE',
    `${path} ${why}, so it is not known who has enrolled: look into it, and remove it to begin without any.`,
    { path },
    cause,
  )
}

/**
 * Who is enrolled and invited by that state directory; nobody where there is no book.
 * @throws SassError STATE_UNWRITABLE where it cannot be read: a key that was given up must not come in for that
 */
export function readBook(stateDirectory: string): IdentityBook {
  const path = join(stateDirectory, BOOK_NAME)
  try {
    const read = readBounded(path, CONFIG_BYTES, true)
    const book = read.ok ? bookOf(read.bytes) : undefined
    if (book === undefined) throw unusable(path, 'is damaged')
    return book
  } catch (error) {
    const errno = systemErrno(error)
    if (errno === 'ENOENT' || errno === 'ENOTDIR') return EMPTY_BOOK
    throw unusable(path, `cannot be read, since ${errnoText(errno)}`, error)
  }
}

/** As readBook, for somebody who only tells what is there: nobody, too, where we may not look. */
export function visibleBook(stateDirectory: string): IdentityBook {
  try {
    return readBook(stateDirectory)
  } catch (error) {
    const cause = error instanceof SassError ? error.cause : undefined
    if (errnoOf(cause) === 'EACCES') return EMPTY_BOOK
    throw error
  }
}

/** Whoever holds it does so for the time of one small file: it is waited for, and not for long. */
function locked<T>(stateDirectory: string, use: () => T): T {
  const descriptor = openSync(stateDirectory, constants.O_RDONLY | constants.O_DIRECTORY)
  using _descriptor = closing(descriptor)
  const lock = createFileLock()
  for (let tries = 1; !lock(descriptor); tries++) {
    if (tries === LOCK_TRIES)
      throw new SassError(
        'STATE_UNWRITABLE',
        `Another process holds ${stateDirectory}, so nothing was changed: end it (fuser -v tells which one), and try again.`,
        { path: stateDirectory },
      )
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_PAUSE_MS)
  }
  return use()
}

/** @throws SassError STATE_UNWRITABLE where the book cannot be replaced; then it is as it was */
export function updateBook(
  stateDirectory: string,
  change: (book: IdentityBook) => IdentityBook | undefined,
): IdentityBook {
  const path = join(stateDirectory, BOOK_NAME)
  try {
    return locked(stateDirectory, () => {
      const book = readBook(stateDirectory)
      const next = change(book)
      if (next === undefined) return book
      replaceFile(path, encodeUtf8(`${formatJson(next)}\n`), MODE)
      return next
    })
  } catch (error) {
    const errno = systemErrno(error)
    const sentence = `${path} cannot be written, since ${errnoText(errno)}: nothing was changed.`
    throw new SassError('STATE_UNWRITABLE', sentence, { path, errno }, error)
  }
}

/** Who is enrolled and invited by the book of that state directory, which is read now and replaced at each change. */
export function openEnrolments(stateDirectory: string, clock: Clock, random: Random): Enrolments {
  const store: BookStore = {
    load: () => readBook(stateDirectory),
    update: (change) => updateBook(stateDirectory, change),
  }
  return createEnrolments(store, clock, random)
}

/** Who has enrolled and is nobody of the configuration, in the form that agents have there. */
export function enrolledBeside(
  { agents, security }: Config,
  { enrolled }: IdentityBook,
): readonly AgentConfig[] {
  return enrolled
    .filter(
      (one) => !agents.some(({ name, public_key }) => name === one.name || public_key === one.public_key),
    )
    .map(({ name, public_key, role, capability }) => ({
      ...{ name, public_key, role, capability },
      ...{ tier: tierUnsaid(security.founding_rules, role), tools: ['*'], delegated_by: null },
    }))
}

/** The configuration with those who have enrolled among its agents: what holds, for whoever asks. */
export function withEnrolled(config: Config): Config {
  const enrolled = enrolledBeside(config, visibleBook(config.state_directory))
  return enrolled.length === 0 ? config : { ...config, agents: [...config.agents, ...enrolled] }
}
