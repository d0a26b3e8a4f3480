/**
 * The address of a Unix socket as the kernel takes it.
 * Rules: unix(7).
 * @module
 */

export const AF_UNIX = 1

/** struct sockaddr_un: a path, or with `@` in front a name that is in no file system. */
export function unixAddress(path: string): Uint8Array {
  const address = Buffer.alloc(2 + Buffer.byteLength(path) + (path.startsWith('@') ? 0 : 1))
  address.writeUInt16LE(AF_UNIX, 0)
  address.write(path, 2)
  if (path.startsWith('@')) address[2] = 0
  return address
}
