/** What is assigned to a name, in the spellings of many languages. */
import t from 'tap'
import { type Assignment, readAssignment } from '../../../../src/defense/firewall/secrets/assignment.ts'
import { MORE, NO } from '../../../../src/defense/firewall/secrets/shape.ts'

/** The text behind `token`, as far as there is a value: `VALUE` or `QUOTE VALUE QUOTE`. */
function read(text: string, isLast = true, isOption = false): string | number {
  const bytes = Buffer.from(text)
  const found: Assignment = { nameEnd: 0, start: 0, end: 0, quote: 0, after: -1 }
  const at = text.indexOf('token') + 5
  const result = readAssignment(bytes, at, bytes.length, isLast, isOption, found)
  if (result !== 1) return result
  const quote = found.quote === 0 ? '' : String.fromCharCode(found.quote)
  return `${quote}${text.slice(found.start, found.end)}${quote}`
}

t.test('operators, quotes, types and brackets around them', (t) => {
  for (const text of [
    ...['token = "v1"', 'token: "v1"', 'token:="v1"', 'token => "v1"', 'token ::= "v1"', 'token === "v1"'],
    ...['"token": "v1"', '[\'token\'] = "v1"', '$token .= "v1"', 'token ?= "v1"', 'my_token_of_mine = "v1"'],
    ...['var token string = "v1"', 'token[] = "v1"', 'token[25] = "v1"', 'token("v1")', 'token.assign("v1")'],
    ...['token "v1"', 'set("token", "v1")', 'token = @"v1"', 'token = \\"v1\\"', 'token:\n    "v1"'],
  ])
    t.equal(read(text), '"v1"', text)
  t.equal(read("token='v 1'"), "'v 1'", 'blanks within quotes')
  t.end()
})

t.test('without quotes to the blank, and not over what separates', (t) => {
  t.equal(read('token=v1 x'), 'v1')
  t.equal(read('?token=v1&x=2'), 'v1')
  t.equal(read('token: v1, other: 2'), 'v1')
  t.equal(read('<token>v1</token>'), 'v1')
  t.equal(read('--token v1', true, true), 'v1')
  t.end()
})

t.test('what assigns nothing has no value', (t) => {
  for (const text of [
    'the token was lost',
    'token, other',
    'token.',
    'token v1',
    'token;',
    'token',
    'token = ',
    'token=""',
  ])
    t.equal(read(text), NO, text)
  t.end()
})

t.test('more bytes are asked for where they may change it', (t) => {
  for (const text of [
    'token',
    'token =',
    'token = ',
    'token = "',
    'token = "v1',
    'token=v1',
    '"token", ',
    'token[2',
  ])
    t.equal(read(text, false), MORE, text)
  t.equal(read('token="v1"', false), '"v1"')
  t.equal(read('token x', false), MORE)
  t.equal(read('token xy z', false), NO)
  t.end()
})
