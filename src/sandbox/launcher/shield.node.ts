/**
 * The second layer around commands that have a branch: a filter of system calls, and where the kernel knows it a
 * Landlock domain that keeps their signals and abstract sockets among themselves. What it forbids, namespaces and
 * missing capabilities forbid already; each holds where the other should fail.
 * The domain has no rules over files: with them its threads could not stay in a tree of mounts that changes.
 * Sources: landlock(7), seccomp(2).
 * @module
 */

import { randomBytes } from 'node:crypto'
import type { Syscalls } from '../kernel/syscalls.node.ts'
import { rulesetAttributes } from '../walls/fence.ts'
import { commandFilter } from '../walls/seccomp-filter.ts'
import type { Fence } from './launcher-memory.ts'

/** linux/landlock.h: the version that knows scopes; where rights over files and over the network end in the struct. */
const SCOPE_VERSION = 6
const SCOPES_AT = 16
const LANDLOCK_CREATE_RULESET_VERSION = 1

/** Landlock's version on this kernel; 0: it has none. */
export function landlockVersion(syscalls: Syscalls): number {
  return Math.max(0, syscalls.byNumber('landlock_create_ruleset', 0, 0, LANDLOCK_CREATE_RULESET_VERSION))
}

/**
 * `limits`: what each program gets right after its start.
 * The caller closes the ruleset when the launcher has it. Undefined on a machine that no filter is known for.
 */
export function makeShield(syscalls: Syscalls, limits: Fence['limits']): Fence | undefined {
  const machine = process.arch
  if (machine !== 'x64' && machine !== 'arm64') return undefined
  const version = landlockVersion(syscalls)
  const limitsSecret = randomBytes(8).readBigInt64LE()
  let rulesetDescriptor: number | undefined
  if (version >= SCOPE_VERSION) {
    const attributes = rulesetAttributes(version)
    attributes.fill(0, 0, SCOPES_AT)
    const ruleset = syscalls.byNumber('landlock_create_ruleset', attributes, attributes.length, 0)
    if (ruleset >= 0) rulesetDescriptor = ruleset
  }
  return {
    rulesetDescriptor,
    filter: commandFilter(machine, limitsSecret),
    covers: undefined,
    userId: undefined,
    limits,
    limitsSecret,
  }
}
