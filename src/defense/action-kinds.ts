/**
 * The closed set of actions. Types say that there is no other; a decision does not rely on it.
 * Rules: docs/responses.md, section 1 (completeness).
 * @module
 */
import type { Action } from './facts.ts'

const KINDS: Readonly<Record<Action['kind'], true>> = Object.freeze({
  connect: true,
  authenticate: true,
  delegate: true,
  enroll: true,
  rotate_key: true,
  invite: true,
  execute: true,
  upload: true,
  download: true,
  deceive: true,
  attach: true,
  signal: true,
  cancel: true,
  read: true,
  renew: true,
  confirm: true,
  set_level: true,
  clear_penalties: true,
  reload: true,
  drain: true,
  terminate: true,
  purge: true,
  merge: true,
  undo_merge: true,
  drop_branch: true,
  checkpoint: true,
  handoff: true,
  take_handoff: true,
  submit_envelope: true,
  take_envelope: true,
  settle_envelope: true,
  run_plan: true,
  propose: true,
})

export function isActionKind(kind: string): boolean {
  return Object.hasOwn(KINDS, kind)
}
