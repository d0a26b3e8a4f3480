/**
 * Runs `npm run effects` for a test, and reads its figures.
 * @module
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Figures } from './figures.ts'
import { collected, whyNoWorld } from './world.node.ts'

/** Undefined, with a comment, where no world can be made. `directory`: for its figures. */
export async function effects(
  t: Test,
  directory: string,
  ...options: readonly string[]
): Promise<Figures | undefined> {
  const why = whyNoWorld()
  if (why !== undefined) return void t.comment(`skipped: ${why}`)
  const json = join(directory, 'figures.json')
  const program = join(import.meta.dirname, 'effects.node.ts')
  const ran = await collected(spawn(process.execPath, ['--no-warnings', program, '--json', json, ...options]))
  t.match(ran.stdout.toString(), /^runs /, ran.stderr.toString())
  return JSON.parse(readFileSync(json, 'utf8')) as Figures
}
