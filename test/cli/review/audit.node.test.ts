/**
 * `sass-edge audit` without a daemon: what it says of a record, of mistakes in the call, and of what it cannot read.
 * @module
 */
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { keysOf, stagedJournal } from '../../audit/staged-journal.node.ts'
import { runMain } from '../run-main.node.ts'

/** An installation whose daemon does not run, and its record. */
function installation(directory: string): void {
  writeFileSync(join(directory, 'c.json'), '{"state_directory": "state", "audit": {"directory": "audit"}}')
  mkdirSync(join(directory, 'state'))
  const journal = stagedJournal(join(directory, 'audit'), { epochRecords: 4 })
  for (let index = 0; index < 9; index++)
    journal.append({ type: 'daemon', what: `started ${index}\u001b[2J` })
  journal.close()
  writeFileSync(
    join(directory, 'state/audit.pub'),
    readFileSync(join(keysOf(join(directory, 'audit')), 'audit.pub')),
  )
}

const audit = (directory: string, ...words: string[]) =>
  runMain(directory, ['audit', ...words, '--config', 'c.json'])

t.test('verify says how long the chain is and where it ends, and tail shows its end', async (t) => {
  const directory = t.testdir()
  installation(directory)
  const verified = await audit(directory, 'verify')
  t.match(verified, { code: 0, stderr: '' })
  t.match(
    verified.stdout,
    /^The chain is whole: 12 records from .* signed in 3 epochs\.\nhead +12:[0-9a-f]{64}\nkey +sha256:/,
  )
  const [, head = ''] = /head +(\S+)/.exec(verified.stdout) ?? []
  t.match(await audit(directory, 'verify', '--head', head), { code: 0 })
  const other = head.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))
  t.match(await audit(directory, 'verify', '--head', other), {
    code: 1,
    stdout: /Record 12 .*--head has kept/,
  })
  const tail = await audit(directory, 'tail', '-n', '2')
  t.match(tail.stdout, /^11 \S+ epoch [^\n]+\n12 \S+ daemon .*what=started 8\\x1b\[2J\n$/)
  t.equal(JSON.parse((await audit(directory, 'tail', '--json')).stdout).records.length, 12)
})

t.test('files alone verify with a key, or as a chain of anybody', async (t) => {
  const directory = t.testdir()
  installation(directory)
  const files = ['audit/audit.jsonl']
  t.match(await runMain(directory, ['audit', 'verify', ...files]), { code: 0, stdout: /No key was pinned/ })
  const [, fingerprint = ''] = /key +(\S+)/.exec((await audit(directory, 'verify')).stdout) ?? []
  for (const key of ['state/audit.pub', fingerprint])
    t.match(await runMain(directory, ['audit', 'verify', ...files, '--key', key]), { code: 0 })
  t.match(await runMain(directory, ['audit', 'verify', ...files, '--key', `${fingerprint.slice(0, -2)}AA`]), {
    code: 1,
    stdout: /another key than the one that was pinned/,
  })
})

t.test('a mistake in the call is one sentence and 125', async (t) => {
  const directory = t.testdir()
  installation(directory)
  for (const [words, said] of [
    [[], /audit needs to be told what to do/],
    [['verfy'], /did you mean verify/],
    [['verify', '--head', '1'], /--head takes SEQ:HASH/],
    [['tail', '-n', '0'], /--lines takes a number/],
    [['tail', 'x'], /one word too many/],
    [['export'], /takes the id of a session/],
    [['export', 'abc'], /takes the id of a session/],
    [['verify', '--key', 'sha256:abc'], /--key "sha256:abc" is no fingerprint: write sha256:/],
    [['verify', 'nosuch.jsonl'], /: nosuch\.jsonl cannot be read, since it does not exist: name another\./],
    [['verify', '--evidence', 'nosuch'], /: nosuch cannot be read, since it does not exist: name another\./],
    [['anchor'], /needs the authority and its certificate/],
  ] as const) {
    const { code, stderr } = await audit(directory, ...words)
    t.equal(code, 125, words.join(' '))
    t.match(stderr, said)
    t.match(stderr, /^sass-edge: [^\n]+\n$/)
  }
  const none = t.testdir({ none: { 'c.json': '{}' } })
  t.match(await runMain(join(none, 'none'), ['audit', 'verify', 'nothing.jsonl']), {
    stderr: /cannot be read, since it does not exist/,
  })
})

t.test('a record that was emptied or removed is not whole where its key is known', async (t) => {
  const directory = t.testdir()
  installation(directory)
  const active = join(directory, 'audit/audit.jsonl')
  truncateSync(active)
  const gone = { code: 1, stdout: /^Record 1 \([^)]*audit\.jsonl, line 1\): It is gone with all the others/ }
  t.match(await audit(directory, 'verify'), gone)
  const named = ['verify', 'audit/audit.jsonl']
  t.match(await audit(directory, ...named, '--key', 'state/audit.pub'), gone)
  t.match(await audit(directory, ...named), { code: 0, stdout: /^The chain has no record yet\./ })
  rmSync(active)
  t.match(await audit(directory, 'verify'), gone)
  rmSync(join(directory, 'audit'), { recursive: true })
  t.match(await audit(directory, 'verify'), gone)
  rmSync(join(directory, 'state/audit.pub'))
  for (const words of [['verify'], ['tail'], ['incident', '1']])
    t.match(await audit(directory, ...words), {
      code: 125,
      stderr: /does not exist: a daemon makes it at its first start, so name the configuration/,
    })
})

t.test('a record without facts is said to have none, and nothing is made up', async (t) => {
  const directory = t.testdir()
  installation(directory)
  t.match(await audit(directory, 'replay'), { code: 0, stdout: /^0 decisions made again: 0 came out/ })
})
