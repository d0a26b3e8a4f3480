import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { allMessages, fieldsOf, renderCddl } from '../../build/cddl.ts'
import type { CborValue } from '../../src/base/encoding/cbor.ts'
import { encodeFrame, KIND } from '../../src/wire/frame.ts'
import { METHODS } from '../../src/wire/methods.ts'
import { EXAMPLES } from '../wire/message-examples.ts'
import { decoded, matchesCddl, readCddl } from './cddl-reader.ts'

const path = join(import.meta.dirname, '../../docs/sass.cddl')
const text = readFileSync(path, 'utf8')
const grammar = readCddl(text)
const matches = (rule: string, value: CborValue) => matchesCddl(grammar, rule, decoded(value))

t.test('docs/sass.cddl is what the messages make of it (else run node build/cddl.node.ts)', async (t) => {
  t.equal(text, renderCddl())
})

t.test('it can be read as CDDL, each rule once and none unknown', async (t) => {
  for (const { name } of allMessages()) t.ok(grammar.has(name), name)
  for (const { name } of METHODS) t.ok(grammar.has(`open-${name}`), name)
  for (const broken of ['a = [', 'a = b', 'a = 1 a = 2', 'a = {1 > 2}', 'a = "x', 'a = [1 2]'])
    t.throws(() => readCddl(broken), broken)
})

t.test(
  'it takes every message that the code writes, and none with a field missing, wrong or strange',
  async (t) => {
    for (const [type, value] of EXAMPLES) {
      const whole = type.encode(value)
      t.ok(matches(type.name, whole), type.name)
      for (const [name, { key, presence }] of fieldsOf(type)) {
        const without = new Map([...whole].filter(([own]) => own !== key))
        t.equal(matches(type.name, without), presence !== 'required', `${type.name} without ${name}`)
        t.notOk(matches(type.name, new Map([...whole, [key, null]])), `${type.name} with ${name} null`)
      }
      t.notOk(matches(type.name, new Map([...whole, [11_111, 0]])), `${type.name} with a stranger`)
    }
  },
)

t.test('it knows the sizes', async (t) => {
  const auth = (name: string, nonce: number): CborValue =>
    new Map<number, CborValue>([
      [1, name],
      [2, new Uint8Array(32)],
      [3, new Uint8Array(64)],
      [4, new Uint8Array(nonce)],
    ])
  t.ok(matches('AuthRequest', auth('a'.repeat(64), 16)))
  t.notOk(matches('AuthRequest', auth('a'.repeat(65), 16)))
  t.notOk(matches('AuthRequest', auth('a', 15)))
})

t.test('it takes the frames that each side may send', async (t) => {
  const frame = (...parts: Parameters<typeof encodeFrame>) => encodeFrame(...parts).subarray(1)
  const from = (side: string, body: CborValue) => matches(side, body)
  const empty: CborValue = new Map()
  const status: CborValue = new Map([[1, 106]])
  const list: readonly (readonly [CborValue, client: boolean, daemon: boolean])[] = [
    [[1, KIND.OPEN, 11, empty], true, false],
    [[1, KIND.OPEN, 15, empty], false, false],
    [[0, KIND.OPEN, 11, empty], false, false],
    [[1, KIND.MSG, new Map([[1, new Uint8Array(5)]])], true, false],
    [[1, KIND.MSG, new Map([[2, new Uint8Array(5)]])], true, true],
    [[1, KIND.END], true, false],
    [[1, KIND.END, new Map([[3, 0]])], false, true],
    [[1, KIND.STATUS, status], false, true],
    [[1, KIND.CREDIT, 70_000], true, true],
    [[1, KIND.CREDIT, -1], false, false],
    [[1, KIND.RESET], true, true],
    [[1, KIND.RESET, 0], false, false],
    [[0, KIND.PING, 1], true, true],
    [[3, KIND.PONG, 1], false, false],
    [[0, KIND.GOAWAY, status], false, true],
  ]
  for (const [body, client, daemon] of list) {
    t.equal(from('from-client', body), client, `${JSON.stringify(body)} from the client`)
    t.equal(from('from-daemon', body), daemon, `${JSON.stringify(body)} from the daemon`)
  }
  t.ok(matches('frame', frame(0, 'PING', 5)), 'a frame is the byte string of a body')
  t.notOk(matches('frame', new Uint8Array([0x80])))
})
