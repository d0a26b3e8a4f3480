/**
 * The commands that do something on a device, each loaded only when it is wanted. They are also a program of their own
 * (`dist/device.cjs`), a fifth of the whole: whoever types one waits for no more than it needs.
 * @module
 */
import type { Command } from './words/command.ts'
import type { CommandName } from './words/summaries.ts'

export type Loader = () => Promise<{ readonly command: Command }>

/** The loader of each of them. bin/sass-edge has the same names. */
export const LOADERS = {
  exec: () => import('./run/exec.node.ts'),
  shell: () => import('./run/shell.node.ts'),
  attach: () => import('./run/attach.node.ts'),
  rsh: () => import('./run/rsh.node.ts'),
  cp: () => import('./run/cp.node.ts'),
  jobs: () => import('./run/jobs.node.ts'),
  kill: () => import('./run/kill.node.ts'),
  ping: () => import('./devices/ping.node.ts'),
} as const satisfies Readonly<Partial<Record<CommandName, Loader>>>

/** Commands whose words are those of another program: they come as `rest`, whatever they look like. */
export const FOREIGN_WORDS: ReadonlySet<string | undefined> = new Set<CommandName>(['rsh'])
