/**
 * The tools `read`, `write`, `list` and `branch_diff`: files as the commands of the session see them, and what the
 * session has changed so far. Nothing of them touches a file of this machine.
 * @module
 */
import { encodeBase64 } from '../../base/encoding/base64.ts'
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import type { RemoteEntry } from '../../client/client.node.ts'
import { misuse, SassError } from '../../errors.ts'
import { findingsSentence } from '../words/findings.ts'
import { answered } from './answered.node.ts'
import { MCP_WRITE_BYTES } from './bounds.ts'
import { type Tool, waitingWords } from './call.node.ts'
import { bytesOf } from './execute-tool.node.ts'
import { createKeeper } from './kept-output.ts'
import { contentOf, count, shownText } from './tool-text.ts'
import type { ToolArguments } from './tools.ts'

function modeText(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0')
}

export const read: Tool<ToolArguments<'read'>> = async (call, args) => {
  const { path, handoff, offset, max_bytes, encoding } = args
  const piece = await answered(call, ({ came, signal }) =>
    call.client.read(path, {
      ...{ offset, maxBytes: max_bytes, signal, handoff },
      onProgress(done, total) {
        came()
        call.progress({ progress: done, total, message: `${count(done, 'byte')} read` })
      },
    }),
  )
  const { bytes, size, mode, sha256 } = piece
  const isMore = offset + bytes.length < size
  const base64 = { content: encodeBase64(bytes), encoding: 'base64', offset, bytes: bytes.length } as const
  const content = encoding === 'base64' ? base64 : contentOf(piece, false, isMore)
  // From the end of what is shown: a character that was cut comes whole.
  const next = content.offset + content.bytes
  const found = findingsSentence(piece.findings)
  const form = content.encoding === 'base64' ? ', in base64' : ''
  const more = isMore ? `; for the rest: read with offset ${next}` : ''
  return {
    text: [
      `--- ${shownText(path)}: bytes ${offset} to ${next} of ${size}, mode ${modeText(mode)}${form}${more}`,
      ...(found === undefined ? [] : [found]),
    ].join('\n'),
    outside: shownText(content.content),
    data: {
      ...{ path, ...content, size, mode: modeText(mode) },
      ...(sha256 === undefined ? {} : { sha256 }),
      ...(piece.findings === undefined ? {} : { findings: piece.findings }),
      ...(isMore ? { next_offset: next } : {}),
    },
    isError: false,
  }
}

export const write: Tool<ToolArguments<'write'>> = async (call, args) => {
  const { path, content, encoding, mode } = args
  const bytes = bytesOf(content, encoding, 'content')
  if (bytes.length > MCP_WRITE_BYTES)
    throw new SassError(
      'FILE_TOO_LARGE',
      `The content has ${bytes.length} bytes, more than the ${MCP_WRITE_BYTES} that one call may write, so nothing was written; larger files are for sass-edge cp.`,
    )
  const { progress } = call
  const { size, sha256 } = await answered(call, ({ came, waits, signal }) =>
    call.client.upload(bytes, path, {
      ...{ signal, mode: mode === undefined ? undefined : Number.parseInt(mode, 8) },
      onProgress(done, total) {
        came()
        progress({ progress: done, total, message: `${count(done, 'byte')} sent` })
      },
      onWaiting(what) {
        waits()
        progress({ progress: 0, total: bytes.length, message: waitingWords(what) })
      },
    }),
  )
  return {
    text: `${shownText(path)} is written: ${count(size, 'byte')}, SHA-256 ${sha256}.`,
    data: { path, bytes: size, sha256 },
    isError: false,
  }
}

/** Names need not be text. */
function nameOf(name: string | Uint8Array): { readonly name: string; readonly name_base64?: string } {
  if (typeof name === 'string') return { name }
  const shown = Array.from(name, (byte) =>
    byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`,
  )
  return { name: shown.join(''), name_base64: encodeBase64(name) }
}

function entryData({ name, kind, mode, size, target }: RemoteEntry): Readonly<Record<string, unknown>> {
  return {
    ...nameOf(name),
    ...{ kind, mode: modeText(mode), size },
    ...(target === undefined ? {} : { target: nameOf(target).name }),
  }
}

const MARKS = Object.freeze({ file: '-', directory: 'd', link: 'l', other: '?' })

function entryLine({ name, kind, mode, size, target }: RemoteEntry): string {
  const to = target === undefined ? '' : ` -> ${nameOf(target).name}`
  return shownText(
    `${MARKS[kind]} ${modeText(mode)} ${String(size).padStart(10)} ${nameOf(name).name}${to}`.replaceAll(
      '\n',
      '\\n',
    ),
  )
}

export const list: Tool<ToolArguments<'list'>> = async (call, { path, offset, limit }) => {
  const listing = await answered(call, ({ signal }) => call.client.list(path, { signal }))
  if (listing === undefined)
    throw misuse(`${path} is a file on the device and no directory; read it.`, { path })
  const { length: total } = listing.entries
  const entries = listing.entries.slice(offset, offset + limit)
  const next = offset + entries.length
  const more = next < total ? [`For the rest: list with offset ${next}.`] : []
  return {
    text: [`${shownText(path)}: ${total} entries, here ${offset} to ${next}`, ...more].join('\n'),
    outside: entries.length === 0 ? undefined : entries.map(entryLine).join('\n'),
    data: {
      path,
      total,
      offset,
      entries: entries.map(entryData),
      ...(next < total ? { next_offset: next } : {}),
    },
    isError: false,
  }
}

export const branchDiff: Tool<ToolArguments<'branch_diff'>> = async (call, args) => {
  const { paths, form, offset, max_output_bytes } = args
  const keeper = createKeeper(max_output_bytes, offset)
  let at = 0
  const changes = await answered(call, ({ came, signal }) =>
    call.client.changes(
      (bytes) => {
        came()
        // The list is read to its end, which has the numbers; what stands before the offset is passed over.
        const skipped = Math.min(bytes.length, Math.max(0, offset - at))
        if (skipped < bytes.length) keeper.take(bytes.subarray(skipped), at + skipped)
        at += bytes.length
      },
      { form, paths, signal },
    ),
  )
  const kept = keeper.kept()
  const total = at
  const isMore = kept.offset + kept.bytes.length < total
  const content = contentOf(kept, false, isMore)
  const next = content.offset + content.bytes
  const { branch, digest, conflicts, heldBack, isPreview } = changes
  const shown = shownText(decodeUtf8(kept.bytes, 0, content.bytes) ?? content.content).trimEnd()
  const lines = [
    `${count(changes.changes, 'change')}, ${conflicts} in conflict, ${heldBack} merged only by name${isPreview ? '; commands run, so this may change' : ''}.`,
    ...(isMore ? [`For the rest: branch_diff with offset ${next}.`] : []),
    ...(branch === undefined || changes.changes === 0
      ? []
      : [`An operator reviews and merges it: sass-edge branch merge ${branch.slice(0, 8)}`]),
  ]
  return {
    text: lines.join('\n'),
    outside: shown === '' ? undefined : shown,
    data: {
      ...(branch === undefined ? {} : { branch }),
      ...{ changes: changes.changes, conflicts, held_back: heldBack, preview: isPreview, digest },
      ...content,
      total_bytes: total,
      ...(isMore ? { next_offset: next } : {}),
    },
    isError: false,
  }
}
