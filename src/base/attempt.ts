/**
 * What may fail without a word, since whoever asks goes on all the same.
 * @module
 */

/** What `work` gives; `otherwise` where it throws, whatever it throws. */
export function attempt<Result, Other>(work: () => Result, otherwise: Other): Result | Other {
  try {
    return work()
  } catch {
    return otherwise
  }
}
