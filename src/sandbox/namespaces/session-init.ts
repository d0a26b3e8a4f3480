/**
 * The first process of a session, as a program of its own (small-program.ts). It starts in the mounts that the keeper is
 * building and in the session's network, and makes the other namespaces; only whoever is in a process namespace can
 * mount its /proc. From then on it does nothing but read a pipe whose other end is the daemon's: however the daemon ends, this
 * one does too, and with it everything in its namespace. It ignores SIGCHLD, so that the kernel reaps every orphan.
 *
 * It tells on descriptor 1, as 64-bit numbers: once its own number (positive), and of each step in order 0 or -errno.
 * Descriptor 0 is the pipe, the working directory the root of the view.
 * Sources: clone(2), pid_namespaces(7), sigaction(2).
 * @module
 */

import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { type Machine, type Operand, type ProgramStep, smallProgram } from './small-program.ts'

/** `[x64, arm64]`: asm/unistd_64.h, asm-generic/unistd.h */
const CALLS = {
  clone: [56, 220],
  close: [3, 57],
  exit_group: [231, 94],
  mount: [165, 40],
  prctl: [157, 167],
  read: [0, 63],
  rt_sigaction: [13, 134],
  write: [1, 64],
} as const

/** linux/sched.h */
const CLONE_PARENT = 0x8000
const CLONE_NEWIPC = 0x8000000
const CLONE_NEWPID = 0x20000000
const SIGCHLD = 17
/** sys/mount.h */
const MS_RDONLY = 0x1
const MS_NOSUID = 0x2
const MS_NODEV = 0x4
const MS_NOEXEC = 0x8
/** linux/prctl.h */
const PR_SET_NAME = 15
/** struct sigaction of the kernel: handler, flags, restorer, mask; SIG_IGN is 1. */
const SIGNAL_ACTION_BYTES = 32
const SIGNAL_SET_BYTES = 8
export const TOLD_BYTES = 8

const text = (value: string): Operand => ({ bytes: encodeUtf8(`${value}\0`) })

/** What it is called in lists of processes. */
export const INIT_NAME = 'sass-edge-init'

/** What it tells after its number, in this order. */
export const INIT_STEPS = ['mount proc', 'mount sysfs'] as const

export function sessionInit(machine: Machine): Uint8Array {
  const column = machine === 'x64' ? 0 : 1
  const call = (name: keyof typeof CALLS, ...operands: Operand[]): ProgramStep => ({
    kind: 'call',
    number: CALLS[name][column],
    operands,
  })
  const tell: readonly ProgramStep[] = [{ kind: 'keep' }, call('write', 1, 'word', TOLD_BYTES)]
  const ignored = new Uint8Array(SIGNAL_ACTION_BYTES)
  ignored[0] = 1
  return smallProgram(machine, [
    // The daemon's child, not this one's: this one ends at once.
    call('clone', CLONE_NEWPID | CLONE_NEWIPC | CLONE_PARENT | SIGCHLD, 0, 0, 0, 0),
    { kind: 'go', to: 'init', where: 'zero' },
    ...tell,
    call('exit_group', 0),
    { kind: 'label', name: 'init' },
    call('prctl', PR_SET_NAME, text(INIT_NAME), 0, 0, 0),
    call('mount', text('proc'), text('proc'), text('proc'), MS_NOSUID | MS_NODEV | MS_NOEXEC, 0),
    ...tell,
    call('mount', text('sysfs'), text('sys'), text('sysfs'), MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, 0),
    ...tell,
    call('rt_sigaction', SIGCHLD, { bytes: ignored }, 0, SIGNAL_SET_BYTES),
    call('close', 1),
    call('close', 2),
    { kind: 'label', name: 'wait' },
    call('read', 0, 'word', TOLD_BYTES),
    { kind: 'go', to: 'wait', where: 'positive' },
    call('exit_group', 0),
  ])
}
