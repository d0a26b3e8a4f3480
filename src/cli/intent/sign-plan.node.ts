/**
 * `sass-edge intent plan FILE`: a plan out of a list of calls, signed with the key of whoever stands for it. Ids and
 * times that the file does not have are made here; what is signed is on stdout, or in --out.
 * Rules: docs/plans.md.
 * @module
 */

import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { publicKeyOf, signWith } from '../../base/crypto/ed25519.node.ts'
import { hostSha256 } from '../../base/crypto/sha256.node.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { formatJson } from '../../base/encoding/json-text.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { createFile, errnoOf, whyNotMade } from '../../base/files.node.ts'
import { mistakeText } from '../../config/syntax.ts'
import { readPrivateKey } from '../../edge/state/key-file.node.ts'
import { misuse } from '../../errors.ts'
import { isJsonObject, type JsonObject, readIntentJson } from '../../intent/canonical/python-json.ts'
import { itemsOf, objectOf, textOf } from '../../intent/canonical/shape.ts'
import { writeUtcTime } from '../../intent/canonical/utc-time.ts'
import { PLAN_BYTES, PLAN_LIFE_MS } from '../../intent/plans/limits.ts'
import { planOf, signPlan, type UnsignedPlan } from '../../intent/plans/plan.ts'
import { optionValue, wholeNumber } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'
import { readGiven } from './given.node.ts'

const DAY_SECONDS = 86_400
const MODE = 0o644

function readCalls(context: CommandContext, file: string): JsonObject {
  const bytes = readGiven(context, file, PLAN_BYTES)
  const json = readIntentJson(bytes, PLAN_BYTES)
  if (json.ok && isJsonObject(json.value)) return json.value
  throw misuse(
    `${file} is not one object of JSON${json.ok ? '' : `: ${mistakeText(bytes, json)}`}; write {"tool_calls": [{"tool_name": …, "args": {…}}]}.`,
  )
}

function orNew(given: string): string {
  return given === '' ? randomUUID() : given
}

/** The plan of a file, with the ids and times that it does not have. */
function unsignedPlan(given: JsonObject, issuer: string, nowMs: number, seconds: number): UnsignedPlan {
  const wholeMs = Math.floor(nowMs / 1_000) * 1_000
  const at = textOf(given, 'timestamp_utc')
  const until = textOf(given, 'expires_utc')
  return {
    plan_id: orNew(textOf(given, 'plan_id')),
    session_id: orNew(textOf(given, 'session_id')),
    issuer_id: issuer,
    timestamp_utc: at === '' ? writeUtcTime(wholeMs) : at,
    expires_utc: until === '' ? writeUtcTime(wholeMs + seconds * 1_000) : until,
    tool_calls: itemsOf(given, 'tool_calls').map((item) => {
      const call = isJsonObject(item) ? item : {}
      return {
        tool_call_id: orNew(textOf(call, 'tool_call_id')),
        tool_name: textOf(call, 'tool_name'),
        args: objectOf(call, 'args'),
      }
    }),
  }
}

function secondsOf(context: CommandContext): number {
  const given = optionValue(context.arguments.options, 'expires')
  const seconds = given === undefined ? DAY_SECONDS : wholeNumber(given, 1, PLAN_LIFE_MS / 1_000)
  if (seconds !== undefined) return seconds
  throw misuse(`--expires is a whole number of seconds up to ${PLAN_LIFE_MS / 1_000}, a year.`)
}

function write(path: string, text: string): void {
  try {
    createFile(path, encodeUtf8(text), MODE)
  } catch (cause) {
    const errno = errnoOf(cause)
    if (errno === undefined) throw cause
    const sentence = `The plan cannot be written to ${path}, since ${errno === 'EEXIST' ? 'it is there already' : whyNotMade(cause, path)}: name another file with --out.`
    throw misuse(sentence, { path, errno }, cause)
  }
}

/** @throws SassError USAGE for what makes no plan, KEY_FILE_INVALID */
export function signPlanFile(context: CommandContext, file: string): number {
  const { options } = context.arguments
  const keyPath = optionValue(options, 'key')
  const issuer = optionValue(options, 'agent')
  if (keyPath === undefined || issuer === undefined)
    throw misuse('A plan is signed by somebody: name the agent with --agent, and its key with --key.')
  const seed = readPrivateKey(resolve(context.cwd, keyPath))
  const unsigned = unsignedPlan(readCalls(context, file), issuer, Date.now(), secondsOf(context))
  const signed = signPlan(unsigned, (bytes) => signWith(seed, bytes))
  const read = planOf(signed)
  if (!read.ok) throw misuse(`${file} makes no plan: ${read.field} ${read.problem}.`)
  const text = `${formatJson(signed)}\n`
  const out = optionValue(options, 'out')
  if (out === undefined) {
    process.stdout.write(text)
    return EXIT.OK
  }
  const path = resolve(context.cwd, out)
  write(path, text)
  const { plan } = read
  const pin = encodeHex(hostSha256(publicKeyOf(seed)))
  return context.output.result(
    { plan_id: plan.id, session_id: plan.sessionId, issuer, calls: plan.calls.length, file: path, pin },
    [
      `Plan ${plan.id} of session ${plan.sessionId}, ${plan.calls.length} calls, signed by ${issuer}: ${path}.`,
      `The device runs it where intent.issuer_pins.${issuer} is ${pin}.`,
    ],
  )
}
