/**
 * Code with one form for what its language writes in several, so that what reads it knows one.
 * @module
 */
import type { Language } from '../unwrap/inner.ts'
import { plainLua } from './lua-forms.ts'
import { plainForms } from './perl-forms.ts'
import { plainPhp } from './php-forms.ts'
import { isRaku, plainRaku } from './raku-forms.ts'
import { plainLists } from './ruby-forms.ts'
import { isPlacedPath, plainScala } from './scala-forms.ts'

const BARE_WORD =
  /(?<![\w.("'])(delete|unlink|rmdir|load|save|source|run|cd|diary|mkdir|type)[ \t]{1,4}([/~][\w./*~-]{1,256})/g

/** To Rexx, a text that stands alone is a command. */
const LONE_TEXT = /(^|[;\n])\s{0,16}('[^'\n]{1,1024}'|"[^"\n]{1,1024}")(?=\s{0,16}(?:$|[;\n]))/g

/** The code of `text`, which is reached through `via`, in the one form of its language. */
export function plainOf(text: string, language: Language, via: string): string {
  if (language === 'perl') return plainForms(isRaku(via) ? plainRaku(text) : text)
  if (language === 'ruby') return plainLists(text)
  if (language === 'php') return plainPhp(text)
  if (language === 'lua') return plainLua(text)
  if (language === 'other' && isPlacedPath(text)) return plainScala(text)
  if (/^(?:rexx|regina)\b/.test(via)) return text.replaceAll(LONE_TEXT, '$1system($2)')
  // `delete /x` of Octave: a word is a text.
  return /^(?:octave|matlab|scilab)/.test(via) ? text.replaceAll(BARE_WORD, '$1("$2")') : text
}
