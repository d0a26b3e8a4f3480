import { chownSync, existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findConfig, loadConfig, problemText } from '../../../src/edge/setup/config-file.node.ts'
import { asSassError, type SassError } from '../../../src/errors.ts'
import { CONFIG_BYTES } from '../../../src/limits.ts'

function refusal(path: string): SassError {
  try {
    loadConfig(path)
  } catch (error) {
    const known = asSassError(error)
    if (known !== undefined) return known
    throw error
  }
  throw new Error(`${path} was accepted`)
}

t.test('reads a file and resolves its paths against its own directory', async (t) => {
  const directory = t.testdir({ 'sass.edge.json': '{"state_directory": "state"}\n' })
  const loaded = loadConfig(join(directory, 'sass.edge.json'))
  t.equal(loaded.config.state_directory, join(directory, 'state'))
  t.equal(loaded.text, '{"state_directory": "state"}\n')
})

t.test('a file that cannot be read is one sentence with the path, the reason and the remedy', async (t) => {
  const directory = t.testdir({ big: Buffer.alloc(CONFIG_BYTES + 1, ' '), dir: {}, file: '{}' })
  symlinkSync('loop', join(directory, 'loop'))
  for (const [name, text, errno] of [
    ['missing', 'it does not exist', 'ENOENT'],
    ['file/x', 'a part of its path is not a directory', 'ENOTDIR'],
    ['loop', 'it is a symbolic link', 'ELOOP'],
    ['dir', 'is not a regular file', undefined],
    ['big', 'is larger than', undefined],
  ] as const) {
    const error = refusal(join(directory, name))
    t.equal(error.code, 'CONFIG_LOAD_FAILED', name)
    t.match(error.message, text)
    t.match(error.message, join(directory, name))
    t.match(error.message, '--config')
    t.equal(error.details['errno'], errno)
  }
})

t.test('text that is not strict JSON is refused with its line and column', async (t) => {
  const directory = t.testdir({
    twice: '{\n  "log": {},\n  "log": {}\n}',
    comment: '{\n  // no\n}',
    tail: '{} x',
    bytes: Buffer.from([0x7b, 0xff, 0x7d]),
    empty: '',
  })
  t.match(refusal(join(directory, 'twice')).message, /line 3, column 3: the key stands twice/)
  t.match(refusal(join(directory, 'comment')).message, /line 2, column 3/)
  for (const name of ['tail', 'bytes', 'empty'])
    t.equal(refusal(join(directory, name)).code, 'CONFIG_INVALID', name)
})

t.test('a configuration that cannot be used carries every problem', async (t) => {
  const directory = t.testdir({ one: '{"listne": {}}', two: '{"listne": {}, "log": 1}' })
  const one = refusal(join(directory, 'one'))
  t.equal(one.code, 'CONFIG_INVALID')
  t.match(one.message, 'listne is not a known key (did you mean listen?)')
  const two = refusal(join(directory, 'two'))
  t.match(two.details['problems'], [
    { path: 'listne', problem: 'is not a known key', hint: 'did you mean listen?', line: 1, column: 2 },
    {
      path: 'log',
      problem: 'must be an object, not a number',
      hint: /^write \{\}, or braces with some of /,
      line: 1,
      column: 16,
    },
  ])
  t.match(two.message, 'log must be an object')
  t.equal(problemText({ path: '', problem: 'is empty', hint: 'write {}' }), 'the file is empty (write {})')
})

t.test('finds the nearest .sass-edge upward, then the one of the user', async (t) => {
  const directory = t.testdir({
    project: {
      '.sass-edge': { 'sass.edge.json': '{}' },
      deep: { er: {} },
      inner: { '.sass-edge': { 'sass.edge.json': '{}' } },
    },
    xdg: { 'sass-edge': { 'sass.edge.json': '{}' } },
    home: { '.config': { 'sass-edge': { 'sass.edge.json': '{}' } } },
  })
  const project = join(directory, 'project')
  t.equal(findConfig(join(project, 'deep', 'er'), {}), join(project, '.sass-edge/sass.edge.json'))
  t.equal(findConfig(join(project, 'inner'), {}), join(project, 'inner/.sass-edge/sass.edge.json'))
  const xdg = { XDG_CONFIG_HOME: join(directory, 'xdg'), HOME: join(directory, 'home') }
  t.equal(findConfig('/proc', xdg), join(directory, 'xdg/sass-edge/sass.edge.json'))
  t.equal(
    findConfig('/proc', { HOME: join(directory, 'home') }),
    join(directory, 'home/.config/sass-edge/sass.edge.json'),
  )
  if (existsSync('/etc/sass-edge/sass.edge.json'))
    t.comment('skipped: this machine has a configuration in /etc')
  else t.equal(findConfig('/proc', { HOME: '/nonexistent' }), undefined)
})

t.test('does not use a configuration that somebody else put above the working directory', async (t) => {
  if (process.geteuid?.() !== 0) return t.comment('skipped: only root can give files away')
  const directory = t.testdir({ '.sass-edge': {}, work: {} })
  const path = join(directory, '.sass-edge/sass.edge.json')
  writeFileSync(path, '{}')
  chownSync(path, 65_534, 65_534)
  t.throws(() => findConfig(join(directory, 'work'), {}), {
    code: 'CONFIG_LOAD_FAILED',
    message: /belongs to another user.*--config/,
  })
})
