/**
 * One index of many lists of words against each list by itself.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { createListPool } from '../../../../src/defense/13policy/rules/small-map.ts'
import { addWords, emptyWords, lookUp, sealWords } from '../../../../src/defense/13policy/rules/word-index.ts'
import { compileWords, fitsOneOf } from '../../../../src/defense/13policy/rules/word-pattern.ts'

t.test('a word gives the numbers of exactly the lists that it fits', async () => {
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 6 })
  const word = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 })
  fc.assert(
    fc.property(fc.array(fc.array(pattern, { maxLength: 9 }), { maxLength: 9 }), word, (lists, input) => {
      const growing = emptyWords()
      lists.forEach((patterns, list) => {
        addWords(growing, patterns, list)
      })
      const told = new Set<number>()
      lookUp(sealWords(growing, createListPool()), input, (numbers) => {
        for (const number of numbers) told.add(number)
      })
      return lists.every((patterns, list) => told.has(list) === fitsOneOf(compileWords(patterns), input))
    }),
    { numRuns: 1_000 },
  )
})
