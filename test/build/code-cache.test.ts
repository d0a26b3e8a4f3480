/**
 * The head of a code cache is the target's own afterwards, and nothing else is touched.
 * @module
 */
import { Script } from 'node:vm'
import t from 'tap'
import { adoptCodeCache } from '../../build/code-cache.ts'

const TEXT_LENGTH = 1_892_868
/** As V8 of Node 26.10 writes it. */
const sample = new Script('').createCachedData()

function cacheOf(textLength: number, words: string): Buffer {
  const source = Buffer.alloc(4)
  source.writeUInt32LE(textLength + 2 ** 30)
  return Buffer.concat([sample.subarray(0, 8), source, Buffer.from(words, 'hex'), Buffer.from('payload')])
}

const node = Buffer.concat([
  Buffer.from('ELF...'),
  cacheOf(700, '1111111122222222'),
  cacheOf(80, '1111111122222222'),
])

t.test(
  'the two words of the target are put into the head of the program, and nothing else changes',
  async (t) => {
    const binary = Buffer.concat([node, Buffer.from('blob'), cacheOf(TEXT_LENGTH, 'aaaaaaaabbbbbbbb')])
    adoptCodeCache(binary, node, TEXT_LENGTH, sample)
    t.same(binary, Buffer.concat([node, Buffer.from('blob'), cacheOf(TEXT_LENGTH, '1111111122222222')]))
  },
)

t.test('no cache, two of them, or a Node of another version end the build', async (t) => {
  const cache = cacheOf(TEXT_LENGTH, 'aaaaaaaabbbbbbbb')
  t.throws(() => adoptCodeCache(Buffer.from(node), node, TEXT_LENGTH, sample), /exactly one/)
  t.throws(() => adoptCodeCache(Buffer.concat([cache, cache]), node, TEXT_LENGTH, sample), /exactly one/)
  const other = Buffer.from(node)
  other.fill(0xee)
  t.throws(() => adoptCodeCache(cache, other, TEXT_LENGTH, sample), /one version/)
})
