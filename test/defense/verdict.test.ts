/**
 * The closed union of responses and its numbers.
 * @module
 */
import t from 'tap'
import { LAYER_NAMES, RESPONSE_NUMBERS, RESPONSES } from '../../src/defense/verdict.ts'

t.test('there are six responses, numbered R1 to R6 in their order, and none can be added', (t) => {
  t.strictSame(
    RESPONSES.map((response) => RESPONSE_NUMBERS[response]),
    [1, 2, 3, 4, 5, 6],
  )
  t.strictSame(Object.keys(RESPONSE_NUMBERS), [...RESPONSES])
  for (const table of [RESPONSES, RESPONSE_NUMBERS, LAYER_NAMES]) t.ok(Object.isFrozen(table))
  t.end()
})
