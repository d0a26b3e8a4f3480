/**
 * `sass-edge agent invite|add|list|remove`: the callers that may authenticate. The file is edited in place, atomically; the
 * result is checked whole before it replaces the old one, and the layout of all the rest stays.
 * @module
 */

import { existsSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { checkPublicKey } from '../../base/crypto/ed25519-key.ts'
import { encodeBase64Url } from '../../base/encoding/base64.ts'
import { makePrivateDirectory } from '../../base/files.node.ts'
import { isName } from '../../base/text/name.ts'
import { nearest } from '../../base/text/suggest.ts'
import { ALL_TOOLS, isTool, TIER_NAMES, TOOLS } from '../../base/tool-name.ts'
import { DEFAULT_CAPABILITY } from '../../config/caller-fields.ts'
import type { AgentConfig } from '../../config/config.ts'
import type { LoadedConfig } from '../../edge/setup/config-file.node.ts'
import { enrolledBeside, updateBook, visibleBook } from '../../edge/state/identity-book.node.ts'
import { createKeyFiles, readPublicKey } from '../../edge/state/key-file.node.ts'
import { misuse } from '../../errors.ts'
import type { IdentityBook } from '../../session/callers/enrolments.ts'
import { editedText, writeEdited } from '../common/config-writer.node.ts'
import { localConfig, takeWords } from '../common/local-config.node.ts'
import { utcTime } from '../common/operator.node.ts'
import { makingError } from '../common/system-error.node.ts'
import { optionValue } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { alignColumns } from '../words/listing.ts'

const RELOAD_LINE = 'Have the daemon apply it with sass-edge reload.'

/** The agents in the form of the file. */
function listed(loaded: LoadedConfig): readonly unknown[] {
  const value = loaded.value
  const agents = typeof value === 'object' && value !== null && 'agents' in value ? value.agents : []
  return Array.isArray(agents) ? agents : []
}

function makeKeyDirectory(path: string): void {
  try {
    makePrivateDirectory(path)
  } catch (error) {
    throw makingError(
      error,
      'STATE_UNWRITABLE',
      path,
      (since) =>
        `The directory ${path} cannot be made, since ${since}: correct that or bring a key with --key.`,
    )
  }
}

/** What is written of an agent's tools and of whom it acts for: only what was given, the rest is the default. */
function rightsOf(context: CommandContext): { tier?: string; tools?: string[]; delegated_by?: string } {
  const { options } = context.arguments
  const tier = optionValue(options, 'tier')
  if (tier !== undefined && !(TIER_NAMES as readonly string[]).includes(tier))
    throw misuse(`--tier is one of ${TIER_NAMES.join(', ')}: write one of them.`)
  const tools = optionValue(options, 'tools')?.split(',').filter(Boolean)
  const unknown = tools?.find((tool) => tool !== ALL_TOOLS && !isTool(tool))
  if (unknown !== undefined) {
    const meant = nearest(unknown, TOOLS)
    const hint = meant === undefined ? `write some of ${TOOLS.join(', ')} or *` : `the nearest is ${meant}`
    throw misuse(`${JSON.stringify(unknown.slice(0, 32))} is no tool: ${hint}.`)
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
    throw misuse('This is not a valid name: use 1 to 64 of the characters A-Z a-z 0-9 . _ -.')
  }
  const { enrolled } = visibleBook(loaded.config.state_directory)
  if ([...loaded.config.agents, ...enrolled].some((agent) => agent.name === name)) {
    throw misuse(`${name} is listed already: remove it first or choose another name.`)
  }
  const role = optionValue(options, 'role') ?? 'agent'
  if (role !== 'agent' && role !== 'operator') throw misuse('--role is agent or operator: write one of them.')
  const capability = optionValue(options, 'capability') ?? DEFAULT_CAPABILITY
  if (!Object.hasOwn(loaded.config.capabilities, capability)) {
    const meant = nearest(capability, Object.keys(loaded.config.capabilities))
    const hint = meant === undefined ? 'add it to capabilities first' : `the nearest is ${meant}`
    throw misuse(`The configuration has no capability set of this name: ${hint}.`)
  }
  const rights = { role, capability, ...rightsOf(context) }
  const keyOption = optionValue(options, 'key')
  const base = join(dirname(loaded.path), 'keys', name)
  const entryFor = (key: Uint8Array) => ({ name, public_key: encodeBase64Url(key), ...rights })
  const save = (key: Uint8Array) =>
    writeEdited(loaded, editedText(loaded, 'agents', [...listed(loaded), entryFor(key)]))
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
  return context.output.result(
    { added: entry, config: loaded.path, ...(keyOption === undefined ? { key_file: `${base}.key` } : {}) },
    [...lines, RELOAD_LINE],
  )
}

/** Takes all that the book has under a name out of it; false where it has nothing. */
function removeFromBook(stateDirectory: string, name: string): boolean {
  if (!existsSync(stateDirectory)) return false
  let isHere = false
  updateBook(stateDirectory, ({ invitations, enrolled, keys }) => {
    const others = <T extends { readonly name: string }>(list: readonly T[]) =>
      list.filter((one) => one.name !== name)
    const next = { invitations: others(invitations), enrolled: others(enrolled), keys: others(keys) }
    isHere =
      next.invitations.length < invitations.length ||
      next.enrolled.length < enrolled.length ||
      next.keys.length < keys.length
    return isHere ? next : undefined
  })
  return isHere
}

function remove(context: CommandContext, loaded: LoadedConfig, name: string): number {
  const names = loaded.config.agents.map((agent) => agent.name)
  const index = names.indexOf(name)
  const isHere = removeFromBook(loaded.config.state_directory, name)
  if (index === -1 && !isHere) {
    const { enrolled } = visibleBook(loaded.config.state_directory)
    const meant = nearest(name, [...names, ...enrolled.map((agent) => agent.name)])
    const hint = meant === undefined ? 'sass-edge agent list shows them' : `the nearest is ${meant}`
    throw misuse(`There is no agent of this name in ${loaded.path}: ${hint}.`)
  }
  if (index !== -1) writeEdited(loaded, editedText(loaded, 'agents', listed(loaded).toSpliced(index, 1)))
  const where = index === -1 ? 'those who have enrolled or are invited' : loaded.path
  return context.output.result({ removed: name, config: loaded.path }, [
    `Removed ${name} from ${where}; its key files stay where they are.`,
    RELOAD_LINE,
  ])
}

/** Under which key each may come in now. */
function withKeys(agents: readonly AgentConfig[], { keys }: IdentityBook): readonly AgentConfig[] {
  return agents.map((agent) => {
    const change = keys.find(({ name, listed }) => name === agent.name && listed === agent.public_key)
    return change === undefined ? agent : { ...agent, public_key: change.current }
  })
}

function list(context: CommandContext, loaded: LoadedConfig): number {
  const book = visibleBook(loaded.config.state_directory)
  const configured = withKeys(loaded.config.agents, book)
  const enrolled = withKeys(enrolledBeside(loaded.config, book), book)
  const agents = [...configured, ...enrolled]
  const open = book.invitations.map((one) => ({ ...one, expires_at: one.made_at + one.ttl_seconds }))
  const lines =
    agents.length === 0
      ? ['Nobody is listed: invite a caller with sass-edge agent invite NAME.']
      : alignColumns([
          ['NAME', 'ROLE', 'KEY', 'CAPABILITY', 'TIER', 'TOOLS', 'ACTS FOR', 'LISTED'],
          ...agents.map((agent, index) => [
            agent.name,
            agent.role,
            agent.public_key,
            agent.capability,
            agent.tier,
            agent.tools.length === 0 ? 'none' : agent.tools.join(','),
            agent.delegated_by ?? '-',
            index < configured.length ? 'configuration' : 'enrolled',
          ]),
        ])
  for (const { name, role, capability, expires_at } of open)
    lines.push(`${name} is invited as ${role} with capability ${capability} until ${utcTime(expires_at)}.`)
  const invited = open.map(({ name, role, capability, expires_at }) => ({
    name,
    role,
    capability,
    expires_at,
  }))
  return context.output.result({ agents: configured, enrolled, invited }, lines)
}

export const command: Command = {
  usage: [
    'agent invite NAME [--role ROLE] [--capability SET] [--ttl TIME] [--address HOST[:PORT]]...',
    'agent add NAME [--role ROLE] [--capability SET] [--tier TIER] [--tools A,B] [--delegated-by NAME] [--key FILE]',
    'agent list',
    'agent remove NAME',
  ],
  options: {
    '--role ROLE': 'agent (the default) or operator',
    '--capability SET': 'the capability set that bounds it (default)',
    '--tier TIER': 'the tools that it may have at most: T1 to T5 (T3)',
    '--tools A,B': 'the tools of its tier that it has (all)',
    '--delegated-by NAME': 'the agent for whom it acts (itself)',
    '--key FILE': 'add: its public key, 32 raw bytes; without it a new pair is made in keys/',
    '--ttl TIME': 'invite: how long the line is good, up to 7d (1h)',
    '--address HOST[:PORT]...': 'invite: where clients reach the device, up to four (where it listens)',
    '--target TARGET': 'invite: the device; else that of the nearest .sass-edge',
  },
  examples: {
    'sass-edge agent invite laptop': 'a line to paste on the laptop: it makes its own key there',
    'sass-edge agent add laptop --key laptop.pub': 'let a key in that was made elsewhere',
    'sass-edge agent add ci --capability build': 'make a key here, bounded by capabilities.build',
    'sass-edge agent add helper --tier T2 --tools Read,Bash --delegated-by ci':
      'one that acts for ci, and may do no more than both may',
    'sass-edge agent remove laptop': 'shut it out',
  },
  async run(context) {
    const [action, name, ...more] = takeWords(context, 2)
    if (action === 'list' && name === undefined && more.length === 0)
      return list(context, localConfig(context))
    if (action === 'invite' && name !== undefined)
      return (await import('./agent-invite.node.ts')).invite(context, name)
    if ((action !== 'add' && action !== 'remove') || name === undefined) {
      throw misuse('agent can invite NAME, add NAME, list and remove NAME: see sass-edge agent --help.')
    }
    const loaded = localConfig(context)
    return action === 'add' ? add(context, loaded, name) : remove(context, loaded, name)
  },
}
