import { Decoder } from 'cbor-x/index-no-eval'
import fc from 'fast-check'
import t from 'tap'
import { encodeCbor } from '../../../src/base/encoding/cbor.ts'
import { buildCbor } from '../../../src/base/encoding/cbor-build.ts'
import { cborValues, fromHex, plain } from '../cbor-values.ts'

const isSame = (a: unknown, b: unknown) => JSON.stringify(plain(a)) === JSON.stringify(plain(b))

t.test('cbor-x and our own builder read the same from the same bytes', async (t) => {
  const decoder = new Decoder({ mapsAsObjects: false, useRecords: false, tagUint8Array: false })
  const hasMark = (value: unknown): boolean => JSON.stringify(plain(value)).includes('\ufeff')
  fc.assert(
    fc.property(cborValues, (value) => {
      const bytes = encodeCbor(value)
      if (!isSame(buildCbor(bytes), value)) return false
      return hasMark(value) || isSame(decoder.decode(bytes), value)
    }),
    { numRuns: 300 },
  )
  t.pass()
})

t.test('the builder refuses bytes that end early, should it ever be given unchecked ones', async (t) => {
  for (const hex of ['', '19', '1b00', '42 00', '61', '81', 'f9', 'f7'])
    t.throws(() => buildCbor(fromHex(hex.replaceAll(' ', ''))), { code: 'INTERNAL' }, hex)
})
