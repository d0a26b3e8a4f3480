/**
 * Takes out of a 64-bit little-endian ELF file what no loader reads: symbols, their names and debug information. The
 * parts that are loaded stay byte for byte where they are, so that nothing in them has to be moved.
 * Source: elf(5), the System V ABI.
 * @module
 */

const SECTION_HEADER_BYTES = 64
const SHF_ALLOC = 2n
const SHT_NULL = 0
const SHT_STRTAB = 3
const SHT_NOBITS = 8
/** Of the file header. */
const AT_SECTION_OFFSET = 40
const AT_SECTION_COUNT = 60
const AT_SECTION_NAMES = 62

type Section = {
  readonly header: Uint8Array
  readonly name: string
  readonly type: number
  readonly isLoaded: boolean
  readonly offset: number
  readonly bytes: number
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function readName(bytes: Uint8Array, at: number): string {
  const end = bytes.indexOf(0, at)
  return Array.from(bytes.subarray(at, end), (byte) => String.fromCharCode(byte)).join('')
}

function sectionsOf(file: Uint8Array): Section[] {
  const view = viewOf(file)
  const magic = [0x7f, 0x45, 0x4c, 0x46, 2, 1]
  if (file.length < 64 || magic.some((byte, index) => file[index] !== byte))
    throw new Error('This is no 64-bit little-endian ELF file.')
  const at = Number(view.getBigUint64(AT_SECTION_OFFSET, true))
  const count = view.getUint16(AT_SECTION_COUNT, true)
  const headers = Array.from({ length: count }, (_, index) =>
    file.subarray(at + index * SECTION_HEADER_BYTES, at + (index + 1) * SECTION_HEADER_BYTES),
  )
  const names = headers[view.getUint16(AT_SECTION_NAMES, true)]
  if (names === undefined || headers.some((header) => header.length < SECTION_HEADER_BYTES))
    throw new Error('The section headers of this ELF file lie outside of it.')
  const namesAt = Number(viewOf(names).getBigUint64(24, true))
  return headers.map((header) => {
    const head = viewOf(header)
    return {
      header,
      name: readName(file, namesAt + head.getUint32(0, true)),
      type: head.getUint32(4, true),
      isLoaded: (head.getBigUint64(8, true) & SHF_ALLOC) !== 0n,
      offset: Number(head.getBigUint64(24, true)),
      bytes: Number(head.getBigUint64(32, true)),
    }
  })
}

/**
 * The file without what is not loaded.
 * @throws Error where it is no such file, or a loaded section refers to one that goes
 */
export function stripElf(file: Uint8Array): Uint8Array {
  const sections = sectionsOf(file)
  const kept = sections.filter(({ isLoaded, type }) => isLoaded || type === SHT_NULL)
  const numberOf = new Map(kept.map((section, index) => [sections.indexOf(section), index]))
  const end = Math.max(
    ...kept.map(({ type, offset, bytes }) => (type === SHT_NOBITS ? offset : offset + bytes)),
  )

  const names = new Map<string, number>()
  let text = '\0'
  for (const { name } of [...kept, { name: '.shstrtab' }]) {
    if (names.has(name)) continue
    names.set(name, name === '' ? 0 : text.length)
    if (name !== '') text += `${name}\0`
  }
  const namesAt = end
  const headersAt = Math.ceil((namesAt + text.length) / 8) * 8
  const out = new Uint8Array(headersAt + (kept.length + 1) * SECTION_HEADER_BYTES)
  out.set(file.subarray(0, end))
  out.set(
    Uint8Array.from(text, (character) => character.charCodeAt(0)),
    namesAt,
  )
  for (const [index, { header, name }] of kept.entries()) {
    const at = headersAt + index * SECTION_HEADER_BYTES
    out.set(header, at)
    const head = new DataView(out.buffer, at, SECTION_HEADER_BYTES)
    head.setUint32(0, names.get(name) ?? 0, true)
    const link = head.getUint32(40, true)
    const linked = numberOf.get(link)
    if (linked === undefined) throw new Error(`${name} refers to a section that is not loaded.`)
    head.setUint32(40, linked, true)
  }
  const last = new DataView(out.buffer, headersAt + kept.length * SECTION_HEADER_BYTES)
  last.setUint32(0, names.get('.shstrtab') ?? 0, true)
  last.setUint32(4, SHT_STRTAB, true)
  last.setBigUint64(24, BigInt(namesAt), true)
  last.setBigUint64(32, BigInt(text.length), true)
  last.setBigUint64(48, 1n, true)

  const head = viewOf(out)
  head.setBigUint64(AT_SECTION_OFFSET, BigInt(headersAt), true)
  head.setUint16(AT_SECTION_COUNT, kept.length + 1, true)
  head.setUint16(AT_SECTION_NAMES, kept.length, true)
  return out
}
