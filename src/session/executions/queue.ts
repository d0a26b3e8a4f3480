/**
 * Commands that wait for their turn: fair among callers (one of each in turn, and each caller's own in the order in
 * which they came), bounded in all and for each caller, so that one who asks for much waits behind himself.
 * Pure: who may run is asked, and what happens at the turn is the entry's own.
 * Rules: docs/responses.md (R3); docs/protocol.md, section 8.
 * @module
 */

export type Place = {
  /** 1 is next. */
  readonly position: number
  leave(): void
}

export type Queue = {
  readonly size: number
  /** True where one more of this caller finds a place. */
  isFree(caller: string): boolean
  /**
   * `turn` is called when it may run: it has left the queue by then. `moved` hears of every new position.
   * The caller must have found `isFree`.
   */
  enter(caller: string, turn: () => void, moved: (position: number) => void): Place
  /** Something has become free: gives turns as long as `mayRun` says so. */
  pump(): void
  /** Whatever these callers wait for has its turn at once: it will be refused, and need not wait for that. */
  recall(fits: (caller: string) => boolean): void
}

type Entry = {
  readonly caller: string
  readonly turn: () => void
  readonly moved: (position: number) => void
  position: number
}

/** `mayRun`: whether a command of this caller would find a place now. */
export function createQueue(places: number, mayRun: (caller: string) => boolean): Queue {
  /** Callers in the order in which their next turn comes; each with its own entries. */
  const callers = new Map<string, Entry[]>()
  const mostOfOne = Math.max(1, Math.floor(places / 2))
  let size = 0
  let isPumping = false

  /** The order in which they would be served if everybody could run. */
  function inOrder(): Entry[] {
    const lists = [...callers.values()]
    const order: Entry[] = []
    for (let round = 0; order.length < size; round++)
      for (const list of lists) {
        const entry = list[round]
        if (entry !== undefined) order.push(entry)
      }
    return order
  }

  function tellPositions(): void {
    for (const [index, entry] of inOrder().entries()) {
      if (entry.position === index + 1) continue
      entry.position = index + 1
      entry.moved(entry.position)
    }
  }

  function remove(entry: Entry): boolean {
    const list = callers.get(entry.caller)
    const at = list?.indexOf(entry) ?? -1
    if (list === undefined || at === -1) return false
    list.splice(at, 1)
    if (list.length === 0) callers.delete(entry.caller)
    size--
    return true
  }

  /** Gives one turn, to the first caller in line that may run, who then goes to the end of the line. */
  function turnOne(): boolean {
    for (const [caller, list] of callers) {
      const entry = list[0]
      if (entry === undefined || !mayRun(caller)) continue
      remove(entry)
      const rest = callers.get(caller)
      if (rest !== undefined) {
        callers.delete(caller)
        callers.set(caller, rest)
      }
      entry.turn()
      return true
    }
    return false
  }

  return {
    get size() {
      return size
    },
    isFree: (caller) => size < places && (callers.get(caller)?.length ?? 0) < mostOfOne,
    enter(caller, turn, moved) {
      const entry: Entry = { caller, turn, moved, position: 0 }
      const list = callers.get(caller)
      if (list === undefined) callers.set(caller, [entry])
      else list.push(entry)
      size++
      tellPositions()
      return {
        get position() {
          return entry.position
        },
        leave() {
          if (remove(entry)) tellPositions()
        },
      }
    },
    recall(fits) {
      const recalled = [...callers].flatMap(([caller, list]) => (fits(caller) ? list : []))
      for (const entry of recalled) if (remove(entry)) entry.turn()
      if (recalled.length > 0) tellPositions()
    },
    pump() {
      // A turn that ends at once frees a place again, and comes here before it has returned.
      if (isPumping || size === 0) return
      isPumping = true
      try {
        let hasTurned = false
        // No more turns than there were entries: one that is told to wait again has had its own.
        for (let left = size; left > 0 && turnOne(); left--) hasTurned = true
        if (hasTurned) tellPositions()
      } finally {
        isPumping = false
      }
    },
  }
}
