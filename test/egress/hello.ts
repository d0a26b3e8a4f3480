/** ClientHellos made by hand, for tests. */

export type HelloParts = {
  readonly names?: readonly string[]
  readonly extensions?: readonly (readonly [type: number, bytes: readonly number[]])[]
  readonly hasExtensions?: boolean
}

const word = (value: number): number[] => [(value >> 8) & 0xff, value & 0xff]
const ascii = (text: string): number[] => Array.from(text, (char) => char.charCodeAt(0))

export function serverName(name: string): [number, number[]] {
  return [0, [...word(name.length + 3), 0, ...word(name.length), ...ascii(name)]]
}

/** The message, without records. */
export function helloMessage({
  names = ['a.example'],
  extensions = [],
  hasExtensions = true,
}: HelloParts = {}): number[] {
  const all = [...names.map(serverName), [43, [2, 3, 4]] as const, ...extensions]
  const packed = all.flatMap(([type, bytes]) => [...word(type), ...word(bytes.length), ...bytes])
  const body = [
    ...[3, 3],
    ...new Array(32).fill(7),
    ...[0, 0, 2, 0x13, 1, 1, 0],
    ...(hasExtensions ? [...word(packed.length), ...packed] : []),
  ]
  return [1, 0, ...word(body.length), ...body]
}

/** In records of so many bytes. */
export function records(message: readonly number[], recordBytes = 16_384, type = 0x16): number[] {
  const all: number[] = []
  for (let at = 0; at < message.length; at += recordBytes) {
    const part = message.slice(at, at + recordBytes)
    all.push(type, 3, 1, ...word(part.length), ...part)
  }
  return all
}
