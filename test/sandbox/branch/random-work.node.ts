/**
 * Random work on a tree, the same for the same seed: what agents do to files, and what they hardly do. An operation that
 * the system refuses is no operation.
 * @module
 */

import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { at } from './made-branch.node.ts'

export type Random = {
  /** From 0 to below `limit`. */
  below(limit: number): number
  of<Item>(items: readonly Item[]): Item
}

/** mulberry32 */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  return {
    below: (limit) => Math.floor(next() * limit),
    of: (items) => items[Math.floor(next() * items.length)] as (typeof items)[number],
  }
}

const NAMES: readonly string[] = ['a', 'b', 'c', 'd', 'e e', 'ü', '.git', 'f']

function directoriesIn(top: string): string[] {
  const found = [top]
  for (const entry of readdirSync(top, { withFileTypes: true }))
    if (entry.isDirectory()) found.push(...directoriesIn(join(top, entry.name)))
  return found
}

function filesIn(top: string): string[] {
  return readdirSync(top, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesIn(join(top, entry.name)) : [join(top, entry.name)],
  )
}

/** One operation; what it did, for a failure to be understood. */
export function work(top: string, random: Random, step: number): string {
  const directories = directoriesIn(top)
  const place = (): string => join(random.of(directories), random.of(NAMES))
  const files = filesIn(top)
  const file = (): string => (files.length > 0 && random.below(4) > 0 ? random.of(files) : place())
  const inner = directories.slice(1)
  const directory = (): string => (inner.length > 0 ? random.of(inner) : place())
  const [kind, first, second] = [random.below(21), file(), place()]
  const dir = directory()
  const isRoot = process.geteuid?.() === 0
  const content = `${step} ${random.below(1_000_000)}\n`.repeat(1 + random.below(4))
  const operations: Readonly<Record<number, readonly [name: string, act: () => void]>> = {
    0: [`write ${second}`, () => writeFileSync(second, content)],
    1: [`write ${first}`, () => writeFileSync(first, content)],
    2: [`append ${first}`, () => appendFileSync(first, content)],
    3: [`truncate ${first}`, () => truncateSync(first, random.below(5))],
    4: [`unlink ${first}`, () => unlinkSync(first)],
    5: [`mkdir ${second}`, () => mkdirSync(second)],
    6: [`rm -r ${dir}`, () => rmSync(dir, { recursive: true })],
    7: [`mv ${dir} ${second}`, () => renameSync(dir, second)],
    8: [`mv ${first} ${second}`, () => renameSync(first, second)],
    9: [`symlink ${second}`, () => symlinkSync(random.of(['a', '../x', '/nowhere/x', 'ü']), second)],
    10: [`ln ${first} ${second}`, () => linkSync(first, second)],
    11: [
      `chmod ${first}`,
      () => lstatSync(first).isFile() && chmodSync(first, random.of([0o600, 0o644, 0o755, 0o4755])),
    ],
    12: [`chmod ${dir}`, () => chmodSync(dir, random.of([0o700, 0o755, 0o2775]))],
    13: [
      `chown ${first}`,
      () => isRoot && lstatSync(first).isFile() && chownSync(first, random.below(2), random.below(2)),
    ],
    14: [
      `touch ${first}`,
      () => lstatSync(first).isFile() && utimesSync(first, 1_000 + step, 1_000.5 + step),
    ],
    15: [
      `setfattr ${first}`,
      () => {
        if (lstatSync(first).isFile())
          at.setAttribute(Buffer.from(first), Buffer.from('user.x'), Buffer.from(content))
      },
    ],
    16: [`open ${first}`, () => lstatSync(first).isFile() && closeSync(openSync(first, 'r+'))],
    17: [
      `sparse ${second}`,
      () => {
        const descriptor = openSync(second, 'wx')
        writeSync(descriptor, 'x', 70_000)
        ftruncateSync(descriptor, 300_000)
        closeSync(descriptor)
      },
    ],
    18: [
      `replace ${dir}`,
      () => {
        rmSync(dir, { recursive: true })
        mkdirSync(dir)
        writeFileSync(join(dir, random.of(NAMES)), content)
      },
    ],
    19: [
      `swap ${dir} ${second}`,
      () => {
        renameSync(dir, `${dir}.x`)
        renameSync(second, dir)
        renameSync(`${dir}.x`, second)
      },
    ],
    20: [
      `save ${first}`,
      () => {
        writeFileSync(`${first}~`, content)
        renameSync(`${first}~`, first)
      },
    ],
  }
  const [name, act] = operations[kind] ?? ['nothing', () => {}]
  try {
    act()
    return name
  } catch (error) {
    return `(${name}: ${(error as NodeJS.ErrnoException).code})`
  }
}

/** A small tree to begin with. */
export function fill(top: string, random: Random, hasLinks: boolean): void {
  for (const name of ['a', 'b', 'c']) {
    mkdirSync(join(top, name))
    mkdirSync(join(top, name, 'd'))
    for (const inner of ['f', 'g', 'h']) {
      writeFileSync(join(top, name, inner), `${name} ${inner} ${random.below(1_000_000)}\n`)
      writeFileSync(join(top, name, 'd', inner), `${name} d ${inner} ${random.below(1_000_000)}\n`)
    }
  }
  symlinkSync('a/f', join(top, 's'))
  writeFileSync(join(top, 'empty'), '')
  if (!hasLinks) return
  linkSync(join(top, 'a/f'), join(top, 'a/l'))
  linkSync(join(top, 'b/g'), join(top, 'c/d/l'))
  linkSync(join(top, 'b/g'), join(top, 'm'))
}
