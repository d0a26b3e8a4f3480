import { existsSync } from 'node:fs'
import t from 'tap'
import { runMain } from '../run-main.node.ts'

t.test(
  'where no configuration is, one sentence says where it was looked for and how to make one',
  async (t) => {
    if (existsSync('/etc/sass-edge/sass.edge.json'))
      return t.comment('skipped: this machine has a configuration in /etc')
    const run = await runMain('/proc', ['config', 'show'])
    t.match(run, {
      code: 125,
      stderr: /^sass-edge: There is no configuration in \/proc.*: make one with sass-edge init.*\n$/,
    })
  },
)

t.test('a configuration that init DIRECTORY made there is not taken by itself, but told', async (t) => {
  if (existsSync('/etc/sass-edge/sass.edge.json'))
    return t.comment('skipped: this machine has a configuration in /etc')
  const directory = t.testdir({ 'sass.edge.json': '{}' })
  t.match(await runMain(directory, ['status']), {
    code: 125,
    stderr: /but there is \S+\/sass\.edge\.json.*: add --config sass\.edge\.json if you mean that one\.\n$/,
  })
})

t.test('a word too many is refused before anything is read, and before -- or after it', async (t) => {
  const directory = t.testdir({})
  t.match(await runMain(directory, ['check', 'twice']), {
    code: 125,
    stderr: /"twice" is one word too many: see --help/,
  })
  t.match(await runMain(directory, ['check', '--', 'ls']), { code: 125, stderr: /"ls" is one word too many/ })
})
