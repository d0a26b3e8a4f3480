/**
 * What the tests of check share: a sound configuration, and what a look at one has told.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { type CheckReport, examine } from '../../src/cli/operate/check.node.ts'
import { examineConfig } from '../../src/edge/setup/config-file.node.ts'
import type { Value } from './broken-configurations.node.ts'

export const SOCKET = `/tmp/sass-edge-check-broken-${process.pid}.sock`
export const SOUND: Value = {
  listen: { port: 0, admin_socket: SOCKET },
  state_directory: 'state',
  security: { workspace_root: 'work' },
}
/** Without what takes the time of a look: the trial of a branch, and the rules that ship. */
export const QUICK: Value = { ...SOUND, sandbox: { require: 'copy' }, policy: { default_rules: false } }
export const isRoot = process.geteuid?.() === 0
export const hasOpenssl = spawnSync('openssl', ['version']).error === undefined

export function put(value: Value, path: string, given: unknown): void {
  const parts = path.match(/[^.[\]"]+/g) ?? []
  let inner: Record<string, unknown> = value
  for (const part of parts.slice(0, -1)) {
    inner[part] ??= {}
    inner = inner[part] as Record<string, unknown>
  }
  inner[parts.at(-1) ?? path] = given
}

export type Told = {
  readonly path: string
  readonly says: string
  readonly remedy: string
  readonly line?: number
}

export function toldOf(report: CheckReport): readonly Told[] {
  return [
    ...(report.problems ?? []).map(({ path, problem, hint, line }) => {
      return { path, says: `${problem} (${hint})`, remedy: hint, line }
    }),
    ...report.findings
      .filter(({ ok }) => !ok)
      .map(({ check, detail, remedy = '', line }) => {
        const told = { path: check, says: `${detail}; ${remedy}`, remedy }
        return line === undefined ? told : { ...told, line }
      }),
  ]
}

export const look = (file: string) => examine(examineConfig(file), 'all')
