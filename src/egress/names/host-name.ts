/**
 * The one form in which the gate holds and compares host names: A-labels in lower case, without a dot at the end. A name
 * is refused, never repaired: NUL, spaces, anything that is not ASCII (full-width letters and dots are what some
 * programs take for plain ones), empty and long labels, and what a program would read as an address.
 * Rules: RFC 1035, 2.3.4; RFC 1123, 2.1; RFC 5890, 2.3.1. The underscore, which host names should not have, is taken:
 * real ones do.
 * @module
 */

import { HOST_NAME_CHARS, LABEL_BYTES } from '../limits.ts'

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/
/** inet_aton(3) and the URL standard read a name that ends so as an IPv4 address. */
const NUMBER = /^(?:[0-9]+|0x[0-9a-f]*)$/

/** The normal form of `text`, or undefined where it is no host name. One dot at the end is taken away. */
export function normalHostName(text: string): string | undefined {
  // Measured before it is changed: lower case of other scripts can be plain ASCII (the Kelvin sign).
  if (text.length > HOST_NAME_CHARS + 1 || !/^[\x21-\x7e]+$/.test(text)) return undefined
  const name = (text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase()
  if (name.length > HOST_NAME_CHARS) return undefined
  const labels = name.split('.')
  if (!labels.every((label) => label.length <= LABEL_BYTES && LABEL.test(label))) return undefined
  return NUMBER.test(labels.at(-1) ?? '') ? undefined : name
}

/** True where `name` lies below `parent`, by whole labels; a name does not lie below itself. Both in normal form. */
export function isBelow(name: string, parent: string): boolean {
  return name.length > parent.length && name.endsWith(`.${parent}`)
}
