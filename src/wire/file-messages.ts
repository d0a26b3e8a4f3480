/**
 * The messages of files: what is uploaded and downloaded, by the names and keys of docs/protocol.md, section 3. Beside
 * messages.ts, and docs/sass.cddl is generated from both.
 * @module
 */
import { CHUNK_BYTES, EXECUTION_ID_BYTES, PATH_BYTES } from '../limits.ts'
import { finding } from './messages.ts'
import {
  bool,
  borrowedBytes,
  bytes,
  defaulted,
  listOf,
  type MessageValue,
  message,
  optional,
  required,
  text,
  unsigned,
} from './schema.ts'

const digest = bytes(32)
const path = text(PATH_BYTES)

export const fileMetadata = message('FileMetadata', {
  remote_path: required(1, path),
  total_size: defaulted(2, unsigned(), 0),
  offset: defaulted(3, unsigned(), 0),
  mode: optional(12, unsigned(0o7777)),
  sha256: optional(13, digest, 'of the whole file'),
  kind: defaulted(14, unsigned(2), 0, '0 file, 1 directory, 2 symbolic link'),
  target: optional(15, path, 'what a symbolic link holds'),
  content_source: optional(16, unsigned(0xff), 'of a download; as in CONTENT_SOURCES'),
})

export const fileChunk = message('FileChunk', {
  metadata: optional(1, fileMetadata, 'in the first chunk'),
  data: optional(2, borrowedBytes(CHUNK_BYTES)),
})

export const fileOutcome = message('FileOutcome', {
  success: defaulted(1, bool, false),
  message: defaulted(2, text(1_024), ''),
  bytes_written: defaulted(3, unsigned(), 0),
  sha256: optional(12, digest),
})

export const fileDownloadRequest = message('FileDownloadRequest', {
  remote_path: required(1, path),
  offset: defaulted(2, unsigned(), 0),
  sha256: optional(12, digest, 'of the offset bytes that the client has'),
  handoff_id: optional(13, bytes(EXECUTION_ID_BYTES), 'remote_path is an artifact that it has brought'),
})

export const fileDownloadEnd = message('FileDownloadEnd', {
  sha256: required(12, digest),
  total_size: required(13, unsigned()),
  findings: optional(14, listOf(finding, 64)),
})

export type FileChunk = MessageValue<typeof fileChunk>
export type FileMetadata = MessageValue<typeof fileMetadata>
export type FileOutcome = MessageValue<typeof fileOutcome>
export type FileDownloadRequest = MessageValue<typeof fileDownloadRequest>
export type FileDownloadEnd = MessageValue<typeof fileDownloadEnd>
