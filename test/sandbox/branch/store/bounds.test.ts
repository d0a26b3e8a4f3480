/**
 * What is counted when, who is ended, and how soon it is looked again: lists of looks and counts.
 * @module
 */
import t from 'tap'
import { boundOf, type Count, createBounds, type Free } from '../../../../src/sandbox/branch/store/bounds.ts'

const MIB = 1_048_576
const free = (mib: number, files = 1_000): Free => ({ bytes: mib * MIB, files })
const count = (mib: number, files = 1, isWhole = true): Count => ({ bytes: mib * MIB, files, isWhole })
const LIMITS = { bytes: null, files: 100, lowBytes: 10 * MIB }

t.test('half of what there could be, of what is there already too, and never more than 4 GiB', (t) => {
  t.equal(boundOf(null, 0, 80 * MIB), 40 * MIB)
  t.equal(boundOf(null, 40 * MIB, 40 * MIB), 40 * MIB, 'who has had it all has no more when it comes again')
  t.equal(boundOf(null, 0, 1e12), 4_294_967_296)
  t.equal(boundOf(7, 40 * MIB, 40 * MIB), 7)
  t.end()
})

t.test('a branch is counted first, then only where all that is gone may be its own', (t) => {
  const bounds = createBounds(LIMITS)
  t.strictSame(bounds.look(free(100), 0), [])
  bounds.open('a', 0)
  t.strictSame(bounds.look(free(100), 0), ['a'])
  t.equal(bounds.counted('a', count(0), free(100), 0, 1), undefined)
  t.strictSame(bounds.look(free(100), 10), [], 'nothing is gone')
  t.strictSame(bounds.look(free(60), 20), [], '40 of the 50 that it may have')
  t.strictSame(bounds.look(free(49), 30), ['a'], 'it may be over')
  t.equal(bounds.counted('a', count(20), free(49), 31, 1), undefined, 'others took the rest')
  t.strictSame(bounds.look(free(25), 40), [], 'from here on once more')
  t.strictSame(bounds.look(free(18), 50), ['a'])
  t.match(bounds.counted('a', count(51), free(18), 51, 1), {
    branch: 'a',
    why: /takes up 51\.0 MiB of the 50\.0 MiB .*sandbox\.limits\.branch_bytes/,
  })
  bounds.close('a')
  t.equal(bounds.size, 0)
  t.strictSame(bounds.look(free(1), 60), [])
  t.equal(bounds.counted('a', count(99), free(1), 60, 1), undefined, 'who is gone is not ended')
  t.end()
})

t.test('nobody need count further than a branch may have', (t) => {
  const bounds = createBounds({ ...LIMITS, files: 10_000 })
  t.equal(bounds.filesBound('a'), 10_000)
  bounds.open('a', 0)
  t.equal(bounds.filesBound('a'), 10_000, 'before it is counted')
  bounds.counted('a', count(0, 10), free(100, 90), 0, 1)
  t.equal(bounds.filesBound('a'), 50, 'half of what the disk could have')
  t.match(bounds.counted('a', count(0, 50), free(100, 40), 9, 1), { branch: 'a', why: /50 files of the 50 / })
  t.end()
})

t.test('what others give back hides nothing for long', (t) => {
  const bounds = createBounds(LIMITS)
  bounds.open('a', 0)
  bounds.counted('a', count(0), free(100), 0, 1)
  t.strictSame(bounds.look(free(100, 999), 1_000), [])
  t.strictSame(bounds.look(free(100, 999), 2_000), ['a'], 'something has changed for two seconds')
  bounds.counted('a', count(10), free(100, 999), 2_000, 500)
  t.strictSame(bounds.look(free(101), 5_000), [], 'a count that takes long is not made all the time')
  t.strictSame(bounds.look(free(101), 12_000), ['a'])
  t.end()
})

t.test(
  'files are counted where the file system tells how many may be made, and in any case now and then',
  (t) => {
    const bounds = createBounds(LIMITS)
    bounds.open('a', 0)
    bounds.counted('a', count(0, 1), free(100, 1_000), 0, 1)
    t.strictSame(bounds.look(free(100, 902), 10), [])
    t.strictSame(bounds.look(free(100, 901), 20), ['a'])
    t.match(bounds.counted('a', count(0, 100), free(100, 901), 21, 1), {
      why: /holds 100 files of the 100 .*sandbox\.limits\.branch_files/,
    })
    const silent = createBounds(LIMITS)
    silent.open('a', 0)
    silent.counted('a', count(0, 1), { bytes: MIB, files: undefined }, 0, 1)
    t.strictSame(silent.look({ bytes: MIB - 1, files: undefined }, 3_000), ['a'])
    t.end()
  },
)

t.test('what cannot be looked at is charged with all that is gone', (t) => {
  const bounds = createBounds(LIMITS)
  bounds.open('a', 0)
  bounds.counted('a', count(0), free(100), 0, 1)
  t.strictSame(bounds.look(free(50), 10), ['a'])
  t.match(bounds.counted('a', count(1, 1, false), free(50), 11, 1), {
    branch: 'a',
    why: /takes up 51\.0 MiB/,
  })
  t.end()
})

t.test('what a copy began with is not its session’s', (t) => {
  const bounds = createBounds({ ...LIMITS, bytes: 20 * MIB })
  bounds.open('a', 100 * MIB)
  t.equal(bounds.counted('a', count(100), free(100), 0, 1), undefined)
  t.equal(bounds.counted('a', count(119), free(80), 10, 1), undefined)
  t.match(bounds.counted('a', count(120), free(80), 20, 1), { branch: 'a' })
  t.end()
})

t.test(
  'on a disk that is nearly full whoever grew most is ended, and nobody who took next to nothing',
  (t) => {
    const bounds = createBounds({ ...LIMITS, bytes: 100 * MIB })
    for (const name of ['a', 'b', 'c']) {
      bounds.open(name, 0)
      bounds.counted(name, count(5), free(100), 0, 1)
    }
    t.strictSame(bounds.look(free(100), 1), [])
    t.strictSame(bounds.look(free(9), 10), ['a', 'b', 'c'], 'all are counted')
    t.equal(bounds.counted('a', count(30), free(9), 11, 1), undefined)
    t.equal(bounds.counted('b', count(55), free(9), 11, 1), undefined)
    t.match(bounds.counted('c', count(5), free(9), 11, 1), {
      branch: 'b',
      why: /has only 9\.0 MiB left \(sandbox\.limits\.reserve_bytes\), and this branch grew most, by 50\.0 MiB/,
    })
    bounds.close('b')
    t.strictSame(bounds.look(free(9), 12), [], 'nothing is gone since')
    t.strictSame(bounds.look(free(8.5), 13), ['a', 'c'])
    t.equal(bounds.counted('a', count(30.4), free(8.5), 14, 1), undefined)
    t.equal(bounds.counted('c', count(5), free(8.5), 14, 1), undefined, 'somebody else took it')
    t.end()
  },
)

t.test('it is looked again the sooner the nearer a bound is', (t) => {
  const bounds = createBounds({ ...LIMITS, files: 1_000_000, bytes: 1_000 * MIB })
  bounds.open('a', 0)
  bounds.look(free(10_000, 1_000_000), 0)
  bounds.counted('a', count(0), free(10_000, 1_000_000), 0, 1)
  t.equal(bounds.waitMs(), 250)
  bounds.look(free(9_900, 1_000_000), 1)
  t.equal(bounds.waitMs(), 250)
  bounds.look(free(9_100, 1_000_000), 1)
  t.equal(bounds.waitMs(), 50)
  bounds.look(free(9_001, 1_000_000), 1)
  t.equal(bounds.waitMs(), 4)
  t.end()
})

t.test(
  'a disk that counts its files gives a branch half of them, and is asked the sooner the fewer are left',
  (t) => {
    const bounds = createBounds({ ...LIMITS, files: 1_000_000, bytes: 1_000 * MIB })
    const disk = (files: number) => ({ bytes: 10_000 * MIB, files })
    bounds.open('a', 0)
    bounds.look(disk(20_000), 0)
    t.equal(bounds.counted('a', count(0), disk(20_000), 0, 1), undefined)
    t.equal(bounds.waitMs(), 99)
    bounds.look(disk(12_000), 1)
    t.equal(bounds.waitMs(), 19)
    t.match(
      bounds.counted('a', { bytes: 0, files: 10_000, isWhole: true }, disk(10_000), 2, 1)?.why ?? '',
      /10000 files of the 10000 /,
    )
    t.end()
  },
)
