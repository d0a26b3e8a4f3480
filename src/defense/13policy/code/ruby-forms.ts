/**
 * Ruby's other ways to write a list: `%w[a b]` is one, `*%w[a b]` stands for what is in it, and `Dir[...]` lists names.
 * From Ruby's documentation, "Literals" (percent literals) and "Calling Methods" (array to arguments conversion).
 * @module
 */

const LISTS =
  /(\*\s{0,4})?%[wWiI](?:\[([^[\]]{0,4096})\]|\(([^()]{0,4096})\)|\{([^{}]{0,4096})\}|<([^<>]{0,4096})>|([|!/])([^|!/]{0,4096})\6)/g
/** `exec *list`: a call whose arguments are what is in a list. */
const SPLAT = /\b(exec|system|spawn|delete|unlink)[ ]{1,4}\*(?=[[\w'"])/g

const LISTED = /\bDir\[([^[\]]{0,1024})\]/g

/** The code with plain lists. */
export function plainLists(text: string): string {
  return text
    .replaceAll(LISTS, (_, star, square, round, curly, angle, _mark, other) => {
      const items = String(square ?? round ?? curly ?? angle ?? other ?? '')
        .split(/\s+/)
        .filter((word) => word !== '')
        .map((word) => `'${word.replaceAll(/['\\]/g, '\\$&')}'`)
        .join(',')
      return star === undefined ? `[${items}]` : ` ${items}`
    })
    .replaceAll(SPLAT, '$1 ')
    .replaceAll(LISTED, 'Dir.glob($1)')
}
