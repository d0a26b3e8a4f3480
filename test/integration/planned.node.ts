/**
 * Devices that run signed plans, for tests: tools with their manifests, a configuration that grants them, and plans that
 * are signed by its agent.
 * @module
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { signWith } from '../../src/base/crypto/ed25519.node.ts'
import type { JsonObject } from '../../src/intent/canonical/python-json.ts'
import { signPlan } from '../../src/intent/plans/plan.ts'
import { changeConfig, type Daemon, install, type Json, type Scope, startDaemon } from './daemon.node.ts'

export const sha256Of = (path: string): string =>
  createHash('sha256').update(readFileSync(path)).digest('hex')

const TEXT = { type: 'string', maxLength: 200 }

/** A manifest for a program of this machine. */
export function manifest(name: string, program: string, argv: readonly unknown[], more: Json = {}): Json {
  const executable = realpathSync(program)
  const args = argv.flatMap((part) => (typeof part === 'string' ? [] : [(part as { arg: string }).arg]))
  return {
    ...{ name, version: '1', executable, sha256: sha256Of(executable) },
    args_schema: {
      type: 'object',
      required: args,
      properties: Object.fromEntries(args.map((arg) => [arg, TEXT])),
      additionalProperties: false,
    },
    ...{ argv, permissions: ['fs:read'], tier: 'T1' },
    ...more,
  }
}

export const COUNT = manifest('count', '/usr/bin/wc', ['-l', '--', { arg: 'file' }])
export const MAKE = manifest('make', '/usr/bin/mkdir', ['--', { arg: 'path' }])
export const SLEEP = manifest('pause', '/usr/bin/sleep', ['--', { arg: 'seconds' }])
const TOOLS = [COUNT, MAKE, SLEEP]

function putTools(directory: string, tools: readonly Json[]): string {
  const path = join(directory, 'tools')
  mkdirSync(path, { recursive: true })
  for (const tool of tools)
    writeFileSync(join(path, `${tool['name']}.tool.json`), JSON.stringify(tool), { mode: 0o644 })
  return path
}

/** An installation whose agent issues plans over these tools, all that they want granted. */
export async function installPlanned(
  t: Scope,
  change: Json = {},
  tools: readonly Json[] = TOOLS,
): Promise<string> {
  const directory = await install(t)
  const pin = sha256Of(join(directory, '.sass-edge/keys/agent.pub'))
  changeConfig(directory, {
    intent: {
      tools: putTools(directory, tools),
      grants: Object.fromEntries(tools.map(({ name }) => [name, ['fs:read']])),
      issuer_pins: { agent: pin },
    },
  })
  changeConfig(directory, change)
  return directory
}

export async function startPlanned(t: Scope, change: Json = {}, tools?: readonly Json[]): Promise<Daemon> {
  return startDaemon(t, await installPlanned(t, change, tools))
}

export type Call = readonly [tool: string, args: JsonObject]

/** A plan of these calls, signed by the agent of the daemon; its calls are `c0`, `c1` and so on. */
export function plan(
  daemon: Pick<Daemon, 'seed'>,
  calls: readonly Call[],
  more: JsonObject = {},
): JsonObject {
  const now = Math.floor(Date.now() / 1_000) * 1_000
  const time = (ms: number) => new Date(ms).toISOString().replace('.000Z', '+00:00')
  const unsigned = {
    plan_id: randomUUID(),
    session_id: randomUUID(),
    issuer_id: 'agent',
    timestamp_utc: time(now),
    expires_utc: time(now + 3_600_000),
    tool_calls: calls.map(([tool_name, args], at) => ({ tool_call_id: `c${at}`, tool_name, args })),
    ...more,
  }
  return signPlan(unsigned, (bytes) => signWith(daemon.seed(), bytes))
}

export const bytesOf = (value: JsonObject): Uint8Array => new Uint8Array(Buffer.from(JSON.stringify(value)))
