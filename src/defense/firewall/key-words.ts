/**
 * Key words found in bytes, all of them in one pass (Aho and Corasick 1975), whatever their case: one dense table, a step
 * a byte, nothing made while it runs. Letters are folded and bytes that are in no key word share a column, so that the
 * table of some hundreds of key words stays within the cache of a small processor.
 * A step never goes back, and the next state depends on the last one and the byte alone: where the bytes are cut makes no
 * difference.
 * Rules: jerry.md L4-C01, L4-C03.
 * @module
 */
import { isOneByte } from './one-byte.ts'

export type KeyWords = {
  /** By byte: its column. */
  readonly columns: Uint8Array
  /** `next[state + columns[byte]]`: the next state, which is a multiple of the number of columns. */
  readonly next: Uint32Array
  /** From this state on a key word has just ended. */
  readonly firstAccepting: number
  /** The number of columns: `(state - firstAccepting) / width` is the number of an accepting state. */
  readonly width: number
  /** By the number of an accepting state: the key words that end in it, the longest first. */
  readonly found: readonly (readonly number[])[]
  /** How many of the last bytes may be the beginning of a key word. */
  depth(state: number): number
  /** Below this state no more than two of the last bytes are the beginning of a key word. */
  readonly shallow: number
  /** Bytes that the table takes. */
  readonly sizeBytes: number
}

export const KEY_WORD_START = 0

const BYTES = 256
const UPPER_A = 0x41
const UPPER_Z = 0x5a
const TO_LOWER = 0x20

function fold(byte: number): number {
  return byte >= UPPER_A && byte <= UPPER_Z ? byte + TO_LOWER : byte
}

/** Of three bytes: small enough for the cache. Two bytes of one class are told apart by the table. */
const CLASS_BITS = 6
const CLASS_MASK = 2 ** CLASS_BITS - 1
const THREE_MASK = 2 ** (3 * CLASS_BITS) - 1

const CLASSES = Uint8Array.from({ length: BYTES }, (_, byte) => fold(byte) & CLASS_MASK)

/** By three classes of bytes: not 0 where a key word may begin with them, or end with the third; 256 KiB. */
export type Beginnings = Uint8Array

/** @param words those of the table */
export function beginningsOf(words: readonly string[]): Beginnings {
  const begins = new Uint8Array(THREE_MASK + 1)
  for (const word of words) {
    const [first = 0, second = 0, third] = bytesOf(word).map((byte) => byte & CLASS_MASK)
    const two = (first << CLASS_BITS) | second
    if (third !== undefined) begins[(two << CLASS_BITS) | third] = 1
    // Shorter ones end with the third byte, whatever stands before them.
    else if (word.length === 2)
      for (let before = 0; before <= CLASS_MASK; before++) begins[(before << (2 * CLASS_BITS)) | two] = 1
    else
      for (let before = 0; before <= THREE_MASK >> CLASS_BITS; before++)
        begins[(before << CLASS_BITS) | first] = 1
  }
  return begins
}

/** Where a scan is: the state that it goes on in. */
export type KeyWordScan = { state: number }

/**
 * Where the last byte of the next key word is, or `end`; `scan` is then in the state before that byte. What nearly every
 * byte goes through: where no key word can have begun, three bytes are looked up beside each other, of which none waits
 * for the one before as the states do.
 */
export function scanKeyWords(
  { columns, next, firstAccepting, shallow }: KeyWords,
  begins: Beginnings,
  bytes: Uint8Array,
  from: number,
  end: number,
  scan: KeyWordScan,
): number {
  // Of this function, so that the loop need not ask for them.
  const [classes, bits, mask] = [CLASSES, CLASS_BITS, THREE_MASK]
  let state = scan.state
  let at = from
  while (at < end) {
    if (state < shallow && at >= from + 2) {
      let three =
        ((classes[bytes[at - 2] as number] as number) << bits) | (classes[bytes[at - 1] as number] as number)
      for (; at < end; at++) {
        three = ((three << bits) | (classes[bytes[at] as number] as number)) & mask
        if (begins[three] !== 0) break
      }
      // Nothing that began earlier goes on: the last two bytes say all.
      state = next[columns[bytes[at - 2] as number] as number] as number
      state = next[state + (columns[bytes[at - 1] as number] as number)] as number
      if (at === end) break
    }
    const step = next[state + (columns[bytes[at] as number] as number)] as number
    if (step >= firstAccepting) break
    state = step
    at++
  }
  scan.state = state
  return at
}

/** Whether no key word ends or begins in the bytes from `from` to `end`: many, and all one that leads back to `state`. */
export function staysInState(
  { columns, next, firstAccepting }: KeyWords,
  bytes: Uint8Array,
  from: number,
  end: number,
  state: number,
): boolean {
  const isBack = next[state + (columns[bytes[from] as number] as number)] === state
  return isBack && state < firstAccepting && isOneByte(bytes, from, end)
}

type Node = {
  readonly children: Map<number, Node>
  fail: Node | undefined
  words: number[]
  id: number
  readonly depth: number
}

const newNode = (depth: number): Node => ({ children: new Map(), fail: undefined, words: [], id: 0, depth })

/** Of ASCII text: a key word is data of ours. */
function bytesOf(word: string): number[] {
  return Array.from(word, (letter) => fold(letter.charCodeAt(0)))
}

function treeOf(words: readonly string[]): Node {
  const root = newNode(0)
  words.forEach((word, number) => {
    let node = root
    for (const byte of bytesOf(word)) {
      const child = node.children.get(byte) ?? newNode(node.depth + 1)
      node.children.set(byte, child)
      node = child
    }
    node.words.push(number)
  })
  return root
}

/** Gives every node the longest other beginning that it ends with; all nodes, the nearest to the root first. */
function linked(root: Node): Node[] {
  const nodes = [root]
  for (const node of nodes)
    for (const [byte, child] of node.children) {
      let fail = node.fail
      while (fail !== undefined && !fail.children.has(byte)) fail = fail.fail
      child.fail = fail?.children.get(byte) ?? root
      child.words.push(...child.fail.words)
      nodes.push(child)
    }
  return nodes
}

/** @param words of ASCII, none empty; the numbers of `at` are their places here */
export function buildKeyWords(words: readonly string[]): KeyWords {
  const columns = new Uint8Array(BYTES)
  let width = 1
  for (const word of words) for (const byte of bytesOf(word)) columns[byte] ||= width++
  for (let byte = UPPER_A; byte <= UPPER_Z; byte++) columns[byte] = columns[fold(byte)] ?? 0
  const nodes = linked(treeOf(words))
  const ordered = [
    ...nodes.filter(({ words }) => words.length === 0),
    ...nodes.filter(({ words }) => words.length > 0),
  ]
  ordered.forEach((node, number) => {
    node.id = number * width
  })
  const accepting = ordered.filter(({ words }) => words.length > 0)
  const firstAccepting = (ordered.length - accepting.length) * width
  const next = new Uint32Array(ordered.length * width)
  // The nearest to the root first: where a node has no child, its shorter end has been filled in already.
  for (const { id, fail, children } of nodes) {
    if (fail !== undefined) next.copyWithin(id, fail.id, fail.id + width)
    for (const [byte, child] of children) next[id + (columns[byte] ?? 0)] = child.id
  }
  const isShallow = ({ depth, words }: Node): boolean => depth <= 2 && words.length === 0
  const depths = Uint8Array.from(ordered, ({ depth }) => depth)
  return {
    columns,
    next,
    firstAccepting,
    width,
    found: accepting.map(({ words }) => words),
    depth: (state) => depths[state / width] ?? 0,
    // The nodes nearest to the root have the smallest numbers.
    shallow: ordered.filter(isShallow).length * width,
    sizeBytes: next.byteLength + columns.byteLength + depths.byteLength,
  }
}
