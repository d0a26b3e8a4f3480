/**
 * Changes a configuration in its file: one top-level member, everything else as it is, and only to what is valid.
 * @module
 */

import { realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseStrictJson } from '../../base/encoding/strict-json.ts'
import { replaceFile } from '../../base/files.node.ts'
import { parseConfig } from '../../config/config.ts'
import { type EgressItem, writtenEgress } from '../../config/egress-fields.ts'
import { type LoadedConfig, problemText } from '../../edge/setup/config-file.node.ts'
import { SassError } from '../../errors.ts'
import { CONFIG_BYTES } from '../../limits.ts'
import { setMember } from '../words/config-edit.ts'
import { makingError } from './system-error.node.ts'

/**
 * The text of the file with another value for one of its top-level members, proven to be a valid configuration.
 * @throws SassError CONFIG_INVALID
 */
export function editedText(loaded: LoadedConfig, member: string, value: unknown): string {
  const text = setMember(loaded.text, member, value)
  const parsed = parseStrictJson(text, { size: CONFIG_BYTES })
  if (!parsed.ok) throw broken(loaded, `, since ${parsed.problem}`)
  const result = parseConfig(parsed.value, { configDirectory: dirname(loaded.path) })
  if (result.ok) return text
  const first = result.problems[0]
  const why = first === undefined ? '' : `, since ${problemText(first)}`
  throw broken(loaded, why, { problems: result.problems })
}

function broken({ path }: LoadedConfig, why: string, details?: Readonly<Record<string, unknown>>): SassError {
  const sentence = `${path} would not be valid any more${why}: nothing was changed.`
  return new SassError('CONFIG_INVALID', sentence, details)
}

/**
 * Replaces the file itself, not a link to it, and keeps its mode and owner.
 * @throws SassError STATE_UNWRITABLE
 */
export function writeEdited(loaded: LoadedConfig, text: string): void {
  try {
    const path = realpathSync(loaded.path)
    const stats = statSync(path)
    replaceFile(path, Buffer.from(text), stats.mode & 0o777, stats)
  } catch (error) {
    throw makingError(
      error,
      'STATE_UNWRITABLE',
      loaded.path,
      (since) => `${loaded.path} cannot be written, since ${since}: nothing was changed.`,
    )
  }
}

type Members = Readonly<Record<string, unknown>>

function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}
}

/** A list of what may be reached with one place more; one that stands for the shipped list is written out. */
function withPlace(written: unknown, inForce: readonly EgressItem[], place: string): readonly unknown[] {
  const list = Array.isArray(written) ? (written as readonly unknown[]) : inForce.map(writtenEgress)
  return list.includes(place) ? list : [...list, place]
}

/**
 * The text of the file with `place` in `sandbox.egress` and, where `set` is named, in the list of that capability set.
 * @throws SassError CONFIG_INVALID
 */
export function egressEdits(
  loaded: LoadedConfig,
  place: string,
  set: string | undefined,
): { readonly text: string; readonly lists: readonly string[] } {
  const { config } = loaded
  const root = members(loaded.value)
  const sandbox = members(root['sandbox'])
  const egress = withPlace(sandbox['egress'], config.sandbox.egress, place)
  const text = editedText(loaded, 'sandbox', { ...sandbox, egress })
  if (set === undefined) return { text, lists: ['sandbox.egress'] }
  const capabilities = members(root['capabilities'])
  const own = members(capabilities[set])
  const ownEgress = withPlace(own['egress'], config.capabilities[set]?.egress ?? [], place)
  return {
    text: editedText({ ...loaded, text }, 'capabilities', {
      ...capabilities,
      [set]: { ...own, egress: ownEgress },
    }),
    lists: ['sandbox.egress', `capabilities.${set}.egress`],
  }
}
