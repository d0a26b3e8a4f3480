import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runMain } from '../run-main.node.ts'

t.test('makes both files and prints only the public half', async (t) => {
  const directory = t.testdir({})
  const run = await runMain(directory, ['keygen', 'laptop', '--json'])
  t.equal(run.code, 0)
  const result = JSON.parse(run.stdout)
  t.equal(result.public_key, readFileSync(join(directory, 'laptop.pub')).toString('base64url'))
  t.equal(statSync(join(directory, 'laptop.key')).mode & 0o777, 0o600)
  const seed = readFileSync(join(directory, 'laptop.key'))
  for (const form of ['base64url', 'base64', 'hex'] as const)
    t.notOk(run.stdout.includes(seed.toString(form)), form)
})

t.test('never overwrites, whether PATH is written with .key or without', async (t) => {
  const directory = t.testdir({})
  t.equal((await runMain(directory, ['keygen', 'k.key'])).code, 0)
  const before = readFileSync(join(directory, 'k.key'))
  t.match(await runMain(directory, ['keygen', 'k']), {
    code: 125,
    stderr: /^sass-edge: .*k\.key exists already and nothing was written/,
  })
  t.same(readFileSync(join(directory, 'k.key')), before)
})

t.test('a directory is no name for keys, and a missing one is named', async (t) => {
  const directory = t.testdir({ in: {} })
  for (const [word, like] of [
    ['.', 'laptop'],
    ['../in/', '../in/laptop'],
    ['../in', '../in/laptop'],
    ['none/', 'none/laptop'],
  ] as const) {
    const { code, stderr } = await runMain(join(directory, 'in'), ['keygen', word])
    t.equal(code, 125, word)
    t.equal(
      stderr,
      `sass-edge: ${word} is a directory, and no key was made: name a file in it, like ${like}.\n`,
    )
  }
  t.same(readdirSync(directory), ['in'])
  t.equal((await runMain(directory, ['keygen', 'in.key'])).code, 0, 'a file is named all the same')
  t.match(await runMain(directory, ['keygen', 'none/k']), {
    code: 125,
    stderr: `cannot be written, since ${join(directory, 'none')} does not exist: choose another place.\n`,
  })
})

t.test('a directory that is a file is one sentence', async (t) => {
  const directory = t.testdir({ file: '' })
  const run = await runMain(directory, ['keygen', 'file/k'])
  t.match(run, {
    code: 125,
    stderr: /cannot be written, since a part of its path is not a directory: choose another place\.\n$/,
  })
})
