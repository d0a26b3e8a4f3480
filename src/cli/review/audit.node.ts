/**
 * `sass-edge audit`: the record of what was decided, read from its files. It needs no daemon, and for `verify` neither
 * a configuration: files and a pinned key are enough, on any machine.
 * @module
 */

import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { chainPaths, steadily } from '../../audit/retention.node.ts'
import { activePath, unreadableChain } from '../../audit/segments.node.ts'
import type { KnownHead } from '../../audit/verify.ts'
import { type Verified, verifyChain } from '../../audit/verify-chain.node.ts'
import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import { errnoOf } from '../../base/files.node.ts'
import { programVersion } from '../../edge/host/version.node.ts'
import type { Anchors } from '../../edge/record/anchors.node.ts'
import { genesisPath } from '../../edge/record/epoch-keys.node.ts'
import type { ReplayReport } from '../../edge/record/replay-chain.node.ts'
import { misuse } from '../../errors.ts'
import { localState, takeWords } from '../common/local-config.node.ts'
import { optionValue, optionValues, wholeNumber } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'
import { counted } from '../words/listing.ts'
import { type Subcommand, subcommandOf } from '../words/subcommand.ts'
import { anchor, anchorsOf } from './audit-anchor.node.ts'
import { exportSession, verifyEvidence } from './audit-evidence.node.ts'
import { incident } from './audit-incident.node.ts'
import { tail, tailOptions } from './audit-tail.node.ts'
import { asLocal, brokenLine, EXIT_FAILED, fingerprintOf, pinOf, unreadableFile } from './audit-words.node.ts'

/** Of the first record, where a key is known that has signed it. */
const GONE =
  'It is gone with all the others, though the key that has signed them is known: put them back, or look into who removed them.'

/** `SEQ:HASH`, as `sass-edge status` shows it. */
function headOf(text: string): KnownHead {
  const colon = text.indexOf(':')
  const sequence = wholeNumber(text.slice(0, Math.max(colon, 0)), 1, Number.MAX_SAFE_INTEGER)
  const hash = decodeHex(text.slice(colon + 1))
  if (sequence === undefined || hash?.length !== 32)
    throw misuse(
      `--head takes SEQ:HASH, the number of a record and its hash as 64 hexadecimal digits, and not ${JSON.stringify(text.slice(0, 80))}.`,
    )
  return { sequence, hash, from: '--head' }
}

/** The files that were named, or those of this device with the key that lies beside them. */
function chainOf(context: CommandContext): {
  paths: readonly string[]
  pin: string | undefined
  directory: string
} {
  const { positionals, options } = context.arguments
  const pin = optionValue(options, 'key')
  const files = positionals.slice(1)
  // Summary and kept keys of what was dropped lie beside the files.
  if (files.length > 0) return { paths: files, pin, directory: dirname(files[0] ?? '') }
  const { config } = localState(context)
  const { directory } = config.audit
  const genesis = genesisPath(config.state_directory)
  const chain = { pin: pin ?? genesis, directory }
  try {
    return { ...chain, paths: chainPaths(directory) }
  } catch (cause) {
    if (!existsSync(genesis)) throw unreadableChain(directory, cause)
    return { ...chain, paths: [activePath(directory)] }
  }
}

function tellVerified(
  context: CommandContext,
  verified: Verified,
  isPinned: boolean,
  { last, problems }: Pick<Anchors, 'last' | 'problems'> = { last: undefined, problems: [] },
): number {
  if (!verified.ok) {
    const { sequence, why, path, line } = verified.finding
    context.output.result({ ok: false, sequence, file: path, line, reason: why }, [
      `Record ${sequence} (${path}, line ${line}): ${why}`,
    ])
    return EXIT_FAILED
  }
  const { report, dropped } = verified
  const genesis = report.genesis === undefined ? null : fingerprintOf(report.genesis)
  const hash = encodeHex(report.hash)
  const { sequence, records, epoch, firstTime, lastTime, unfinished } = report
  const value = { ok: true, sequence, hash, records, epoch, genesis, pinned: isPinned, unfinished, dropped }
  const anchored = last === undefined ? null : { sequence: last.sequence, time: last.time.toISOString() }
  return context.output.result(
    { ...value, first: firstTime, last: lastTime, anchored, anchor_problems: problems },
    [
      records === 0
        ? 'The chain has no record yet.'
        : `The chain is whole: ${counted(records, 'record')} from ${firstTime} to ${lastTime}, signed in ${counted(epoch + 1, 'epoch')}.`,
      ...(dropped === 0 ? [] : [`Records 1 to ${dropped} were dropped, and the chain has signed it.`]),
      ...(records === 0 ? [] : [`head     ${sequence}:${hash}`, `key      ${genesis}`]),
      ...(anchored === null ? [] : [`stamped  record ${anchored.sequence} was there at ${anchored.time}`]),
      ...problems,
      ...(isPinned
        ? []
        : ['No key was pinned, so this may be the chain of any device: name one with --key.']),
      ...(unfinished ? ['What follows is not signed yet: it is being written, or a crash cut it off.'] : []),
    ],
  )
}

const verify: Subcommand = async (context) => {
  const evidence = optionValue(context.arguments.options, 'evidence')
  if (evidence !== undefined) {
    const isPinned = optionValue(context.arguments.options, 'key') !== undefined
    return verifyEvidence(context, evidence, (verified) => tellVerified(context, verified, isPinned))
  }
  const { paths, pin, directory } = chainOf(context)
  const anchors = await anchorsOf(context, directory)
  const heads = [...optionValues(context.arguments.options, 'head').map(headOf), ...anchors.heads]
  const isGenesis = pin === undefined ? undefined : pinOf(pin)
  let verified: Verified | undefined
  const read = () => verifyChain(chainOf(context).paths, { isGenesis, heads, directory })
  try {
    verified = steadily(directory, read, ({ ok }) => ok)
  } catch (cause) {
    if (context.arguments.positionals.length > 1) throw unreadableFile(cause)
    if (errnoOf(cause) !== 'ENOENT') throw unreadableChain(directory, cause)
    verified = undefined
  }
  // A key is made known when its first record is written: an empty chain of it was emptied.
  if (verified === undefined || (verified.ok && verified.report.records === 0 && pin !== undefined)) {
    const [path = directory] = paths
    verified = { ok: false, finding: { sequence: 1, why: GONE, path, line: 1 } }
  }
  return tellVerified(context, verified, pin !== undefined, anchors)
}

function isTheSame({ counts, state }: ReplayReport): boolean {
  const isSame = counts.different === 0 && counts.missing === 0 && counts.no_policy === 0
  return isSame && state.broken.length === 0
}

const replay: Subcommand = async (context) => {
  takeWords(context, 1)
  const { directory } = localState(context).config.audit
  // The rules and all that takes commands apart: only this subcommand needs them.
  const { replayChain } = await import('../../edge/record/replay-chain.node.ts')
  let report: ReplayReport
  try {
    report = steadily(directory, () => replayChain(directory, programVersion()), isTheSame)
  } catch (cause) {
    throw unreadableChain(directory, cause)
  }
  const { decisions, counts, different, missing, state, notes } = report
  const isOk = isTheSame(report)
  const parts: readonly (readonly [number, string])[] = [
    [counts.same, 'came out as they were recorded'],
    [counts.different, 'came out otherwise'],
    [counts.purged, 'were purged'],
    [counts.missing, 'have no facts any more'],
    [counts.no_policy, 'have no policy any more'],
  ]
  context.output.result(
    { ok: isOk, decisions, ...counts, first_different: different, first_missing: missing, state, notes },
    [
      `${counted(decisions, 'decision')} made again: ${parts
        .filter(([count], index) => index === 0 || count > 0)
        .map(([count, what]) => `${count} ${what}`)
        .join(', ')}.`,
      `${counted(state.followed, 'decision')} had the state that the records before led to${state.untold === 0 ? '' : `; of ${state.untold} too little is left to tell`}.`,
      ...state.broken.map(brokenLine),
      ...different.map(({ sequence, fields }) => `Record ${sequence} differs in ${fields.join(', ')}.`),
      ...(missing.length === 0 ? [] : [`Without facts: record ${missing.join(', ')}.`]),
      ...notes.map((note) => `Note: ${note}.`),
    ],
  )
  return isOk ? EXIT.OK : EXIT_FAILED
}

const SUBCOMMANDS: ReadonlyMap<string, Subcommand> = new Map([
  ['anchor', anchor],
  ['export', exportSession],
  ['incident', incident],
  ['replay', replay],
  ['tail', tail],
  ['verify', verify],
])

export const command: Command = {
  usage: [
    'audit verify [FILE...] [--key KEY] [--head SEQ:HASH]',
    'audit anchor [--tsa URL --tsa-certificate FILE]',
    'audit replay',
    'audit export SESSION [--out FILE]',
    'audit incident SEQ',
    'audit verify --evidence FILE [--key KEY]',
    'audit tail [-n COUNT] [--session ID] [--agent NAME] [--for NAME] [--tool TOOL] [--since TIME] [--until TIME]',
  ],
  options: {
    '--key KEY':
      'verify: the pinned key of the first epoch, as a .pub file or its sha256: fingerprint; without it audit.pub of this device',
    '--head SEQ:HASH...': 'verify: a record that was seen before and must still be there',
    '--evidence FILE': 'verify: what audit export has written, with nothing else',
    '--out FILE': 'export: where to write it; - for stdout; SESSION.evidence.json',
    '--tsa URL': 'anchor: the time-stamping authority (RFC 3161); default audit.anchor.url',
    '--tsa-certificate FILE':
      'anchor, verify: PEM of the authority or of who has signed it; default audit.anchor.certificate',
    '--anchors DIR': 'verify: time stamps kept elsewhere; default those beside the chain',
    ...tailOptions,
  },
  examples: {
    'sass-edge audit verify': 'is the record of this device whole?',
    'sass-edge audit verify audit.jsonl --key edge7-audit.pub --json':
      'a copy, on another machine, with the key that was pinned',
    'sass-edge audit replay': 'decide everything once more, under the rules of its day, and compare',
    'sass-edge audit incident 1042': 'who, what, and what was saved and restored since',
    'sass-edge audit tail -n 5': 'what was decided last',
    'sass-edge audit tail --for planner --tool Bash --since 2026-03-01':
      'what agents ran on behalf of planner since then',
  },
  async run(context) {
    const subcommand = subcommandOf('audit', SUBCOMMANDS, context)
    try {
      return await subcommand(context)
    } catch (error) {
      // What an authority answers is no mistake here.
      throw subcommand === anchor ? error : asLocal(error)
    }
  },
}
