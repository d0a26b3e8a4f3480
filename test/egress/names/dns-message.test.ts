import fc from 'fast-check'
import t from 'tap'
import { answerBytes, RCODE, readQuestion, TYPE_A, TYPE_AAAA } from '../../../src/egress/names/dns-message.ts'

const EDNS = [0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0, 0]

function ascii(text: string): number[] {
  return Array.from(text, (char) => char.charCodeAt(0))
}

function name(...labels: readonly string[]): number[] {
  return [...labels.flatMap((label) => [label.length, ...ascii(label)]), 0]
}

function message(
  rest: readonly number[],
  { flags = 0x0100, counts = [1, 0, 0, 0] }: { flags?: number; counts?: readonly number[] } = {},
): Uint8Array {
  return Uint8Array.from([
    ...[0x12, 0x34, flags >> 8, flags & 0xff],
    ...counts.flatMap((count) => [count >> 8, count & 0xff]),
    ...rest,
  ])
}

t.test('a plain question is read, its name in normal form', (t) => {
  const bytes = message([...name('ExAmple', 'com'), 0, 1, 0, 1])
  t.strictSame(readQuestion(bytes), {
    kind: 'question',
    question: { name: 'example.com', type: TYPE_A, head: bytes },
  })
  const extended = message([...name('a', 'example'), 0, 28, 0, 1, ...EDNS], { counts: [1, 0, 0, 1] })
  t.strictSame(readQuestion(extended), {
    kind: 'question',
    question: { name: 'a.example', type: TYPE_AAAA, head: extended.slice(0, 12 + 11 + 4) },
  })
  t.end()
})

t.test('a name that is no host name is none', (t) => {
  for (const labels of [
    [],
    ['a.b'],
    ['evil.com\0', 'com'],
    ['\u00fcber', 'com'],
    ['a b'],
    ['1', '2', '3', '4'],
  ]) {
    const read = readQuestion(message([...name(...labels), 0, 1, 0, 1]))
    t.equal(read.kind === 'question' ? read.question.name : 'unread', undefined, labels.join('.'))
  }
  t.end()
})

t.test('what is not one plain question is refused', (t) => {
  const plain = [...name('a', 'example'), 0, 1, 0, 1]
  for (const [what, bytes, rcode] of [
    ['no question', message([], { counts: [0, 0, 0, 0] }), RCODE.malformed],
    ['two questions', message([...plain, ...plain], { counts: [2, 0, 0, 0] }), RCODE.malformed],
    ['an answer with it', message(plain, { counts: [1, 1, 0, 0] }), RCODE.malformed],
    ['an authority with it', message(plain, { counts: [1, 0, 1, 0] }), RCODE.malformed],
    ['three records behind', message(plain, { counts: [1, 0, 0, 3] }), RCODE.malformed],
    ['bytes behind', message([...plain, 1]), RCODE.malformed],
    ['a pointer', message([1, 97, 0xc0, 12, 0, 1, 0, 1]), RCODE.malformed],
    ['a label of 64', message([64, ...ascii('a'.repeat(64)), 0, 0, 1, 0, 1]), RCODE.malformed],
    ['a name of 256', message([...name(...new Array(5).fill('a'.repeat(50))), 0, 1, 0, 1]), RCODE.malformed],
    ['an end within the name', message([7, 97, 98]), RCODE.malformed],
    ['no end', message([1, 97]), RCODE.malformed],
    ['no type', message([1, 97, 0, 0]), RCODE.malformed],
    ['another class', message([...name('a'), 0, 1, 0, 3]), RCODE.refused],
    ['an update', message(plain, { flags: 0x2800 }), RCODE.notServed],
    ['too long', message([...plain, ...new Array(600).fill(0)], { counts: [1, 0, 0, 1] }), RCODE.malformed],
  ] as const)
    t.strictSame(readQuestion(bytes), { kind: 'refused', rcode, head: bytes.slice(0, 12) }, what)
  t.strictSame(readQuestion(message(plain, { flags: 0x8180 })), { kind: 'dropped' }, 'an answer')
  t.strictSame(readQuestion(new Uint8Array(11)), { kind: 'dropped' }, 'half a head')
  t.end()
})

t.test('an answer repeats the question and has one record, or none', (t) => {
  const head = message([...name('A', 'example'), 0, 1, 0, 1])
  t.strictSame(
    [...answerBytes(head, RCODE.ok, { family: 4, bytes: [127, 64, 0, 1] })],
    [
      ...[0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0],
      ...head.slice(12),
      ...[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 64, 0, 1],
    ],
  )
  t.strictSame(
    [...answerBytes(head, RCODE.noName)],
    [0x12, 0x34, 0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0, ...head.slice(12)],
  )
  t.strictSame(
    [...answerBytes(head.slice(0, 12), RCODE.malformed)],
    [0x12, 0x34, 0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0],
  )
  const six = [...answerBytes(head, RCODE.ok, { family: 6, bytes: [...new Array(15).fill(0), 1] })]
  t.strictSame(six.slice(head.length), [
    0xc0,
    12,
    0,
    28,
    0,
    1,
    0,
    0,
    0,
    60,
    0,
    16,
    ...new Array(15).fill(0),
    1,
  ])
  t.end()
})

t.test('any bytes are read without an error, and a name that is found is in the question', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (bytes, isPlain) => {
      const given = isPlain ? message([...bytes]) : bytes
      const read = readQuestion(given)
      if (read.kind === 'question' && read.question.head.length > given.length) throw new Error('beyond')
    }),
  )
  t.end()
})
