/**
 * What is done at the end of the block that says `using`, however that ends. Where a microsecond counts, `finally` does it
 * for less.
 * Source: ECMAScript explicit resource management.
 * @module
 */
import { closeSync } from 'node:fs'

/** Does `work` at the end of the block. */
export function atEnd(work: () => void): Disposable {
  return { [Symbol.dispose]: work }
}

/** Closes these descriptors at the end of the block. */
export function closing(...descriptors: readonly number[]): Disposable {
  return atEnd(() => {
    for (const descriptor of descriptors) closeSync(descriptor)
  })
}
