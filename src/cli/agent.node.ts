/**
 * `sass-edge agent add|list|remove`: the callers that may authenticate. The file is edited in place, atomically; the
 * result is checked whole before it replaces the old one, and the layout of all the rest stays.
 * @module
 */

import { mkdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { encodeBase64Url } from '../base/base64.ts'
import { checkPublicKey } from '../base/ed25519-key.ts'
import { errnoOf, errnoText, replaceFile } from '../base/files.node.ts'
import { isName } from '../base/name.ts'
import { parseStrictJson } from '../base/strict-json.ts'
import { nearest } from '../base/suggest.ts'
import { ALL_TOOLS, isTool, TIER_NAMES, TOOLS } from '../base/tool-name.ts'
import { parseConfig } from '../config.ts'
import { DEFAULT_CAPABILITY } from '../config-caller-fields.ts'
import { type LoadedConfig, problemText } from '../edge/config-file.node.ts'
import { createKeyFiles, readPublicKey } from '../edge/key-file.node.ts'
import { SassError } from '../errors.ts'
import { CONFIG_BYTES } from '../limits.ts'
import { optionValue } from './arguments.ts'
import type { Command, CommandContext } from './command.ts'
import { setMember } from './config-edit.ts'
import { EXIT } from './exit-codes.ts'
import { alignColumns } from './listing.ts'
import { localConfig, takeWords } from './local-config.node.ts'
import { SUMMARIES } from './summaries.ts'

const RESTART_LINE = 'Restart the daemon to apply it.'

/** The agents in the form of the file. */
function listed(loaded: LoadedConfig): readonly unknown[] {
  const value = loaded.value
  const agents = typeof value === 'object' && value !== null && 'agents' in value ? value.agents : []
  return Array.isArray(agents) ? agents : []
}

/** The text of the file with other agents, proven to be a valid configuration. */
function editedText(loaded: LoadedConfig, agents: readonly unknown[]): string {
  const text = setMember(loaded.text, 'agents', agents)
  const parsed = parseStrictJson(text, { size: CONFIG_BYTES })
  if (!parsed.ok)
    throw new SassError(
      'CONFIG_INVALID',
      `${loaded.path} would not be valid any more, since ${parsed.problem}: nothing was changed.`,
    )
  const result = parseConfig(parsed.value, { configDirectory: dirname(loaded.path) })
  if (result.ok) return text
  const first = result.problems[0]
  const why = first === undefined ? '' : `, since ${problemText(first)}`
  throw new SassError(
    'CONFIG_INVALID',
    `${loaded.path} would not be valid any more${why}: nothing was changed.`,
    {
      problems: result.problems,
    },
  )
}

/** Replaces the file itself, not a link to it, and keeps its mode and owner. */
function writeEdited(loaded: LoadedConfig, text: string): void {
  try {
    const path = realpathSync(loaded.path)
    const stats = statSync(path)
    replaceFile(path, Buffer.from(text), stats.mode & 0o777, stats)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    const sentence = `${loaded.path} cannot be written, since ${errnoText(errno)}: nothing was changed.`
    throw new SassError('STATE_UNWRITABLE', sentence, { path: loaded.path, errno }, error)
  }
}

function makeKeyDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    const sentence = `The directory ${path} cannot be made, since ${errnoText(errno)}: correct that or bring a key with --key.`
    throw new SassError('STATE_UNWRITABLE', sentence, { path, errno }, error)
  }
}

/** What is written of an agent's tools and of whom it acts for: only what was given, the rest is the default. */
function rightsOf(context: CommandContext): { tier?: string; tools?: string[]; delegated_by?: string } {
  const { options } = context.arguments
  const tier = optionValue(options, 'tier')
  if (tier !== undefined && !(TIER_NAMES as readonly string[]).includes(tier))
    throw new SassError('USAGE', `--tier is one of ${TIER_NAMES.join(', ')}: write one of them.`)
  const tools = optionValue(options, 'tools')?.split(',').filter(Boolean)
  const unknown = tools?.find((tool) => tool !== ALL_TOOLS && !isTool(tool))
  if (unknown !== undefined) {
    const meant = nearest(unknown, TOOLS)
    const hint = meant === undefined ? `write some of ${TOOLS.join(', ')} or *` : `the nearest is ${meant}`
    throw new SassError('USAGE', `${JSON.stringify(unknown.slice(0, 32))} is no tool: ${hint}.`)
  }
  const delegatedBy = optionValue(options, 'delegated-by')
  return {
    ...(tier === undefined ? {} : { tier }),
    ...(tools === undefined ? {} : { tools }),
    ...(delegatedBy === undefined ? {} : { delegated_by: delegatedBy }),
  }
}

function add(context: CommandContext, loaded: LoadedConfig, name: string): number {
  const { options } = context.arguments
  if (!isName(name)) {
    throw new SassError('USAGE', 'This is not a valid name: use 1 to 64 of the characters A-Z a-z 0-9 . _ -.')
  }
  if (loaded.config.agents.some((agent) => agent.name === name)) {
    throw new SassError('USAGE', `${name} is listed already: remove it first or choose another name.`)
  }
  const role = optionValue(options, 'role') ?? 'agent'
  if (role !== 'agent' && role !== 'operator')
    throw new SassError('USAGE', '--role is agent or operator: write one of them.')
  const capability = optionValue(options, 'capability') ?? DEFAULT_CAPABILITY
  if (!Object.hasOwn(loaded.config.capabilities, capability)) {
    const meant = nearest(capability, Object.keys(loaded.config.capabilities))
    const hint = meant === undefined ? 'add it to capabilities first' : `the nearest is ${meant}`
    throw new SassError('USAGE', `The configuration has no capability set of this name: ${hint}.`)
  }
  const rights = { role, capability, ...rightsOf(context) }
  const keyOption = optionValue(options, 'key')
  const base = join(dirname(loaded.path), 'keys', name)
  const entryFor = (key: Uint8Array) => ({ name, public_key: encodeBase64Url(key), ...rights })
  const save = (key: Uint8Array) =>
    writeEdited(loaded, editedText(loaded, [...listed(loaded), entryFor(key)]))
  let key: Uint8Array
  if (keyOption !== undefined) {
    key = readPublicKey(resolve(context.cwd, keyOption), checkPublicKey)
    save(key)
  } else {
    makeKeyDirectory(dirname(base))
    key = createKeyFiles(base).publicKey
    try {
      save(key)
    } catch (error) {
      // Nobody knows these keys yet: without them the same command can be given again.
      for (const path of [`${base}.key`, `${base}.pub`]) rmSync(path, { force: true })
      throw error
    }
  }
  const entry = entryFor(key)
  const lines = [`Added ${role} ${name} with capability ${capability} to ${loaded.path}.`]
  if (keyOption === undefined) lines.push(`Its private key is ${base}.key: move it to where it is used.`)
  context.output.result(
    { added: entry, config: loaded.path, ...(keyOption === undefined ? { key_file: `${base}.key` } : {}) },
    [...lines, RESTART_LINE],
  )
  return EXIT.OK
}

function remove(context: CommandContext, loaded: LoadedConfig, name: string): number {
  const names = loaded.config.agents.map((agent) => agent.name)
  const index = names.indexOf(name)
  if (index === -1) {
    const meant = nearest(name, names)
    const hint = meant === undefined ? 'sass-edge agent list shows them' : `the nearest is ${meant}`
    throw new SassError('USAGE', `There is no agent of this name in ${loaded.path}: ${hint}.`)
  }
  writeEdited(loaded, editedText(loaded, listed(loaded).toSpliced(index, 1)))
  context.output.result({ removed: name, config: loaded.path }, [
    `Removed ${name} from ${loaded.path}; its key files stay where they are.`,
    RESTART_LINE,
  ])
  return EXIT.OK
}

function list(context: CommandContext, loaded: LoadedConfig): number {
  const agents = loaded.config.agents
  const lines =
    agents.length === 0
      ? ['Nobody is listed: add a caller with sass-edge agent add NAME.']
      : alignColumns([
          ['NAME', 'ROLE', 'KEY', 'CAPABILITY', 'TIER', 'TOOLS', 'ACTS FOR'],
          ...agents.map((agent) => [
            agent.name,
            agent.role,
            agent.public_key,
            agent.capability,
            agent.tier,
            agent.tools.length === 0 ? 'none' : agent.tools.join(','),
            agent.delegated_by ?? '-',
          ]),
        ])
  context.output.result({ agents }, lines)
  return EXIT.OK
}

export const command: Command = {
  name: 'agent',
  summary: SUMMARIES.agent,
  usage: [
    'agent add NAME [--role ROLE] [--capability SET] [--tier TIER] [--tools A,B] [--delegated-by NAME] [--key FILE]',
    'agent list',
    'agent remove NAME',
  ],
  options: [
    { name: 'role', value: 'ROLE', description: 'agent (the default) or operator' },
    { name: 'capability', value: 'SET', description: 'the capability set that bounds it (default)' },
    { name: 'tier', value: 'TIER', description: 'the tools that it may have at most: T1 to T5 (T3)' },
    { name: 'tools', value: 'A,B', description: 'the tools of its tier that it has (all)' },
    { name: 'delegated-by', value: 'NAME', description: 'the agent for whom it acts (itself)' },
    {
      name: 'key',
      value: 'FILE',
      description: 'its public key, 32 raw bytes; without it a new pair is made in keys/',
    },
  ],
  examples: [
    { line: 'sass-edge agent add laptop --key laptop.pub', does: 'let a key in that was made elsewhere' },
    {
      line: 'sass-edge agent add ci --capability build',
      does: 'make a key here, bounded by capabilities.build',
    },
    {
      line: 'sass-edge agent add helper --tier T2 --tools Read,Bash --delegated-by ci',
      does: 'one that acts for ci, and may do no more than both may',
    },
    { line: 'sass-edge agent remove laptop', does: 'shut it out' },
  ],
  async run(context) {
    const [action, name, ...more] = takeWords(context, 2)
    if (action === 'list' && name === undefined && more.length === 0)
      return list(context, localConfig(context))
    if ((action !== 'add' && action !== 'remove') || name === undefined) {
      throw new SassError('USAGE', 'agent can add NAME, list and remove NAME: see sass-edge agent --help.')
    }
    const loaded = localConfig(context)
    return action === 'add' ? add(context, loaded, name) : remove(context, loaded, name)
  },
}
