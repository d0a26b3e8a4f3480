/**
 * A path as a caller names it, judged as text before anything is looked up: absolute, or relative to the workspace.
 * Refused: what is empty or has a NUL, what is too long for the kernel, `..` above the root, and the forms that mean a
 * drive or another host elsewhere. What it leads to is for whoever opens it.
 * Rules: docs/protocol.md, section 3 (files); path_resolution(7).
 * @module
 */

import { utf8Length } from '../../base/encoding/utf8.ts'
import { resolvePath } from '../../base/text/lexical-path.ts'
import { PATH_BYTES } from '../../limits.ts'
import { FILE_NAME_BYTES } from '../limits.ts'

export type RemotePath =
  | { readonly ok: true; readonly path: string }
  /** A clause with the path as its subject. */
  | { readonly ok: false; readonly problem: string }

const DRIVE = /^[A-Za-z]:[\\/]/
const ANOTHER_HOST = /^\\\\/

/** True where the text goes up further than it has gone down. */
function leavesRoot(directory: string, text: string): boolean {
  let depth = text.startsWith('/') ? 0 : directory.split('/').filter((part) => part !== '').length
  for (const part of text.split('/')) {
    if (part === '' || part === '.') continue
    depth += part === '..' ? -1 : 1
    if (depth < 0) return true
  }
  return false
}

/** The absolute, normalised path that `text` names; `directory` is where relative ones begin. */
export function readRemotePath(directory: string, text: string): RemotePath {
  if (text === '') return { ok: false, problem: 'is empty' }
  if (text.includes('\0')) return { ok: false, problem: 'has a NUL in it' }
  if (DRIVE.test(text) || ANOTHER_HOST.test(text))
    return { ok: false, problem: 'names a drive or another host, which this device does not have' }
  if (leavesRoot(directory, text)) return { ok: false, problem: 'goes up above the root' }
  const path = resolvePath(directory, text)
  // The kernel counts the NUL that ends it.
  if (utf8Length(path) >= PATH_BYTES) return { ok: false, problem: `is longer than ${PATH_BYTES - 1} bytes` }
  if (path.split('/').some((name) => utf8Length(name) > FILE_NAME_BYTES))
    return { ok: false, problem: `has a name of more than ${FILE_NAME_BYTES} bytes in it` }
  return { ok: true, path }
}
