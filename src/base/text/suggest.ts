/**
 * The did-you-mean of configuration keys, options, commands and names: the nearest of a closed list.
 * Distance is optimal string alignment (insert, delete, replace, swap of neighbours each cost 1), without case.
 * Words longer than 64 characters get no suggestion, so the work is bounded whatever is typed.
 * @module
 */

const WORD_CHARS = 64

/** Edit distance of two words, counting a swap of neighbours as one step. Bounded by the words' own lengths. */
export function editDistance(left: string, right: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1]
      let best = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
      )
      const swapped =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      if (swapped) best = Math.min(best, (beforePrevious[column - 2] ?? 0) + 1)
      current.push(best)
    }
    beforePrevious = previous
    previous = current
  }
  return previous[right.length] ?? left.length
}

/**
 * The candidate nearest to `word`, or undefined where none is near enough to be meant
 * (more than a third of the longer word differs, at least one step is always forgiven).
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length === 0 || word.length > WORD_CHARS) return undefined
  const lower = word.toLowerCase()
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    if (candidate.length > WORD_CHARS) continue
    const distance = editDistance(lower, candidate.toLowerCase())
    const forgiven = Math.max(1, Math.floor(Math.max(lower.length, candidate.length) / 3))
    if (distance <= forgiven && distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}
