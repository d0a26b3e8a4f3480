/**
 * What a character stands for: look-alikes, styled letters and accents become the plain letter that a reader sees, and
 * what shows nothing becomes nothing. Case is kept; it is the tokens' business.
 * Covers what NFKD knows of the ranges below, and the look-alikes of UTS #39 that are letters of words; a character that
 * is neither a letter nor a digit of any script becomes a space. Pattern words go through the same table, so Cyrillic
 * ones meet Cyrillic text although both are folded in part.
 * @module
 */

const SPACE = 0x20

/** Pairs of look-alike and letter, UTS #39 confusables of Cyrillic, Greek, Armenian, Cherokee and Latin extensions. */
const LOOKALIKES =
  'аaАAвbВBсcСCԁdеeЕEһhНHіiІIїiјjЈJкkКKӏlΙIмmМMтtТTоoОOрpРPԛqѕsЅSѵvԝwԜWхxХXуyУYүyҮYɡgɢGɪIʟLɴNʀRʏYʙBʜHɩiıiſsƖI' +
  'αaΑAΒBϲcεeΕEηnΗHιiκkΚKΜMνvΝNοoΟOρpΡPϱpτtΤTυuΥYχxΧXγyωwΖZσoϳjհhոnսuօoցgհhνvԍgᴀaᴄcᴅdᴇeᴊjᴋkᴍmᴏoᴘpᴛtᴜuᴠvᴡwᴢzғfꜱsꜰf' +
  'ᎪAᏴBᏟCᎠDᎬEᏀGᎻHᏆIᎫJᏦKᏞLᎷMᏢPᎡRᏚSᎢTᏙVᎳWᏃZ'

/** Ranges that NFKD takes apart into Latin, Greek or Cyrillic letters. */
const COMPATIBLE: readonly (readonly [number, number])[] = [
  [0xa0, 0x250],
  [0x2b0, 0x2ff],
  [0x370, 0x530],
  [0x1d00, 0x2000],
  [0x2000, 0x2190],
  [0x2460, 0x24eb],
  [0xfb00, 0xfb07],
  [0xff00, 0xffe0],
]

/** Code points that a terminal and most screens show as nothing: Default_Ignorable_Code_Point below U+10000. */
const INVISIBLE: readonly (readonly [number, number])[] = [
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
]

/** Scripts that have letters of their own; everything else above ASCII is a space. */
const LETTERS = /[\p{L}\p{N}]/u
const MARKS = /\p{M}/u

/** Marks in the table for what shows nothing; neither is a character of a text. */
export const HIDDEN = 0xfffe
/** An accent that stands on the letter before it. */
export const COMBINING = 0xffff

function decompose(code: number): number {
  const plain = String.fromCharCode(code).normalize('NFKD').charCodeAt(0)
  return plain === code ? 0 : plain
}

/** 65,536 entries, 128 KiB: the folded code of each of the BMP. Ideographs and letters of other scripts are themselves. */
export function foldTable(): Uint16Array {
  const table = new Uint16Array(65_536).fill(SPACE)
  for (let code = 0; code < 0x80; code += 1)
    table[code] = code < SPACE && code !== 9 && code !== 10 ? HIDDEN : code
  table[0x7f] = HIDDEN
  for (let code = 0x80; code < 0x3400; code += 1) {
    const text = String.fromCharCode(code)
    if (MARKS.test(text)) table[code] = COMBINING
    else if (LETTERS.test(text))
      table[code] = text.toLowerCase().length === 1 ? text.toLowerCase().charCodeAt(0) : code
  }
  for (let code = 0x3400; code < 0xd800; code += 1) table[code] = code
  for (let code = 0xf900; code < 0xfb00; code += 1) table[code] = code
  for (const [from, to] of COMPATIBLE)
    for (let code = from; code < to; code += 1) {
      const plain = decompose(code)
      if (plain !== 0) table[code] = plain < 0x80 ? plain : (table[plain] ?? SPACE)
    }
  for (let at = 0; at < LOOKALIKES.length; at += 2)
    table[LOOKALIKES.charCodeAt(at)] = LOOKALIKES.charCodeAt(at + 1)
  // Typographic marks that stand between words as their ASCII ones do.
  for (const [mark, plain] of [
    ['‘’‚‛′', "'"],
    ['“”„‟″«»', '"'],
    ['‐‑‒–—―−', '-'],
    ['：', ':'],
    ['。．', '.'],
  ] as const)
    for (const each of mark) table[each.charCodeAt(0)] = plain.charCodeAt(0)
  for (const [from, to] of INVISIBLE) for (let code = from; code <= to; code += 1) table[code] = HIDDEN
  return table
}

/** Above the BMP: mathematical letters and digits, letters in squares and circles, flags; 0 where it is none of them. */
export function foldStyled(code: number): number {
  if (code >= 0x1d400 && code < 0x1d6a4) return 0x41 + letterOf((code - 0x1d400) % 52)
  if (code >= 0x1d7ce && code < 0x1d800) return 0x30 + ((code - 0x1d7ce) % 10)
  if (code >= 0x1f110 && code < 0x1f12a) return 0x41 + code - 0x1f110
  if (code >= 0x1f130 && code < 0x1f14a) return 0x41 + code - 0x1f130
  if (code >= 0x1f150 && code < 0x1f16a) return 0x41 + code - 0x1f150
  if (code >= 0x1f170 && code < 0x1f18a) return 0x41 + code - 0x1f170
  if (code >= 0x1f1e6 && code < 0x1f200) return 0x41 + code - 0x1f1e6
  return 0
}

/** Capitals, then small letters, as offsets from `A`. */
function letterOf(index: number): number {
  return index < 26 ? index : index + 6
}

/** A word of the data base as it stands in folded text, in small letters. */
export function foldWord(table: Uint16Array, word: string): string {
  let folded = ''
  for (const unit of word.toLowerCase()) {
    const code = table[unit.charCodeAt(0)] ?? SPACE
    if (code !== COMBINING && code !== HIDDEN) folded += String.fromCharCode(code)
  }
  return folded.toLowerCase()
}
