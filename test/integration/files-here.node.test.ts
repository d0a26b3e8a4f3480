/**
 * Files on the side of whoever copies them: what may be replaced there, and names of every length.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startNew, temporary } from './daemon.node.ts'

const daemon = await startNew(t, { capabilities: { default: { max_file_size_bytes: 1_000 } } })
const copy = (...words: readonly string[]) => daemon.cli(['cp', ...words])

t.test('what is no file here is not replaced by one', async (t) => {
  const here = temporary(t)
  writeFileSync(join(daemon.workspace, 'file'), 'text')
  execFileSync('mkfifo', [join(here, 'pipe')])
  symlinkSync('/dev/null', join(here, 'link'))
  for (const name of ['pipe', 'link']) {
    const before = lstatSync(join(here, name)).mode
    const { code, stderr } = await copy(':file', join(here, name))
    t.equal(code, 125)
    t.match(stderr, `${name} is no regular file`)
    t.equal(lstatSync(join(here, name)).mode, before)
  }
  t.strictSame(readdirSync(here), ['link', 'pipe'])
})

t.test('a name of 255 bytes goes there and comes back', async (t) => {
  const here = temporary(t)
  for (const name of ['n'.repeat(255), `${'ü'.repeat(127)}n`]) {
    writeFileSync(join(here, name), name)
    t.equal((await copy(join(here, name), `:${name}`)).code, 0)
    mkdirSync(join(here, 'back'), { recursive: true })
    const { code, stderr } = await copy('--branch', 'latest', `:${name}`, join(here, 'back'))
    t.equal(code, 0, stderr)
    t.equal(readFileSync(join(here, 'back', name), 'utf8'), name)
  }
})

t.test('which file of many could not be copied is said', async (t) => {
  const tree = join(temporary(t), 'tree')
  mkdirSync(tree)
  for (const name of ['first', 'last']) writeFileSync(join(tree, name), '')
  writeFileSync(join(tree, 'large'), 'x'.repeat(1_001))
  const { code, stderr } = await copy('-r', tree, ':tree')
  t.equal(code, 255)
  t.match(stderr, /^sass-edge: tree\/large: The file has 1001 bytes/m)
})
