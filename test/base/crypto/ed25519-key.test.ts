import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkPublicKey } from '../../../src/base/crypto/ed25519-key.ts'

const VECTORS = join(import.meta.dirname, '../../../../shared/vectors/ed25519-edge/ed25519vectors.json')

const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))

/** The eight points of low order, and after each its other encodings. */
const LOW_ORDER = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '0000000000000000000000000000000000000000000000000000000000000080',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000080',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
]

t.test('refuses the eight points of low order in all of their fourteen encodings', async (t) => {
  for (const hex of LOW_ORDER) t.notOk(checkPublicKey(bytesOf(hex)).ok, hex)
})

t.test(
  'refuses every low-order, mixed-order and non-canonical key of the edge cases, and takes the others',
  async (t) => {
    if (!existsSync(VECTORS)) {
      t.comment('skipped: ../shared/vectors/ed25519-edge is not here')
      t.pass()
      return
    }
    const cases = JSON.parse(readFileSync(VECTORS, 'utf8')) as { key: string; flags: string[] | null }[]
    const flagsByKey = new Map<string, Set<string>>()
    for (const { key, flags } of cases) {
      const known = flagsByKey.get(key) ?? new Set()
      for (const flag of flags ?? []) known.add(flag)
      flagsByKey.set(key, known)
    }
    let taken = 0
    for (const [key, flags] of flagsByKey) {
      const isBad = ['low_order_A', 'non_canonical_A', 'low_order_component_A'].some((flag) =>
        flags.has(flag),
      )
      t.equal(checkPublicKey(bytesOf(key)).ok, !isBad, key)
      if (!isBad) taken += 1
    }
    t.equal(cases.length, 914)
    t.ok(taken > 0 && taken < flagsByKey.size, `${taken} of ${flagsByKey.size} keys taken`)
  },
)

t.test('takes ordinary keys, made by node:crypto', async (t) => {
  for (let count = 0; count < 40; count += 1) {
    const { publicKey } = generateKeyPairSync('ed25519')
    const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
    t.same(checkPublicKey(new Uint8Array(raw)), { ok: true })
  }
})

t.test('says which of its rules a key breaks', async (t) => {
  const problems: [string, RegExp][] = [
    ['', /0 bytes/],
    ['00'.repeat(31), /31 bytes/],
    ['00'.repeat(33), /33 bytes/],
    [`02${'00'.repeat(31)}`, /not a point on the curve/],
    [LOW_ORDER[5] ?? '', /not the canonical encoding/],
    [LOW_ORDER[1] ?? '', /not the canonical encoding/],
    [LOW_ORDER[8] ?? '', /low order/],
  ]
  for (const [hex, problem] of problems) t.match(checkPublicKey(bytesOf(hex)), { ok: false, problem })
})
