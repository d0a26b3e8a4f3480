/**
 * The policies that decisions were made under, kept by their hash, so that an old decision can be made again under its
 * own rules: all that the decision reads of a configuration as one JSON document, and the rules beside it.
 *
 * In the directory of the audit:
 *
 *     policies/<SHA-256>.json    the document, RFC 8785
 *     policies/<SHA-256>.rules   a file of rules, Brotli
 *
 * Each file is named by the hash of its bytes, is written once and is never changed; one that is not what its name
 * says is INTEGRITY_RISK.
 * Rules: docs/responses.md, section 7 (frozen policies).
 * @module
 */
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { hostBytesDigest } from '../../base/crypto/sha256.node.ts'
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import { type Json, parseStrictJson } from '../../base/encoding/strict-json.ts'
import { decodeUtf8, encodeUtf8 } from '../../base/encoding/utf8.ts'
import { createFile, makeDirectories, readBounded } from '../../base/files.node.ts'
import type { Config } from '../../config/config.ts'
import type { Policy } from '../../defense/layer.ts'
import { SassError } from '../../errors.ts'
import { programVersion } from '../host/version.node.ts'
import { packedRules, readRulesText, rulesPaths, shippedRulesPath } from '../policy/rules-path.node.ts'
import { realPlace } from '../state/real-place.node.ts'

/** `checked`: as a build has checked and packed them. `text`: as somebody has written them. */
export type RulesKind = 'checked' | 'text'
export type KeptRules = { readonly kind: RulesKind; readonly sha256: string }

export type PolicyData = Omit<Policy, 'rules' | 'effective' | 'hash'>

export type FrozenPolicy = {
  readonly form: 1
  /** The program that decided: another one may decide otherwise. */
  readonly program: string
  readonly policy: PolicyData
  readonly rules: readonly KeptRules[]
  readonly disabled_rules: readonly string[]
  readonly workspace: string
}

/** Where the policies of a configuration are kept. */
export const policiesPath = (config: Config): string => join(config.audit.directory, 'policies')

export function notWhatItWas(path: string): SassError {
  return new SassError(
    'INTEGRITY_RISK',
    `${path} is not what its name says: a policy that decisions were made under was changed, so look into who did it and put it back.`,
    { path },
  )
}

const nameOf = (bytes: Uint8Array): string => hostBytesDigest(bytes)

export function readKept(path: string, sha256: string, limitBytes: number): Uint8Array {
  const read = readBounded(path, limitBytes, true)
  if (!read.ok || nameOf(read.bytes) !== sha256) throw notWhatItWas(path)
  return read.bytes
}

/** A document has lists of patterns, each bounded by the configuration. */
const DOCUMENT_BYTES = 4_194_304
const DOCUMENT_DEPTH = 16

/**
 * The document of that name.
 * @throws SassError INTEGRITY_RISK, or the system's error where it is not there
 */
export function readFrozen(directory: string, sha256: string): FrozenPolicy {
  const path = join(directory, `${sha256}.json`)
  const text = decodeUtf8(readKept(path, sha256, DOCUMENT_BYTES))
  const parsed =
    text === undefined ? undefined : parseStrictJson(text, { size: DOCUMENT_BYTES, depth: DOCUMENT_DEPTH })
  if (parsed?.ok !== true) throw notWhatItWas(path)
  // Its hash is right, so it is what freezePolicy wrote.
  return parsed.value as unknown as FrozenPolicy
}

/**
 * Names (SHA-256, hex) of the files of rules that a kept policy has.
 * @throws SassError INTEGRITY_RISK, or the system's error where it is not there
 */
export function rulesNamedIn(directory: string, sha256: string): readonly string[] {
  return readFrozen(directory, sha256).rules.map((rules) => rules.sha256)
}

type Place = { readonly directory: string; readonly replacesAltered: boolean }

/** Keeps the bytes under their hash; what is kept already must still be the same. */
function keep({ directory, replacesAltered }: Place, extension: string, bytes: Uint8Array): string {
  const sha256 = nameOf(bytes)
  const path = join(directory, `${sha256}.${extension}`)
  if (existsSync(path)) {
    try {
      readKept(path, sha256, bytes.length)
      return sha256
    } catch (cause) {
      if (!replacesAltered) throw cause
      renameSync(path, `${path}.altered`)
    }
  }
  createFile(path, bytes, 0o600)
  return sha256
}

function keepRules(place: Place, path: string): KeptRules {
  const packed = path === shippedRulesPath() ? packedRules() : undefined
  if (packed !== undefined)
    return { kind: 'checked', sha256: keep(place, 'rules', Buffer.from(packed, 'base64')) }
  // Fast: the text is kept once for each change of it, and is small.
  const parameters = { [constants.BROTLI_PARAM_QUALITY]: 4 }
  const bytes = brotliCompressSync(Buffer.from(readRulesText(path)), { params: parameters })
  return { kind: 'text', sha256: keep(place, 'rules', bytes) }
}

/** JSON has no infinity: no limit is null. */
function dataOf({ rules: _rules, effective: _effective, digestOf: _digestOf, quota, ...rest }: Policy): Json {
  const sessionsPerCaller = Number.isFinite(quota.sessionsPerCaller) ? quota.sessionsPerCaller : null
  return JSON.parse(JSON.stringify({ ...rest, quota: { ...quota, sessionsPerCaller } })) as Json
}

/**
 * Keeps the policy that this configuration makes.
 * @param replacesAltered what was changed is moved aside, as `.altered`, and kept anew
 * @returns the name of its document: SHA-256, hex
 * @throws SassError INTEGRITY_RISK, or the system's error where it cannot be written
 */
export function freezePolicy(
  directory: string,
  config: Config,
  policy: Policy,
  replacesAltered = false,
): string {
  const place = { directory, replacesAltered }
  makeDirectories(directory, 0o700)
  const { default_rules: defaultRules, rules_file: rulesFile, disabled_rules } = config.policy
  const document = {
    form: 1,
    program: programVersion(),
    policy: dataOf(policy),
    rules: rulesPaths({ defaultRules, rulesFile }).map((path) => keepRules(place, path)),
    disabled_rules,
    workspace: realPlace(config.security.workspace_root),
  }
  return keep(place, 'json', encodeUtf8(canonicalize(document as unknown as Json)))
}
