/**
 * A daemon that takes in signed work, for tests: a vault made as an operator makes one, agents whose keys sign, and
 * envelopes as files and over connections.
 * @module
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Test } from 'tap'
import type { JsonObject } from '../../src/intent/canonical/python-json.ts'
import { type UnsignedEnvelope, writeEnvelope } from '../../src/intent/envelopes/envelope.ts'
import { makeDiskVault } from '../intent/disk-vault.node.ts'
import { BLOG_CAPABILITIES, BLOG_TEMPLATE, envelopeOf } from '../intent/ground.ts'
import { changeConfig, type Daemon, install, type Json, sassEdge, startDaemon } from './daemon.node.ts'

export const AGENT = 'agent'
export const HELPER = 'helper'
export const DEVICE = 'device'

/** As the vectors', for the agents of an installation. */
export const TEMPLATE: JsonObject = {
  ...BLOG_TEMPLATE,
  policy_metadata: {
    max_payload_bytes: 262_144,
    allowed_senders: [AGENT, HELPER, DEVICE],
    allowed_receivers: [HELPER, DEVICE],
  },
}

export type IntentWorld = {
  readonly directory: string
  /** `STATE/intent/...`. */
  at(...names: string[]): string
  /** Names in a place of the spool, without what is being written; of what was accepted the ids. */
  names(place: string, receiver?: string): string[]
  seed: (name?: string) => Uint8Array
}

/** An installation with a vault and two agents, not started. */
export async function installIntent(t: Test, change: Json = {}): Promise<IntentWorld> {
  const directory = await install(t)
  const added = await sassEdge(['agent', 'add', HELPER], { cwd: directory })
  if (added.code !== 0) throw new Error(added.stderr)
  const vault = await makeDiskVault(directory, [TEMPLATE, BLOG_CAPABILITIES])
  changeConfig(directory, {
    intent: { vault: vault.directory, dispatcher_pin: vault.pin, poll_ms: 50, ...(change['intent'] as Json) },
  })
  return worldOf(directory)
}

export function worldOf(directory: string): IntentWorld {
  const at = (...names: string[]) => join(directory, '.sass-edge/state/intent', ...names)
  return {
    directory,
    at,
    names(place, receiver) {
      if (place === 'accepted') return [...contentsFor(directory, receiver ?? '').keys()]
      try {
        return readdirSync(receiver === undefined ? at(place) : at(place, receiver)).filter(
          (name) => !name.startsWith('.'),
        )
      } catch {
        return []
      }
    },
    seed: (name = AGENT) => readKey(directory, name),
  }
}

/** What waits for that receiver, or was taken lately, by id. */
export function contentsFor(directory: string, receiver: string): ReadonlyMap<string, Uint8Array> {
  const path = join(directory, '.sass-edge/state/intent/index.sqlite')
  if (!existsSync(path)) return new Map()
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  try {
    const rows = database
      .prepare('SELECT envelope_id, bytes FROM accepted JOIN content USING (envelope_id) WHERE receiver = ?')
      .all(receiver)
    return new Map(rows.map(({ envelope_id, bytes }) => [String(envelope_id), bytes as Uint8Array]))
  } catch {
    // It is being made.
    return new Map()
  } finally {
    database.close()
  }
}

function readKey(directory: string, name: string): Uint8Array {
  return new Uint8Array(readFileSync(join(directory, '.sass-edge/keys', `${name}.key`)))
}

let drawn = 0
/** An id that no envelope of this process has had. */
export function newId(): string {
  drawn++
  return `00000000-0000-4000-8000-${drawn.toString(16).padStart(12, '0')}`
}

/** The bytes of an envelope from agent to helper, signed now; `more` takes the place of its fields. */
export function signed(world: IntentWorld, more: Partial<UnsignedEnvelope> = {}, sender = AGENT): Uint8Array {
  return writeEnvelope(
    envelopeOf(
      {
        envelopeId: newId(),
        timestampUtc: new Date().toISOString().replace('Z', '+00:00').replace(/\.\d+/, ''),
        senderId: sender,
        receiverId: HELPER,
        ...more,
      },
      TEMPLATE,
      world.seed(sender),
    ),
  )
}

/** Puts a file into an inbox as a whole, as `intent send` does. */
export function drop(world: IntentWorld, bytes: Uint8Array, name = newId(), receiver = HELPER): string {
  const inbox = world.at('inbox', receiver)
  mkdirSync(inbox, { recursive: true })
  const temporary = join(inbox, `.${name}.part`)
  writeFileSync(temporary, bytes)
  renameSync(temporary, join(inbox, `${name}.satl.json`))
  return join(inbox, `${name}.satl.json`)
}

export const started = (t: Test, world: IntentWorld): Promise<Daemon> => startDaemon(t, world.directory)
export const intentEvents = (daemon: Pick<Daemon, 'audit'>, what?: string): Json[] =>
  daemon
    .audit()
    .filter((event) => event['type'] === 'intent' && (what === undefined || event['what'] === what))
