/**
 * A policy that was kept, as one that decides again: its document and its rules read back, each held against its name.
 * What takes commands apart comes with it, so nobody loads this who only keeps policies.
 * Rules: docs/responses.md, section 7 (frozen policies).
 * @module
 */
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { hostTextDigest } from '../../base/crypto/sha256.node.ts'
import { joinRules } from '../../defense/13policy/rules/rules-file.ts'
import type { Policy } from '../../defense/layer.ts'
import { RULES_FILE_BYTES } from '../../limits.ts'
import { judgeOf } from '../policy/judge.node.ts'
import { checkedRules, rulesOfText } from '../policy/policy-file.node.ts'
import { type KeptRules, notWhatItWas, readFrozen, readKept } from './frozen-policy.node.ts'

function readRules(directory: string, { kind, sha256 }: KeptRules) {
  const path = join(directory, `${sha256}.rules`)
  const bytes = readKept(path, sha256, RULES_FILE_BYTES)
  return kind === 'checked'
    ? checkedRules(bytes, path)
    : rulesOfText(brotliDecompressSync(bytes).toString(), path)
}

export type ThawedPolicy = { readonly policy: Policy; readonly program: string }

/** A policy that was kept before there was a question about what nobody has read asked none. */
const BEFORE_OPAQUE = Object.freeze({ opaque: 'allow', knownPrograms: [] } as const)

/**
 * The policy that was kept under that name.
 * @throws SassError INTEGRITY_RISK, CONFIG_INVALID for rules that this program cannot read any more, or the system's
 *   error where it is not there
 */
export function thawPolicy(directory: string, sha256: string): ThawedPolicy {
  const frozen = readFrozen(directory, sha256)
  const joined = joinRules(frozen.rules.map((kept) => readRules(directory, kept)))
  if (!joined.ok) throw notWhatItWas(directory)
  const { quota, security, ...data } = frozen.policy
  const judge = judgeOf({
    set: joined.rules,
    disabled: frozen.disabled_rules,
    home: data.home,
    workspace: frozen.workspace,
  })
  const sessionsPerCaller = quota.sessionsPerCaller ?? Number.POSITIVE_INFINITY
  return {
    program: frozen.program,
    policy: {
      ...data,
      security: { ...BEFORE_OPAQUE, ...security },
      quota: { ...quota, sessionsPerCaller },
      ...judge,
      digestOf: hostTextDigest,
    },
  }
}
