/**
 * The scripts in attacks/, which try every way out of a branch that has been one somewhere, and what they may find.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Branched } from './branched.node.ts'

const DIRECTORY = join(import.meta.dirname, 'attacks')
const source = (name: string): string => readFileSync(join(DIRECTORY, `${name}.py`), 'utf8')
const REFUSED = /^E[A-Z0-9]+$/

export type Findings = Readonly<Record<string, unknown>>

/** What every attack begins with. */
export function attackPrelude(): string {
  return source('prelude')
}

export function attackScript(name: string): string {
  return source('prelude') + source(name)
}

/** Runs one in a session of its own. */
export async function attack(daemon: Branched, name: string, ...args: readonly string[]): Promise<Findings> {
  const said = await daemon.python(attackScript(name), ...args)
  return JSON.parse(said.trim().split('\n').at(-1) ?? '{}') as Findings
}

/** Everything was refused with an errno but what `expected` names: that is so. */
export function judge(t: Test, findings: Findings, expected: Findings): void {
  const wrong = Object.entries(findings).filter(
    ([name, found]) => !(name in expected) && !(typeof found === 'string' && REFUSED.test(found)),
  )
  t.strictSame(wrong, [], 'every attack is refused')
  for (const [name, value] of Object.entries(expected)) t.match({ [name]: findings[name] }, { [name]: value })
}
