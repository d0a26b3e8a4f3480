/**
 * Extended attributes for people: access lists as getfacl writes them, short texts as they are, the rest by its size.
 * Sources: acl(5), getfacl(1); linux/posix_acl_xattr.h.
 * @module
 */

import { decodeUtf8 } from '../../../base/encoding/utf8.ts'
import { visible } from '../../../base/text/visible.ts'

const ACCESS_LISTS: ReadonlySet<string> = new Set(['system.posix_acl_access', 'system.posix_acl_default'])
/** struct posix_acl_xattr_header: version; struct posix_acl_xattr_entry: tag, rights, id. */
const HEAD_BYTES = 4
const VERSION = 2
const ENTRY_BYTES = 8
const TAGS: Readonly<Record<number, string>> = {
  1: 'user',
  2: 'user',
  4: 'group',
  8: 'group',
  16: 'mask',
  32: 'other',
}
const HAS_ID: ReadonlySet<number> = new Set([2, 8])
const SHOWN_BYTES = 64

export function isAccessList(attribute: string): boolean {
  return ACCESS_LISTS.has(attribute)
}

function rightsText(rights: number): string {
  return `${(rights & 4) !== 0 ? 'r' : '-'}${(rights & 2) !== 0 ? 'w' : '-'}${(rights & 1) !== 0 ? 'x' : '-'}`
}

/** Undefined for what is no list of the version that is known. */
function accessListText(value: Uint8Array): string | undefined {
  const view = new DataView(value.buffer, value.byteOffset, value.length)
  if ((value.length - HEAD_BYTES) % ENTRY_BYTES !== 0 || value.length < HEAD_BYTES) return undefined
  if (view.getUint32(0, true) !== VERSION) return undefined
  const entries: string[] = []
  for (let at = HEAD_BYTES; at < value.length; at += ENTRY_BYTES) {
    const tag = view.getUint16(at, true)
    const name = TAGS[tag]
    if (name === undefined) return undefined
    const id = HAS_ID.has(tag) ? view.getUint32(at + 4, true) : ''
    entries.push(`${name}:${id}:${rightsText(view.getUint16(at + 2, true))}`)
  }
  return entries.join(' ')
}

/** One attribute with its value; `value` undefined: it is gone. */
export function attributeText(attribute: string, value: Uint8Array | undefined): string {
  const name = visible(attribute)
  if (value === undefined) return `${name} removed`
  const list = isAccessList(attribute) ? accessListText(value) : undefined
  if (list !== undefined) return `${name} ${list}`
  const text = value.length <= SHOWN_BYTES ? decodeUtf8(value) : undefined
  return text === undefined ? `${name} of ${value.length} bytes` : `${name} "${visible(text)}"`
}
