import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { encodeCbor, openCbor } from '../../../src/base/encoding/cbor.ts'
import { type CborLimits, checkCbor } from '../../../src/base/encoding/cbor-check.ts'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { cborValues, fromHex } from '../cbor-values.ts'

const LIMITS: CborLimits = { depth: 8, items: 4_096 }
const vectors = join(import.meta.dirname, '../../../../shared/vectors/cbor')
const problemOf = (hex: string, limits = LIMITS) => checkCbor(fromHex(hex), limits)

t.test('refuses every malformed item of the public vectors before anything is built (SS-01)', async (t) => {
  const path = join(vectors, 'fail.json')
  if (!existsSync(path)) {
    t.comment('skipped: ../shared/vectors/cbor is not here')
    t.pass()
    return
  }
  const items: { hex: string }[] = JSON.parse(readFileSync(path, 'utf8'))
  t.ok(items.length > 600, `${items.length} items`)
  t.strictSame(
    items.filter(({ hex }) => problemOf(hex) === undefined).map(({ hex }) => hex),
    [],
  )
  t.ok(items.every(({ hex }) => !openCbor(fromHex(hex), LIMITS).ok))
})

t.test(
  'takes of RFC 8949 appendix A what the profile has and no more, and gives it back byte for byte',
  async (t) => {
    const path = join(vectors, 'appendix_a.json')
    if (!existsSync(path)) {
      t.comment('skipped: ../shared/vectors/cbor is not here')
      t.pass()
      return
    }
    const items: { hex: string; roundtrip: boolean }[] = JSON.parse(readFileSync(path, 'utf8'))
    // Not in the profile: indefinite lengths (not round trip), tags, floats, undefined and other simple values.
    const isOurs = ({ hex, roundtrip }: { hex: string; roundtrip: boolean }) =>
      roundtrip && !/^(?:[cd]|f[0789ab])/.test(hex)
    t.equal(items.filter(isOurs).length, 37)
    for (const item of items) {
      const opened = openCbor(fromHex(item.hex), LIMITS)
      t.equal(opened.ok, isOurs(item), item.hex)
      if (!opened.ok) continue
      // The least integer of all is read, and not written: cbor-x would put a tag on it, and no message has it.
      if (item.hex === '3bffffffffffffffff')
        t.throws(() => encodeCbor(opened.value as never), { code: 'INTERNAL' })
      else t.equal(encodeHex(encodeCbor(opened.value as never)), item.hex)
    }
  },
)

t.test('says what is wrong', async (t) => {
  const wrong: readonly [hex: string, problem: string][] = [
    ['', 'ends inside an item'],
    ['82 01', 'a container longer than what follows'],
    ['19 01', 'ends inside a head'],
    ['18 17', 'a head that is not the shortest'],
    ['19 00ff', 'a head that is not the shortest'],
    ['1a 0000ffff', 'a head that is not the shortest'],
    ['1b 00000000ffffffff', 'a head that is not the shortest'],
    ['58 01 00', 'a head that is not the shortest'],
    ['5f 4100 ff', 'an indefinite length'],
    ['9f ff', 'an indefinite length'],
    ['bf ff', 'an indefinite length'],
    ['ff', 'a break without a start'],
    ['1c', 'a reserved head'],
    ['5d', 'a reserved head'],
    ['42 00', 'a string longer than what follows'],
    ['7b ffffffffffffffff', 'a string longer than what follows'],
    ['9b ffffffffffffffff 00', 'a container longer than what follows'],
    ['bb ffffffffffffffff 00', 'a container longer than what follows'],
    ['61 ff', 'text that is not UTF-8'],
    ['62 c080', 'text that is not UTF-8'],
    ['63 eda080', 'text that is not UTF-8'],
    ['63 efbbbf', 'text that begins with U+FEFF'],
    ['64 efbbbf61', 'text that begins with U+FEFF'],
    ['82 01 63 efbbbf', 'text that begins with U+FEFF'],
    ['a1 63 efbbbf 00', 'text that begins with U+FEFF'],
    ['c0 00', 'a tag'],
    ['d9 d9f7 00', 'a tag'],
    ['f9 3c00', 'a float or a simple value'],
    ['fa 47c35000', 'a float or a simple value'],
    ['fb 3ff199999999999a', 'a float or a simple value'],
    ['f8 20', 'a float or a simple value'],
    ['f7', 'a simple value other than false, true or null'],
    ['e0', 'a simple value other than false, true or null'],
    ['a2 01 00 01 00', 'a map key twice'],
    ['a2 02 00 01 00', 'map keys out of order'],
    ['a2 61 62 00 61 61 00', 'map keys out of order'],
    // Bytewise: 24 (18 18) comes after 23, text after both, and a longer text after a shorter one.
    ['a2 6161 00 1818 00', 'map keys out of order'],
    ['a2 6261 61 00 6162 00', 'map keys out of order'],
    ['a1 80 00', 'a map key that is an array or a map'],
    ['a1 f4 00', 'a map key that is a simple value'],
    ['00 00', 'bytes after the item'],
  ]
  for (const [spaced, problem] of wrong) t.equal(problemOf(spaced.replaceAll(' ', '')), problem, spaced)
  for (const hex of [
    'a3 17 00 1818 00 6161 00',
    'a2 20 00 4100 00',
    // Elsewhere, in bytes, and another character that begins alike.
    '64 61efbbbf',
    '66 61efbbbf6161',
    '43 efbbbf',
    '63 efbbbe',
    '62 c3af',
    'f4',
    'f5',
    'f6',
    'a0',
    '80',
    '60',
    '40',
  ])
    t.equal(problemOf(hex.replaceAll(' ', '')), undefined, hex)
})

t.test('counts the depth of containers, empty ones too, and refuses the one past the limit', async (t) => {
  const nested = (depth: number, inner: string) => `${'81'.repeat(depth)}${inner}`
  t.equal(problemOf(nested(8, '00')), undefined)
  t.equal(problemOf(nested(7, '80')), undefined)
  t.equal(problemOf(nested(8, '80')), 'nested too deep')
  t.equal(problemOf(nested(9, '00')), 'nested too deep')
  t.equal(problemOf('00', { depth: 0, items: 1 }), undefined)
  t.equal(problemOf('80', { depth: 0, items: 1 }), 'nested too deep')
  // Beside each other is not inside each other.
  t.equal(problemOf(`98c8${'8100'.repeat(200)}`, { depth: 2, items: 1_000 }), undefined)
})

t.test('counts every head as an item, and refuses the one past the limit', async (t) => {
  t.equal(problemOf('8300 00 00'.replaceAll(' ', ''), { depth: 8, items: 4 }), undefined)
  t.equal(problemOf('830000 00'.replaceAll(' ', ''), { depth: 8, items: 3 }), 'more items than allowed')
  const zeros = new Uint8Array(4_098)
  zeros.set([0x99, 0x0f, 0xff])
  t.equal(checkCbor(zeros, LIMITS), undefined, '4,095 members and their array are 4,096 items')
  const more = new Uint8Array(4_099)
  more.set([0x99, 0x10, 0x00])
  t.equal(checkCbor(more, LIMITS), 'more items than allowed')
})

t.test('walks 100,000 containers inside each other without a stack', async (t) => {
  const deep = new Uint8Array(100_001).fill(0x81)
  deep[100_000] = 0
  t.equal(checkCbor(deep, LIMITS), 'nested too deep')
  t.equal(checkCbor(deep, { depth: 200_000, items: 200_000 }), undefined)
})

t.test('passes what the encoder writes, and refuses every beginning of it', async (t) => {
  fc.assert(
    fc.property(cborValues, (value) => {
      const bytes = encodeCbor(value)
      if (checkCbor(bytes, LIMITS) !== undefined) return false
      for (let length = 0; length < bytes.length; length++)
        if (checkCbor(bytes.subarray(0, length), LIMITS) === undefined) return false
      return true
    }),
    { numRuns: 300 },
  )
  t.pass()
})

t.test(
  'one item has one encoding: a changed byte is refused or is another item, exactly as written',
  async (t) => {
    fc.assert(
      fc.property(cborValues, fc.nat(), fc.integer({ min: 1, max: 255 }), (value, where, change) => {
        const bytes = encodeCbor(value)
        const at = where % bytes.length
        bytes[at] = (bytes[at] ?? 0) ^ change
        const opened = openCbor(bytes, LIMITS)
        return !opened.ok || encodeHex(encodeCbor(opened.value as never)) === encodeHex(bytes)
      }),
      { numRuns: 3_000 },
    )
    t.pass()
  },
)
