/**
 * What a command may by its class and by the tier of whoever asks, as docs/responses.md has it in a table, decided by the
 * program as it is installed; and what a command really has where the network is off.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { TIER_NAMES } from '../../src/base/tool-name.ts'
import { exampleArgv } from '../../src/defense/13policy/rules/examples.ts'
import { outcome } from './agentic.node.ts'
import { client } from './agents.node.ts'
import { changeConfig, install, ROOT, sassEdge, startDaemon } from './daemon.node.ts'

t.setTimeout(120_000)

type Row = { readonly what: string; readonly example: string; readonly said: readonly string[] }

/** The rows of the table: of five tiers in three columns. */
function table(): readonly Row[] {
  const page = readFileSync(join(ROOT, 'docs/responses.md'), 'utf8')
  const lines = page.slice(page.indexOf('| class of command |')).split('\n\n')[0]?.split('\n').slice(2) ?? []
  return lines.map((line) => {
    const [, what = '', example = '', first = '', second = '', third = ''] = line
      .split('|')
      .map((cell) => cell.trim())
    return { what, example: example.replaceAll('`', ''), said: [first, second, third, second, third] }
  })
}

t.test(
  'a command is allowed, denied or put to a human by its class and the tier, the network being off and its words as they are (JF-033)',
  async (t) => {
    const directory = await install(t, {
      ...{ sandbox: { network: 'none' }, defense: { vi_swap: { hold_seconds: 1 } } },
    })
    for (const tier of TIER_NAMES)
      t.equal((await sassEdge(['agent', 'add', tier, '--tier', tier], { cwd: directory })).code, 0)
    const rows = table()
    t.equal(rows.length, 8)
    const decide = async (tier: string, { example }: Row) => {
      const words = ['policy', 'explain', '--json', '--as', tier, '--', ...exampleArgv(example)]
      const { response, reason } = JSON.parse((await sassEdge(words, { cwd: directory })).stdout.toString())
      if (response === 'R1 EXECUTE') return 'allow'
      return /A human is asked\.$/.test(reason) ? 'ask' : 'deny'
    }
    const check = async (some: readonly Row[]) => {
      for (const row of some) {
        const decided = await Promise.all(TIER_NAMES.map((tier) => decide(tier, row)))
        t.strictSame(decided, row.said, `${row.what}: ${row.example}`)
      }
    }
    await check(rows.filter(({ what }) => !what.endsWith('elsewhere')))

    const daemon = await startDaemon(t, directory)
    const agent = await client(daemon, 'T3')
    const printed = async (command: string, ...args: string[]) =>
      Buffer.from((await agent.execute(command, args)).stdout).toString()
    const devices = (await printed('cat', '/proc/net/dev')).matchAll(/^ *(\S+):/gm)
    t.strictSame(
      Array.from(devices, ([, name]) => name),
      ['lo'],
      'nothing but its own loopback',
    )
    t.not((await agent.execute('curl', ['-m', '5', 'https://deb.debian.org/'])).exitCode, 0)
    t.equal(await printed('echo', '$(id); `id` | id > x'), '$(id); `id` | id > x\n', 'no shell reads it')
    t.not(await outcome(agent.execute('ls\u200b', [])), 'done', 'a name that is not what it seems')
    await agent.close()
    await daemon.stop()

    changeConfig(directory, { sandbox: { require: 'none' } })
    await check(rows.filter(({ what }) => what.endsWith('elsewhere')))
  },
)
