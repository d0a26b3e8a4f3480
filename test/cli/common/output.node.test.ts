import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { createOutput } from '../../../src/cli/common/output.node.ts'

const OUTPUT = join(import.meta.dirname, '../../../src/cli/common/output.node.ts')

/** What a child writes that runs `code` with `createOutput` and `writeAll` at hand; `tail` follows it in the shell. */
function child(code: string, tail = ''): { stdout: string; stderr: string } {
  const script = `import { createOutput, emphasis, writeAll } from ${JSON.stringify(OUTPUT)}\n${code}`
  const words = ['-c', `"$0" --input-type=module -e "$1" ${tail}`, process.execPath, script]
  return spawnSync('sh', words, { encoding: 'utf8', maxBuffer: 64 * 1_048_576 })
}

t.test('results go to stdout as lines or as one object, notes and warnings to stderr', async (t) => {
  const code = (json: boolean) =>
    `const o = createOutput(${json}, {}); o.result({ a: 1 }, ['one', 'two']); o.note('note'); o.warn('careful.')`
  t.match(child(code(false)), { stdout: 'one\ntwo\n', stderr: 'note\nsass-edge: careful.\n' })
  t.match(child(code(true)), { stdout: '{"a":1}\n', stderr: 'sass-edge: careful.\n' })
})

t.test('an error that is none of ours is told as what it is', async (t) => {
  const run = child('createOutput(true, {}).error(new TypeError("boom"))')
  t.match(JSON.parse(run.stdout), { error: 'INTERNAL', reason: /boom/ })
  t.match(
    run.stderr,
    /^sass-edge: Something happened that should not, namely boom: set SASS_EDGE_TRACE=1 .*\n$/,
  )
  const traced = child('createOutput(false, { SASS_EDGE_TRACE: "1" }).error(new TypeError("boom"))')
  t.match(traced.stderr, /\nTypeError: boom\n {4}at /)
})

t.test('writes all of a large text into a slow pipe, and survives a reader that goes away', async (t) => {
  const slow = child('writeAll(1, "x".repeat(8_000_000)); process.exit(0)', '| (sleep 0.2; wc -c)')
  t.equal(slow.stdout.trim(), '8000000')
  const gone = child('writeAll(1, "x".repeat(8_000_000)); writeAll(2, "still here")', '| head -c 1')
  t.match(gone, { stdout: 'x', stderr: 'still here' })
})

t.test('a full disk under the output is told as that, and ends a command with a code of ours', async (t) => {
  const main = join(import.meta.dirname, '../../../src/main.ts')
  for (const words of ['version', 'version --json', '--help', 'nosuch --json']) {
    const command = `"$0" --disable-warning=ExperimentalWarning "$1" ${words} >/dev/full`
    const { status, stderr } = spawnSync('sh', ['-c', command, process.execPath, main], { encoding: 'utf8' })
    t.equal(status, words.startsWith('nosuch') ? 125 : 254, words)
    t.match(
      stderr,
      /^sass-edge: ("nosuch" is not|The output cannot be written, since the disk is full\.).*\n$/,
    )
  }
})

t.test('no colours in a pipe, with NO_COLOR, on a dumb terminal or with --json', async (t) => {
  for (const environment of [{}, { NO_COLOR: '1' }, { TERM: 'dumb' }]) {
    const run = child(
      `const o = createOutput(false, ${JSON.stringify(environment)}); o.result({}, [emphasis(o, 'x')])`,
    )
    t.equal(run.stdout, 'x\n')
  }
  t.equal(createOutput(true, {}).colour, false)
  t.equal(createOutput(false, { NO_COLOR: '1' }).colour, false)
})
