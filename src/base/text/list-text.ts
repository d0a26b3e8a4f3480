/**
 * A list in a sentence: the first few, and how many more there are.
 * @module
 */

/** `a, b and 2 more` */
export function listText(list: readonly string[], shown: number): string {
  const more = list.length - shown
  return `${list.slice(0, shown).join(', ')}${more <= 0 ? '' : ` and ${more} more`}`
}
