/** Ways to hide a sentence, each with the name of the technique that it should be found by. */

const points = (text: string, each: (code: number, index: number) => string): string =>
  [...text].map((character, index) => each(character.codePointAt(0) ?? 0, index)).join('')

const isLetter = (code: number): boolean => /[a-z]/i.test(String.fromCharCode(code))

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export function base32(text: string): string {
  const bits = points(text, (code) => code.toString(2).padStart(8, '0'))
  return (bits.match(/.{5}/g) ?? []).map((five) => BASE32[Number.parseInt(five, 2)]).join('')
}

export const base64 = (text: string): string => Buffer.from(text).toString('base64')

const rot13 = (text: string): string =>
  points(text, (code) => {
    const first = code >= 97 ? 97 : 65
    return String.fromCharCode(isLetter(code) ? ((code - first + 13) % 26) + first : code)
  })

const LOOKALIKE: Readonly<Record<string, string>> = { a: 'а', e: 'е', o: 'о', p: 'р', c: 'с', i: 'і', s: 'ѕ' }
const LEET: Readonly<Record<string, string>> = { a: '4', e: '3', i: '1', o: '0', s: '$', t: '7' }

const bits = (text: string, zero: string, one: string): string =>
  points(text, (code) => code.toString(2).padStart(8, '0').replace(/0/g, zero).replace(/1/g, one))

const swap = (text: string, table: Readonly<Record<string, string>>): string =>
  points(text, (code) => table[String.fromCharCode(code)] ?? String.fromCharCode(code))

/** Name, technique, and the disguise. */
export const DISGUISES: readonly (readonly [string, string, (text: string) => string])[] = [
  [
    'Unicode tags',
    'unicode-tags',
    (text) => `ok ${points(text, (code) => String.fromCodePoint(0xe0000 + code))}`,
  ],
  [
    'variation selectors, counted from the first supplement',
    'variation-selectors',
    (text) => `😀${points(text, (code) => String.fromCodePoint(0xe0100 + code))}`,
  ],
  [
    'variation selectors, counted from the first sixteen',
    'variation-selectors',
    (text) => `😀${points(text, (code) => String.fromCodePoint(0xe0100 + code - 16))}`,
  ],
  [
    'a selector behind each letter',
    'variation-selectors',
    (text) => points(text, (code) => `x${String.fromCodePoint(0xe0100 + code)}`),
  ],
  [
    'tags in many flags',
    '',
    (text) =>
      (text.match(/.{1,6}/g) ?? [])
        .map((six) => `\u{1f3f4}${points(six, (code) => String.fromCodePoint(0xe0000 + code))}`)
        .join(''),
  ],
  ['invisible bits', 'sneaky-bits', (text) => `done${bits(text, '\u2062', '\u2064')}`],
  ['bits of other characters', 'sneaky-bits', (text) => `done${bits(text, '\u200b', '\u200c')}`],
  ['characters without width between letters', 'zero-width', (text) => [...text].join('\u200b')],
  ['characters without width for spaces', 'zero-width', (text) => text.replaceAll(' ', '\u2060')],
  ['soft hyphens', 'zero-width', (text) => text.replace(/([aeiou])/g, '$1\u00ad')],
  ['look-alike letters', 'look-alike-letters', (text) => swap(text, LOOKALIKE)],
  [
    'full width',
    'styled-letters',
    (text) => points(text, (code) => String.fromCodePoint(isLetter(code) ? code + 0xfee0 : code)),
  ],
  [
    'mathematical letters',
    'styled-letters',
    (text) =>
      points(text.toLowerCase(), (code) => String.fromCodePoint(isLetter(code) ? 0x1d41a + code - 97 : code)),
  ],
  [
    'letters in circles',
    'styled-letters',
    (text) =>
      points(text.toLowerCase(), (code) => String.fromCodePoint(isLetter(code) ? 0x24d0 + code - 97 : code)),
  ],
  [
    'accents on every letter',
    '',
    (text) => points(text, (code) => `${String.fromCharCode(code)}\u0336\u0301`),
  ],
  ['concealed by SGR 8', 'terminal-conceal', (text) => `total 0\n\x1b[8m${text}\x1b[0m\n`],
  ['in the colour of the ground', 'terminal-conceal', (text) => `\x1b[30;40m${text}\x1b[0m`],
  [
    'in a colour of the palette on itself',
    'terminal-conceal',
    (text) => `\x1b[38;5;16m\x1b[48;5;16m${text}\x1b[0m`,
  ],
  ['cut by colours', 'terminal-sequences', (text) => text.replace(/(...)/g, '$1\x1b[31m')],
  ['a line written over', 'carriage-return-overwrite', (text) => `${text}\rok${' '.repeat(text.length)}\n`],
  ['taken back', 'backspace-overwrite', (text) => `${text}${'\b'.repeat(text.length)}ok\n`],
  [
    'each letter corrected',
    'backspace-overwrite',
    (text) => points(text, (code) => `#\b${String.fromCharCode(code)}`),
  ],
  ['erased', '', (text) => `${text}\x1b[2K\x1b[1Gok\n`],
  ['the title of the window', 'terminal-strings', (text) => `\x1b]0;${text}\x07ok\n`],
  ['letters apart', 'spaced-letters', (text) => [...text].join(' ')],
  [
    'letters with hyphens',
    'spaced-letters',
    (text) =>
      text
        .split(' ')
        .map((word) => [...word].join('-'))
        .join('  '),
  ],
  ['a word a line', '', (text) => text.replaceAll(' ', '\n')],
  ['leet', 'leet', (text) => swap(text, LEET)],
  ['base64', 'base64', (text) => `payload: ${base64(text)}`],
  ['base64url of UTF-16', 'base64', (text) => Buffer.from(text, 'utf16le').toString('base64url')],
  ['base64 in lines', 'base64', (text) => base64(`${text}. `.repeat(4)).replace(/(.{76})/g, '$1\n')],
  ['base32', 'base32', (text) => base32(`${text}  `)],
  ['hexadecimal digits', 'hex', (text) => Buffer.from(text).toString('hex')],
  ['bytes apart', 'hex', (text) => (Buffer.from(text).toString('hex').match(/../g) ?? []).join(' ')],
  ['percent signs', 'escapes', (text) => points(text, (code) => `%${code.toString(16)}`)],
  ['entities', 'escapes', (text) => points(text, (code) => `&#${code};`)],
  ['hexadecimal entities', 'escapes', (text) => points(text, (code) => `&#x${code.toString(16)};`)],
  [
    'escapes of strings',
    'escapes',
    (text) => points(text, (code) => `\\u${code.toString(16).padStart(4, '0')}`),
  ],
  ['rotated by 13', 'rot13', rot13],
  ['backwards', 'reversed', (text) => [...text].reverse().join('')],
  ['shown backwards', 'reversed', (text) => `\u202e${[...text].reverse().join('')}\u202c`],
  ['base64 three times', 'base64', (text) => base64(base64(base64(text)))],
  ['hexadecimal digits of base64', 'hex', (text) => Buffer.from(base64(text)).toString('hex')],
  ['base64 of look-alikes', 'base64', (text) => base64(swap(text, LOOKALIKE))],
]
