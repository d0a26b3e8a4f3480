/**
 * The tools of a device: every `NAME.tool.json` of `intent.tools`, read at the start and at a reload. A manifest that
 * others can write, that is wrong, whose file is another one than it says, or that wants what is not granted is refused
 * with the reason, and its tool does not exist. The file is looked at again at every call, on the inode that is started.
 * Rules: OpenStarry 05, section 4; docs/plans.md.
 * @module
 */

import { accessSync, constants, existsSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { errnoText, readBounded, systemErrno } from '../../base/files.node.ts'
import { mistakeText } from '../../config/syntax.ts'
import { SassError } from '../../errors.ts'
import { readIntentJson } from '../../intent/canonical/python-json.ts'
import { TOOL_MANIFEST_BYTES, TOOLS_MAX } from '../../intent/tools/limits.ts'
import { readManifest, type ToolManifest, ungranted } from '../../intent/tools/manifest.ts'
import type { ProgramFinder } from '../../sandbox/places/found-program.ts'
import { createProgramFinder } from '../../sandbox/places/program-finder.node.ts'
import type { LoadedTools, RefusedTool } from '../../session/common/plan-room.ts'

const SUFFIX = '.tool.json'
const WRITABLE_BY_OTHERS = 0o022

export type Grants = Readonly<Record<string, { readonly permissions: readonly string[] }>>

/** Why what lies somewhere is not taken as it is; undefined: it is. */
type Trust = (stats: Stats) => string | undefined

/** Why what lies there cannot be trusted; undefined: nobody but root and the daemon's user can change it. */
function untrusted({ uid, mode }: Stats): string | undefined {
  if (uid !== 0 && uid !== (process.geteuid?.() ?? 0)) return 'it belongs to another user, who can change it'
  return (mode & WRITABLE_BY_OTHERS) === 0 ? undefined : 'others can write it: run chmod go-w'
}

function problemOf(cause: unknown): string {
  const errno = systemErrno(cause)
  return `it cannot be read, since ${errnoText(errno)}`
}

/** The manifest in a file, or why it is none. */
function readTool(path: string, trust: Trust): ToolManifest | string {
  try {
    const read = readBounded(path, TOOL_MANIFEST_BYTES, true)
    if (!read.ok) return read.reason === 'too-large' ? 'it is too large' : 'it is no regular file'
    const doubt = trust(read.stats)
    if (doubt !== undefined) return doubt
    const json = readIntentJson(read.bytes, TOOL_MANIFEST_BYTES)
    if (!json.ok) return `it is no such JSON: ${mistakeText(read.bytes, json)}`
    const result = readManifest(json.value)
    if (!result.ok) return result.problem
    const { manifest } = result
    return basename(path) === `${manifest.name}${SUFFIX}`
      ? manifest
      : `its name is ${manifest.name}, not that of the file`
  } catch (cause) {
    return problemOf(cause)
  }
}

/** Why the file of a tool is not the one that its manifest is about; undefined: it is. */
function otherFile(
  { executable: named, sha256 }: ToolManifest,
  finder: ProgramFinder,
  root: string | undefined,
  trust: Trust,
): string | undefined {
  const executable = `${root ?? ''}${named}`
  try {
    if (root !== undefined && !existsSync(executable)) return undefined
    if (realpathSync(executable) !== executable)
      return `${executable} lies behind a symbolic link: name the file itself`
    const stats = statSync(executable)
    if (!stats.isFile()) return `${executable} is no regular file`
    const doubt = trust(stats)
    if (doubt !== undefined) return `${executable}: ${doubt}`
    accessSync(executable, constants.X_OK)
  } catch (cause) {
    return `${executable}: ${problemOf(cause)}`
  }
  const found = finder.pin(executable)?.sha256
  return found === sha256 ? undefined : `${executable} is not the file of that sha256`
}

function namesIn(directory: string, trust: Trust): readonly string[] {
  let names: readonly string[]
  try {
    const doubt = trust(statSync(directory))
    if (doubt !== undefined)
      throw new SassError('CONFIG_INVALID', `The tools in ${directory} cannot be used, since ${doubt}.`, {
        directory,
      })
    names = readdirSync(directory).filter((name) => name.endsWith(SUFFIX))
  } catch (cause) {
    const errno = systemErrno(cause)
    throw new SassError(
      'CONFIG_LOAD_FAILED',
      `The tools in ${directory} cannot be read, since ${errnoText(errno)}: correct that, or change intent.tools.`,
      { directory },
      cause,
    )
  }
  if (names.length <= TOOLS_MAX) return [...names].sort()
  throw new SassError('CONFIG_INVALID', `${directory} has more than ${TOOLS_MAX} tools: take some out.`, {
    directory,
  })
}

/**
 * The tools of a directory. @param directory null: there are none
 * @param root where the files of a device are kept, whoever owns them there; an executable may be absent there
 * @throws SassError CONFIG_LOAD_FAILED or CONFIG_INVALID where the directory itself cannot be used
 */
export function loadTools(directory: string | null, grants: Grants, root?: string): LoadedTools {
  const trust: Trust = root === undefined ? untrusted : () => undefined
  const loaded = new Map<string, ToolManifest>()
  const refused: RefusedTool[] = []
  const finder = createProgramFinder()
  for (const file of directory === null ? [] : namesIn(directory, trust)) {
    const tool = readTool(join(directory ?? '', file), trust)
    const why =
      typeof tool === 'string'
        ? tool
        : (ungranted(tool, Object.hasOwn(grants, tool.name) ? (grants[tool.name]?.permissions ?? []) : []) ??
          otherFile(tool, finder, root, trust))
    if (why !== undefined) refused.push({ file, why })
    else if (typeof tool !== 'string') loaded.set(tool.name, tool)
  }
  return { loaded, refused }
}
