/**
 * Runs one program to its end through a Spawner and collects what it told, for the tests of this folder.
 * @module
 */

import { type IOType, spawn } from 'node:child_process'
import type { Child, ChildEvents, ExitStatus, Spawner, SpawnPlan } from '../../src/ports.ts'
import { STDOUT } from '../../src/ports.ts'

export interface Outcome {
  /** 0 where it was not started. */
  readonly pid: number
  /** 0 where it was started. */
  readonly errno: number
  readonly status: ExitStatus | undefined
  readonly stdout: Buffer
  readonly stderr: Buffer
}

export const ENVIRONMENT: readonly string[] = [
  'PATH=/usr/bin:/bin',
  'LANG=C.UTF-8',
  'HOME=/tmp',
  'TERM=xterm',
]

/** A plan for `argv` with its program looked up nowhere: `file` is argv[0] unless given. */
export function planFor(argv: readonly string[], more: Partial<SpawnPlan> = {}): SpawnPlan {
  return {
    file: argv[0] ?? '',
    argv,
    environment: ENVIRONMENT,
    cwd: '/',
    stdin: 'none',
    terminal: undefined,
    ...more,
  }
}

export function shell(script: string, more: Partial<SpawnPlan> = {}): SpawnPlan {
  return planFor(['/bin/sh', '-c', script], more)
}

/** Starts it; `hooks` are called beside the collecting. */
export function start(
  spawner: Spawner,
  plan: SpawnPlan,
  hooks: Partial<ChildEvents> = {},
): { readonly child: Child; readonly outcome: Promise<Outcome>; text(): string } {
  const out: Buffer[] = []
  const error: Buffer[] = []
  let pid = 0
  let settle: (outcome: Outcome) => void
  const outcome = new Promise<Outcome>((resolve) => {
    settle = resolve
  })
  const end = (errno: number, status: ExitStatus | undefined): void =>
    settle({ pid, errno, status, stdout: Buffer.concat(out), stderr: Buffer.concat(error) })
  const child = spawner.spawn(plan, {
    spawned(number) {
      pid = number
      hooks.spawned?.(number)
    },
    failed(errno) {
      hooks.failed?.(errno)
      end(errno, undefined)
    },
    output(source, bytes) {
      // Lent, not given.
      if (hooks.output) hooks.output(source, bytes)
      else (source === STDOUT ? out : error).push(Buffer.from(bytes))
    },
    stdinDrained() {
      hooks.stdinDrained?.()
    },
    exited(status) {
      hooks.exited?.(status)
      end(0, status)
    },
    pace: hooks.pace,
  })
  return { child, outcome, text: () => Buffer.concat(out).toString() }
}

export function run(spawner: Spawner, plan: SpawnPlan): Promise<Outcome> {
  return start(spawner, plan).outcome
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Waits until `condition` holds, for at most `limitMs`. */
export async function until(condition: () => boolean, limitMs = 60_000): Promise<boolean> {
  for (let waited = 0; waited < limitMs; waited += 10) {
    if (condition()) return true
    await sleep(10)
  }
  return condition()
}

const SOURCE = new URL('../../src/sandbox/launcher/spawner.node.ts', import.meta.url).href

/** Runs `code` as a daemon of its own, where `createSpawner` and `fs` are there, and gives what it printed. */
export function runDaemon(
  code: string,
  stdio: (number | IOType)[] = ['ignore', 'pipe', 'inherit'],
  flags: readonly string[] = [],
): Promise<{ readonly code: number | null; readonly text: string }> {
  const program = `import { createSpawner } from ${JSON.stringify(SOURCE)}; import fs from 'node:fs'; ${code}`
  const child = spawn(process.execPath, ['--no-warnings', ...flags, '--input-type=module', '-e', program], {
    stdio,
  })
  let text = ''
  child.stdout?.on('data', (bytes: Buffer) => {
    text += bytes.toString()
  })
  return new Promise((resolve) => child.on('close', (exit) => resolve({ code: exit, text })))
}
