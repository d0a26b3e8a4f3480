import t from 'tap'
import { isWellFormed } from '../../src/base/encoding/utf8.ts'
import { adviceFor, commandLine, nameOfResponse, quoteWord } from '../../src/defense/describe.ts'
import { LAYER_NAMES } from '../../src/defense/verdict.ts'

t.test('a word is as a shell would have to be given it, and steers nothing', async (t) => {
  t.strictSame(['-la', 'a b', "it's", '', '\x1b[2J', 'a\u202eb', '*', 'naïve'].map(quoteWord), [
    '-la',
    "'a b'",
    `'it'\\''s'`,
    "''",
    "'\\x1b[2J'",
    "'a\\u{202e}b'",
    "'*'",
    "'naïve'",
  ])
})

t.test('a command is cut to a length, and never within a character', async (t) => {
  t.equal(commandLine(['ls', '-l', 'a b'], 80), "ls -l 'a b'")
  for (let chars = 4; chars < 40; chars++) {
    const line = commandLine(['echo', '👍'.repeat(30), 'x'], chars)
    t.ok(line.length <= chars && isWellFormed(line), `${chars}`)
  }
})

t.test('every refusal of every layer has its advice, by the rule first', async (t) => {
  for (const layer of LAYER_NAMES)
    if (layer !== 'level') t.not(adviceFor({ layer, rule: 'x', response: 'R4' }), '', layer)
  t.match(adviceFor({ layer: 'acl', rule: 'acl.penalties', response: 'R6' }), /penalties list/)
  t.match(adviceFor({ layer: 'level', rule: 'level.contain', response: 'R4' }), /level show/)
  t.match(adviceFor({ layer: 'capability', rule: 'deny_on_error', response: 'R4' }), /defect/)
  t.equal(adviceFor({ layer: 'all', rule: 'all_passed', response: 'R1' }), '')
  t.match(adviceFor({ layer: 'specifics', rule: 'sensitive_files', response: 'R1' }), /was allowed/)
})

t.test('a response of the record has its name beside it', async (t) => {
  t.strictSame(['R1', 'R4', 'R6', 'STATUS', 'R9'].map(nameOfResponse), [
    'R1 EXECUTE',
    'R4 VI_SWAP',
    'R6 DROP',
    'STATUS',
    'R9',
  ])
})
