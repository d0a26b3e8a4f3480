/**
 * An allow-list of addresses: ranges in CIDR form, single addresses, or `*` for everybody. Read once, asked at each
 * connection. What is no range lets nobody in; the configuration's own check has refused it before.
 * Rules: docs/configuration.md (acl.allow).
 * @module
 */
import { type IpAddress, type IpRange, parseIpRange, rangeContains } from './ip-address.ts'

/** The first entry that lets the address in, as it was written; undefined where none does. */
export type AllowList = (address: IpAddress) => string | undefined

export function createAllowList(entries: readonly string[]): AllowList {
  const ranges: { readonly text: string; readonly range: IpRange | undefined }[] = []
  for (const text of entries) {
    const parsed = text === '*' ? undefined : parseIpRange(text)
    if (parsed === undefined) ranges.push({ text, range: undefined })
    else if (parsed.ok) ranges.push({ text, range: parsed.range })
  }
  return (address) => ranges.find(({ range }) => range === undefined || rangeContains(range, address))?.text
}
