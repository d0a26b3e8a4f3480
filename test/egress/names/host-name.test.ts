import fc from 'fast-check'
import t from 'tap'
import { isBelow, normalHostName } from '../../../src/egress/names/host-name.ts'

t.test('a name has one form', (t) => {
  for (const [text, name] of [
    ['example.com', 'example.com'],
    ['EXAMPLE.Com', 'example.com'],
    ['example.com.', 'example.com'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['_dmarc.a_b.example', '_dmarc.a_b.example'],
    ['broker', 'broker'],
    ['1.2.3.4.example', '1.2.3.4.example'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
  ] as const)
    t.equal(normalHostName(text), name, text)
  const longest = `${`${'a'.repeat(49)}.`.repeat(5)}${'a'.repeat(3)}`
  t.equal(longest.length, 253)
  t.equal(normalHostName(`${longest}.`), longest)
  t.equal(normalHostName(`${longest}a`), undefined)
  t.end()
})

t.test('what is no plain name is refused and not repaired', (t) => {
  for (const text of [
    '',
    '.',
    '..',
    'example..com',
    '.example.com',
    'example.com..',
    'evil.com\0.google.com',
    'google.com\0',
    'exa mple.com',
    'example\uff0ecom',
    'example\u3002com',
    'ｅxample.com',
    'bücher.example',
    '\u212aernel.org',
    'a/b',
    'user@example.com',
    'example.com:80',
    '*.example.com',
    '-a.example',
    'a-.example',
    'example.com%2e',
    `${'a'.repeat(64)}.example`,
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '0x7f',
    '127.1',
    'a.0x',
    '[::1]',
    '::1',
  ])
    t.equal(normalHostName(text), undefined, JSON.stringify(text))
  t.end()
})

t.test('a normal form is its own, bounded and ASCII, whatever came in', (t) => {
  const labels = fc.array(fc.oneof(fc.string(), fc.stringMatching(/^[A-Za-z0-9_-]{1,63}$/)), {
    minLength: 1,
    maxLength: 6,
  })
  fc.assert(
    fc.property(labels, (parts) => {
      const name = normalHostName(parts.join('.'))
      if (name === undefined) return
      if (normalHostName(name) !== name || name.length > 253 || !/^[a-z0-9_.-]+$/.test(name))
        throw new Error(name)
    }),
  )
  t.end()
})

t.test('below is by whole labels', (t) => {
  t.ok(isBelow('a.example.com', 'example.com'))
  t.ok(isBelow('a.b.example.com', 'example.com'))
  t.notOk(isBelow('example.com', 'example.com'))
  t.notOk(isBelow('evilexample.com', 'example.com'))
  t.notOk(isBelow('example.com.evil.com', 'example.com'))
  t.end()
})
