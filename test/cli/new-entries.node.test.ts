/**
 * What is added by one entry of data: a pattern is a rule in a file, a tool from outside a pinned program in the
 * configuration, a tier a line of the table of tiers. Nothing else of the program knows of any of them.
 * @module
 */
import { createHash } from 'node:crypto'
import { cpSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { temporary } from '../integration/daemon.node.ts'
import { runMain } from './run-main.node.ts'

const ROOT = join(import.meta.dirname, '../..')
const TABLE = 'src/base/tool-name.ts'

/** An installation whose configuration is changed so; says what would become of a command of its agent. */
async function installed(t: Test, change: (directory: string, agent: object) => object, main?: string) {
  const directory = temporary(t)
  await runMain(directory, ['init', '.', '--port', '0'], {}, main)
  const path = join(directory, 'sass.edge.json')
  const config = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...config, ...change(directory, config.agents[0]) }))
  return async (...command: string[]) => {
    const words = ['policy', 'explain', '--config', path, '--json', '--', ...command]
    const { stdout } = await runMain(directory, words, {}, main)
    const { response, rule } = JSON.parse(stdout)
    return response === undefined ? stdout : `${response} ${rule}`
  }
}

t.test('a pattern, a tier and a tool from outside are one entry each, and no code (JF-N15)', async (t) => {
  await t.test('a pattern', async (t) => {
    const rule = {
      ...{ id: 'own.brew', argv: { program: ['brew-coffee'] }, action: 'deny', severity: 'high' },
      ...{ description: 'Coffee is made.', why: 'This device makes none; make it by hand.' },
      examples: { match: ['brew-coffee now'], pass: ['brew-tea now'] },
    }
    const explain = await installed(t, (directory) => {
      const rules_file = join(directory, 'rules.json')
      writeFileSync(rules_file, JSON.stringify({ rules: [rule] }))
      return { policy: { rules_file } }
    })
    t.match(await explain('sudo', 'brew-coffee'), /^R4.* own\.brew$/)
    t.notMatch(await explain('sudo', 'brew-tea'), 'own.brew')
  })

  await t.test('a tool from outside', async (t) => {
    const path = realpathSync('/bin/cat')
    const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex')
    const pinned = (executables: readonly object[]) => () => ({
      security: { executables, pinned_only: true },
    })
    const without = await installed(t, pinned([]))
    t.notMatch(await without(path, 'file'), /^R1/)
    const explain = await installed(t, pinned([{ path, sha256 }]))
    t.match(await explain(path, 'file'), /^R1/)
    t.notMatch(await explain(realpathSync('/bin/ls')), /^R1/)
  })

  await t.test('a tier', async (t) => {
    const copy = temporary(t)
    for (const name of ['src', 'package.json', 'sass.edge.json'])
      cpSync(join(ROOT, name), join(copy, name), { recursive: true })
    for (const name of ['node_modules', 'dist', 'firewall', 'policy'])
      symlinkSync(join(ROOT, name), join(copy, name))
    const table = readFileSync(join(copy, TABLE), 'utf8')
    const more = table.replace(/T5 \}\)/, "T5, T6: ['Read', 'WebFetch'] as const })")
    t.not(more, table, 'the table has one entry more')
    writeFileSync(join(copy, TABLE), more)

    const change = (_directory: string, agent: object) => ({ agents: [{ ...agent, tier: 'T6' }] })
    t.match(await (await installed(t, change))('cat', 'file'), 'agents[0].tier')
    const explain = await installed(t, change, join(copy, 'src/main.ts'))
    for (const [command, response] of [
      ['cat file', /^R1/],
      ['curl -s http://example.org/', /^(R1|R3)/],
      ['ls', /^R4.* tools\.T6$/],
      ['touch file', /^R4.* tools\.T6$/],
    ] as const)
      t.match(await explain(...command.split(' ')), response, command)
  })
})
