/**
 * `sass-edge audit anchor`, and what the kept time stamps prove to `audit verify`.
 * @module
 */

import { join } from 'node:path'
import { unreadableChain } from '../../audit/segments.node.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { visible } from '../../base/text/visible.ts'
import type { Anchors } from '../../edge/record/anchors.node.ts'
import { misuse } from '../../errors.ts'
import { localConfig, localState, takeWords } from '../common/local-config.node.ts'
import { optionValue } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'
import type { Subcommand } from '../words/subcommand.ts'

/** What time stamps there are, where somebody says whose are trusted. */
export async function anchorsOf(context: CommandContext, directory: string): Promise<Anchors> {
  const { options, positionals } = context.arguments
  const place = optionValue(options, 'anchors') ?? join(directory, 'anchors')
  const named = optionValue(options, 'tsa-certificate')
  const certificate =
    named ?? (positionals.length > 1 ? null : localConfig(context).config.audit.anchor.certificate)
  if (certificate === null) return { heads: [], problems: [], last: undefined }
  const { readAnchors, readAuthorities } = await import('../../edge/record/anchors.node.ts')
  return readAnchors(place, readAuthorities(certificate))
}

/** Has somebody else say when the last record was there. */
export const anchor: Subcommand = async (context) => {
  takeWords(context, 1)
  const { options } = context.arguments
  const { config } = localState(context)
  const { directory } = config.audit
  const { askAuthority, lastHead, keepAnchor, readAuthorities } = await import(
    '../../edge/record/anchors.node.ts'
  )
  const { timeStampRequest } = await import('../../edge/record/time-stamp.node.ts')
  let head: ReturnType<typeof lastHead>
  try {
    head = lastHead(directory)
  } catch (cause) {
    throw unreadableChain(directory, cause)
  }
  const url = optionValue(options, 'tsa') ?? config.audit.anchor.url
  const certificate = optionValue(options, 'tsa-certificate') ?? config.audit.anchor.certificate
  if (url === null || certificate === null)
    throw misuse(
      'audit anchor needs the authority and its certificate: set audit.anchor.url and audit.anchor.certificate, or give --tsa URL and --tsa-certificate FILE.',
    )
  const trusted = readAuthorities(certificate)
  const anchored = keepAnchor(directory, head, await askAuthority(url, timeStampRequest(head.hash)), trusted)
  const { sequence, time, by } = anchored
  return context.output.result({ sequence, hash: encodeHex(head.hash), time: time.toISOString(), by }, [
    `Record ${sequence} was there at ${time.toISOString()}, says ${visible(by)}.`,
  ])
}
