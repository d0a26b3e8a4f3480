/**
 * What a branch takes up, on real trees: blocks and not sizes, each file once, whatever depth and names.
 * @module
 */
import { execFileSync } from 'node:child_process'
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Branch } from '../../../../src/sandbox/branch/files/branch.ts'
import type { Count } from '../../../../src/sandbox/branch/store/bounds.ts'
import { countBranch } from '../../../../src/sandbox/branch/store/usage.node.ts'
import { COUNTED_AT_ONCE } from '../../../../src/sandbox/limits.ts'

const NO_LIMITS = { bytes: Number.MAX_SAFE_INTEGER, files: Number.MAX_SAFE_INTEGER }

function made(t: Test): { branch: Branch; upper: string } {
  const directory = mkdtempSync(join(tmpdir(), 'sass-edge-usage-'))
  // Deeper than a path may be long.
  t.teardown(() => execFileSync('rm', ['-rf', directory]))
  const store = join(directory, '0')
  const upper = join(store, 'upper')
  mkdirSync(upper, { recursive: true })
  const branch: Branch = {
    session: 'f'.repeat(32),
    agent: 'agent',
    level: 'overlay',
    attributes: 'trusted',
    roots: [{ path: '/work', store, baseNs: '0' }],
    volatile: [],
    openedAtMs: 0,
  }
  return { branch, upper }
}

function counted(branch: Branch, limits = NO_LIMITS): Count & { slices: number } {
  const work = countBranch(branch, limits, undefined)
  for (let slices = 1; ; slices++) {
    const found = work.next()
    if (found !== undefined) return { ...found, slices }
  }
}

t.test('blocks count and sizes do not, and a file with several names counts once', (t) => {
  const { branch, upper } = made(t)
  t.match(counted(branch), { bytes: 0, files: 0, isWhole: true })
  writeFileSync(join(upper, 'full'), Buffer.alloc(1_048_576, 1))
  linkSync(join(upper, 'full'), join(upper, 'again'))
  writeFileSync(join(upper, 'hole'), '')
  truncateSync(join(upper, 'hole'), 1e12)
  symlinkSync('/', join(upper, 'everything'))
  const { bytes, files, isWhole } = counted(branch)
  t.ok(bytes >= 1_048_576 && bytes < 1_200_000, `${bytes}`)
  t.equal(files, 3)
  t.equal(isWhole, true)
  t.end()
})

t.test('in slices, no further than there may be, and nothing stays open', (t) => {
  const { branch, upper } = made(t)
  for (let count = 0; count < 3 * COUNTED_AT_ONCE; count++) writeFileSync(join(upper, `f${count}`), '')
  const open = readdirSync('/proc/self/fd').length
  t.match(counted(branch), { files: 3 * COUNTED_AT_ONCE, slices: 4 })
  t.match(counted(branch, { ...NO_LIMITS, files: 10 }), { files: 10, slices: 1 })
  const left = countBranch(branch, NO_LIMITS, undefined)
  t.equal(left.next(), undefined)
  left.stop()
  t.equal(readdirSync('/proc/self/fd').length, open)
  t.end()
})

t.test('names of any bytes, long paths; what lies too deep is said to be missing', (t) => {
  const { branch, upper } = made(t)
  writeFileSync(Buffer.concat([Buffer.from(`${upper}/`), Buffer.from([0xff, 0xfe, 0x0a])]), 'x')
  const script = `cd "$1"; n=$(printf '%0250d' 0); for i in $(seq 40); do mkdir $n; cd -P ./$n 2>/dev/null || exit 0; done; echo x > deep`
  execFileSync('sh', ['-c', script, 'sh', upper], { stdio: 'ignore' })
  const long = counted(branch)
  t.ok(long.files >= 16, `${long.files}`)
  t.equal(long.isWhole, true)
  execFileSync('sh', ['-c', 'cd "$1"; for i in $(seq 200); do mkdir d; cd d; done', 'sh', upper])
  t.match(counted(branch), { isWhole: false })
  t.end()
})
