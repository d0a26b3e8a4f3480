import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { renderConfigManual, renderProgramManual } from '../../build/manual.ts'
import { loadCommands } from '../../src/cli/commands.node.ts'
import { optionSpecs } from '../../src/cli/words/arguments.ts'

const directory = join(import.meta.dirname, '../../docs/man')
const read = (name: string) => readFileSync(join(directory, name), 'utf8')
const NAMES = ['sass-edge.1', 'sass-edge.json.5']

t.test('the pages are what the tables make of them (else run node build/manual.node.ts)', async (t) => {
  t.equal(read('sass-edge.1'), renderProgramManual(await loadCommands()))
  t.equal(read('sass-edge.json.5'), renderConfigManual())
})

const hasMandoc = spawnSync('mandoc', ['/dev/null']).error === undefined

t.test('mandoc has nothing to say about them', { skip: !hasMandoc && 'no mandoc here' }, async (t) => {
  for (const name of NAMES) {
    const { status, stdout } = spawnSync('mandoc', ['-T', 'lint', '-W', 'warning', join(directory, name)], {
      encoding: 'utf8',
    })
    t.strictSame([status, stdout], [0, ''], name)
  }
})

t.test(
  'what a reader sees has every command, option and example',
  { skip: !hasMandoc && 'no mandoc here' },
  async (t) => {
    const run = spawnSync('mandoc', ['-T', 'ascii', '-O', 'width=1000', join(directory, 'sass-edge.1')], {
      encoding: 'utf8',
    })
    // Terminals strike bold letters twice.
    const seen = run.stdout.replace(/.[\b]/g, '')
    for (const command of await loadCommands()) {
      for (const form of command.usage) t.ok(seen.includes(`sass-edge ${form}\n`), form)
      for (const line of Object.keys(command.examples)) t.ok(seen.includes(line), line)
      for (const { name } of optionSpecs(command.options))
        t.ok(seen.includes(`--${name}`), `${command.name} --${name}`)
    }
  },
)
