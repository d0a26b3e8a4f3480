/**
 * What every part of the demonstration shares: where things lie below its directory, and the program it calls.
 * @module
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')

export const PROGRAM = join(ROOT, 'bin/sass-edge')

export const ROLES = [
  'intake_agent',
  'sanitization_agent',
  'over_agent',
  'text_formatter_agent',
  'image_filter_agent',
  'deployment_agent',
] as const
export type Role = (typeof ROLES)[number]

/** What an agent is told when it starts: where it is, and what it may trust. Its key is its own. */
export type Given = {
  readonly directory: string
  readonly role: Role
  readonly host: string
  readonly port: number
  /** Of the device's certificate. */
  readonly pin: string
}

export const places = (directory: string) => ({
  keys: join(directory, 'keys'),
  vault: join(directory, 'vault'),
  tools: join(directory, 'tools'),
  workspace: join(directory, '.sass-edge/workspace'),
  /** Where commands can write: the device runs a copy of what it has proven. */
  programs: join(directory, '.sass-edge/workspace/programs'),
  work: join(directory, 'work'),
  article: join(directory, 'article.md'),
})

/** Runs one command in `directory`; what it says as JSON. @throws with its stderr where it fails */
export async function sassEdge(directory: string, args: readonly string[]): Promise<Record<string, unknown>> {
  const { stdout } = await run(PROGRAM, [...args, '--json'], { cwd: directory, maxBuffer: 67_108_864 })
  const lines = stdout.trim().split('\n')
  return JSON.parse(lines.length === 1 ? stdout : (lines.at(-1) ?? '{}'))
}
