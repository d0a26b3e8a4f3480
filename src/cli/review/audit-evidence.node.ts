/**
 * `sass-edge audit export`, and `audit verify --evidence`: everything about one session as one file, and that file held
 * against nothing but itself and a pinned key.
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { steadily } from '../../audit/retention.node.ts'
import { unreadableChain } from '../../audit/segments.node.ts'
import type { Verified } from '../../audit/verify-chain.node.ts'
import { createFile, readBounded } from '../../base/files.node.ts'
import { programVersion } from '../../edge/host/version.node.ts'
import type { Evidence } from '../../edge/record/evidence.node.ts'
import { misuse, SassError } from '../../errors.ts'
import { EVIDENCE_BYTES } from '../../limits.ts'
import { localState, takeWords } from '../common/local-config.node.ts'
import { writeAll } from '../common/output.node.ts'
import { makingError } from '../common/system-error.node.ts'
import { optionValue } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'
import { plainId } from '../words/listing.ts'
import type { Subcommand } from '../words/subcommand.ts'
import { brokenLine, EXIT_FAILED, fingerprintOf, pinOf, unreadableFile } from './audit-words.node.ts'

const STDOUT = '-'

/** Everything about one session as one file, that verifies alone. */
export const exportSession: Subcommand = async (context) => {
  const [, given = ''] = takeWords(context, 2)
  const session = plainId(given)
  if (!/^[0-9a-f]{32}$/.test(session))
    throw misuse('audit export takes the id of a session: it is in sass-edge audit tail.')
  const { audit, state_directory: stateDirectory } = localState(context).config
  const { directory } = audit
  const { gatherEvidence } = await import('../../edge/record/evidence.node.ts')
  const { branchEvidence } = await import('../../edge/work/branch-evidence.node.ts')
  const path = optionValue(context.arguments.options, 'out') ?? `${session}.evidence.json`
  let evidence: Evidence
  try {
    const list = branchEvidence(stateDirectory, session)
    const gathered = steadily(directory, () => gatherEvidence(directory, session))
    evidence = { ...gathered, ...(list === undefined ? {} : { branch: list }) }
  } catch (cause) {
    throw unreadableChain(directory, cause)
  }
  const text = `${JSON.stringify(evidence)}\n`
  if (path === STDOUT) {
    writeAll(1, text)
    return EXIT.OK
  }
  try {
    // Whoever has it can read what the session said and did.
    createFile(path, Buffer.from(text), 0o600)
  } catch (cause) {
    throw makingError(
      cause,
      'FILE_IO',
      path,
      (since) => `${path} cannot be written, since ${since}: name another with --out.`,
    )
  }
  const { records, frames, keys } = evidence
  return context.output.result(
    { file: path, session, records: records.length, facts: frames.length, keys: keys.length },
    [
      `${path} has ${records.length} records and the facts of ${frames.length} decisions; check it with sass-edge audit verify --evidence ${path} --key AUDIT.pub.`,
      'It has the keys of its sealed facts: whoever has the file can read them.',
    ],
  )
}

/** Evidence, wherever it is: its chain, and then its decisions. */
export async function verifyEvidence(
  context: CommandContext,
  path: string,
  tellBroken: (verified: Verified) => number,
): Promise<number> {
  takeWords(context, 1)
  const { checkEvidence, parseEvidence } = await import('../../edge/record/evidence.node.ts')
  const { branchDigest } = await import('../../edge/work/branch-evidence.node.ts')
  const pin = optionValue(context.arguments.options, 'key')
  let read: ReturnType<typeof readBounded>
  try {
    read = readBounded(path, EVIDENCE_BYTES)
  } catch (cause) {
    throw unreadableFile(cause)
  }
  if (!read.ok)
    throw new SassError(
      'FILE_IO',
      `${path} is no file of at most ${EVIDENCE_BYTES} bytes, so it was not read.`,
      { path },
    )
  const evidence = parseEvidence(read.bytes, path)
  const digest = evidence.branch === undefined ? undefined : branchDigest(evidence.branch)
  const branch =
    digest === undefined
      ? undefined
      : { digest, isRecorded: evidence.records.some((line) => line.includes(`"${digest}"`)) }
  const place = mkdtempSync(join(tmpdir(), 'sass-edge-evidence-'))
  try {
    const isGenesis = pin === undefined ? undefined : pinOf(pin)
    const { verified, replay } = checkEvidence(evidence, place, isGenesis, programVersion())
    if (!verified.ok)
      // It was laid out elsewhere, and is one line in the file that was named.
      return tellBroken({ ok: false, finding: { ...verified.finding, path, line: 1 } })
    if (replay === undefined) return tellBroken(verified)
    const { counts, state } = replay
    const isSame = counts.different === 0 && counts.no_policy === 0 && counts.missing === 0
    const isOk = isSame && state.broken.length === 0
    const genesis = verified.report.genesis === undefined ? null : fingerprintOf(verified.report.genesis)
    context.output.result(
      {
        ok: isOk,
        session: evidence.session,
        genesis,
        pinned: pin !== undefined,
        branch_digest: branch?.digest ?? null,
        branch_recorded: branch?.isRecorded ?? null,
        records: verified.report.records,
        ...counts,
        state,
      },
      [
        `The evidence of session ${evidence.session} is whole: ${verified.report.records} records, signed by the device with the key ${genesis}.`,
        `Of its decisions ${counts.same} came out again as they were recorded, ${counts.different} otherwise, ${counts.purged} were purged, ${counts.missing + counts.no_policy} cannot be made again.`,
        ...state.broken.map(brokenLine),
        ...(branch === undefined
          ? []
          : [
              `Its branch would change what the list with the digest ${branch.digest} says${branch.isRecorded ? ', which the record names' : '; the record names another one or none'}.`,
            ]),
        ...(pin === undefined
          ? ['No key was pinned, so this may be of any device: name one with --key.']
          : []),
      ],
    )
    return isOk ? EXIT.OK : EXIT_FAILED
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}
