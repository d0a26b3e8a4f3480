/**
 * False figures: the real programs' forms, and sums that hold, whatever is drawn.
 * @module
 */
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { createFigures } from '../../../src/defense/deception/figures.ts'

/** A machine drawn from a seed, so that a failure can be repeated. */
function figuresOf(seed: number): (line: string) => string {
  let state = seed >>> 0
  const figures = createFigures((count) =>
    Uint8Array.from({ length: count }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state >>> 24
    }),
  )
  return (line) => new TextDecoder().decode(figures.answer(line.split(' ')))
}
const rowsOf = (text: string): string[][] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ +/))
const seeds = fc.integer({ min: 0, max: 0xffff_ffff })

t.test('df adds up in every line, its percentages fit, and its columns stand in line', (t) => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const text = figuresOf(seed)('df')
      const [head = [], ...rows] = rowsOf(text)
      t.strictSame(head, ['Filesystem', '1K-blocks', 'Used', 'Available', 'Use%', 'Mounted', 'on'])
      const ends = text
        .split('\n')
        .slice(0, -1)
        .map((line) => line.indexOf('%'))
      return (
        new Set(ends).size === 1 &&
        rows.some((row) => row[5] === '/') &&
        rows.every(([, size = '', used = '', free = '', percent = '']) => {
          const share = (Number(used) * 100) / Number(size)
          return (
            Number(used) + Number(free) === Number(size) &&
            Number(used) >= 0 &&
            Number(free) >= 0 &&
            Number.parseInt(percent, 10) === Math.ceil(share)
          )
        })
      )
    }),
  )
  t.end()
})

t.test('df in other units, with types, in the portable form, and of the root alone', (t) => {
  const df = figuresOf(7)
  t.match(df('df -h'), /^Filesystem +Size +Used Avail Use% Mounted on\n/)
  for (const [, size = '', used = '', free = ''] of rowsOf(df('df -h')).slice(1))
    for (const cell of [size, used, free]) t.match(cell, /^(0|\d\.\d[KMGT]|\d{2,4}[KMGT])$/)
  t.match(df('df -H'), /^Filesystem +Size/)
  t.match(df('df -hT'), /^Filesystem +Type +Size +Used Avail Use% Mounted on\n/)
  t.match(df('df -P'), /^Filesystem +1024-blocks +Used +Available Capacity Mounted on\n/)
  t.match(df('df -m'), /^Filesystem +1M-blocks/)
  const root = rowsOf(df('df -k /'))
  t.equal(root.length, 2)
  t.equal(root[1]?.at(-1), '/')
  t.end()
})

t.test('free adds up, and its columns stand in line', (t) => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const free = figuresOf(seed)
      const text = free('free')
      const [head = '', memory = '', swap = ''] = text.split('\n')
      t.equal(head, '               total        used        free      shared  buff/cache   available')
      const [total = 0, used = 0, left = 0, shared = 0, cache = 0, available = 0] = memory
        .slice(5)
        .trim()
        .split(/ +/)
        .map(Number)
      const [swapTotal = 0, swapUsed = 0, swapFree = 0] = swap.slice(5).trim().split(/ +/).map(Number)
      return (
        memory.length === head.length &&
        total === used + left + cache &&
        [used, left, cache, shared].every((value) => value > 0) &&
        available > left &&
        available < total &&
        shared < cache &&
        swapTotal === swapUsed + swapFree
      )
    }),
  )
  const free = figuresOf(3)
  t.match(free('free -h'), /^Mem: +(\d\.\d|\d{2,3})[MG]i/m)
  t.match(free('free -w'), /shared {5}buffers {7}cache {3}available\n/)
  t.match(free('free -t'), /^Total: /m)
  t.ok(Number(/Mem: +(\d+)/.exec(free('free -m'))?.[1]) < 17_000)
  t.end()
})

t.test(
  'memory tells one story: free and /proc/meminfo name the same total, which stays from answer to answer',
  (t) => {
    const ask = figuresOf(11)
    const total = /Mem: +(\d+)/.exec(ask('free'))?.[1]
    const meminfo = ask('cat /proc/meminfo')
    const entries = new Map(rowsOf(meminfo).map(([name = '', value = '']) => [name, Number(value)]))
    t.equal(String(entries.get('MemTotal:')), total)
    t.equal(/Mem: +(\d+)/.exec(ask('/usr/bin/free'))?.[1], total)
    const entry = (name: string): number => entries.get(name) ?? Number.NaN
    t.equal(entry('Active:'), entry('Active(anon):') + entry('Active(file):'))
    t.equal(entry('Inactive:'), entry('Inactive(anon):') + entry('Inactive(file):'))
    t.equal(entry('Slab:'), entry('SReclaimable:') + entry('SUnreclaim:'))
    for (const [name, value] of entries) t.ok(value >= 0, name)
    for (const line of meminfo.trimEnd().split('\n')) t.match(line, /^[A-Za-z_()]+: +\d+ kB$/)
    t.equal(rowsOf(ask('head -n 3 /proc/meminfo')).length, 3)
    t.match(ask('head -1 /proc/meminfo'), /^MemTotal: /)
    t.match(ask('tail -n 1 /proc/meminfo'), /^Percpu: /)
    t.end()
  },
)

t.test('two devices tell different figures, and other commands tell none', (t) => {
  const [one, other] = [createFigures(randomBytes), createFigures(randomBytes)]
  t.notSame(one.answer(['df']), other.answer(['df']))
  for (const argv of [['ls'], ['cat', '/etc/passwd'], ['/tmp/df'], ['df', '-i'], []])
    t.equal(one.answer(argv), undefined)
  t.end()
})
