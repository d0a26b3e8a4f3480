/**
 * Patterns of words: what fits, and how much of a word is looked at.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import {
  compileWord,
  compileWords,
  fitsAnyOf,
  fitsOneOf,
  fitsWord,
} from '../../../../src/defense/13policy/rules/word-pattern.ts'
import { matchesWord } from '../../../../src/defense/capability.ts'

const fits = (pattern: string, word: string): boolean => fitsWord(compileWord(pattern), word)

/** By the definition: every way to cut the word at the stars. */
function fitsByDefinition(pattern: string, word: string): boolean {
  if (pattern === '') return word === ''
  const rest = pattern.slice(1)
  if (pattern[0] !== '*') return word[0] === pattern[0] && fitsByDefinition(rest, word.slice(1))
  for (let cut = 0; cut <= word.length; cut++) if (fitsByDefinition(rest, word.slice(cut))) return true
  return false
}

t.test('a pattern is compared whole and with case, and * stands for any run of characters', async (t) => {
  t.ok(fits('mkfs.*', 'mkfs.ext4'))
  t.ok(fits('*', ''))
  t.ok(fits('a*', 'a'))
  t.notOk(fits('mkfs', 'mkfs.ext4'))
  t.notOk(fits('mkfs.*', 'MKFS.ext4'))
  t.notOk(fits('ab*ba', 'aba'), 'head and tail do not share characters')
  t.notOk(fits('a*b*b', 'ab'), 'nor does a piece between them')
  t.ok(fits('a.b*', 'a.bc') && !fits('a.b*', 'axbc'), 'a dot is a dot')
  t.ok(fits('**', 'x'))
})

t.test('it fits what the definition says, and what capability patterns fit', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 9 })
  const word = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 })
  fc.assert(
    fc.property(text, word, (pattern, input) => {
      const expected = fitsByDefinition(pattern, input)
      return fits(pattern, input) === expected && matchesWord(pattern, input) === expected
    }),
    { numRuns: 2_000 },
  )
})

t.test('of a list one must fit, few or many, with stars or without', async (t) => {
  const many = compileWords([...Array.from({ length: 40 }, (_, index) => `word${index}`), 'x*'])
  t.ok(fitsOneOf(many, 'word39'))
  t.ok(fitsOneOf(many, 'xyz'))
  t.notOk(fitsOneOf(many, 'word40'))
  t.ok(fitsAnyOf(compileWords(['a', 'b']), ['c', 'b']))
  t.notOk(fitsAnyOf(compileWords(['a', 'b']), []))
})

t.test('a list fits what one of its patterns fits, however many begin alike or with a star', async () => {
  const unit = fc.constantFrom('a', 'b', 'é', '*')
  const texts = fc.array(fc.string({ unit, maxLength: 9 }), { maxLength: 60 })
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), maxLength: 20 })
  fc.assert(
    fc.property(texts, word, (patterns, input) => {
      const expected = patterns.some((pattern) => fits(pattern, input))
      return fitsOneOf(compileWords(patterns), input) === expected
    }),
    { numRuns: 2_000 },
  )
})
