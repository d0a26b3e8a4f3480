/**
 * Who did what on whose behalf, with which tool and when: asked of a real record by each of these, and what was taken
 * out of it or changed in it afterwards shows.
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Client, connect } from '../../src/client/client.node.ts'
import { type Daemon, install, type Json, ON_REAL_FILES, sassEdge, startDaemon } from './daemon.node.ts'

type Record = { readonly timestamp: string; readonly event: Json }

function client({ port, fingerprint: pin, seed }: Daemon, agent: string): Promise<Client> {
  return connect({ host: '127.0.0.1', port, agent, privateKey: seed(agent), pin })
}

async function asked(directory: string, ...words: string[]): Promise<readonly Record[]> {
  const all = ['audit', 'tail', '-n', '1000', '--json', ...words]
  const { stdout, code, stderr } = await sassEdge(all, { cwd: directory })
  if (code !== 0) throw new Error(stderr)
  return (JSON.parse(stdout.toString()) as { records: Record[] }).records
}

t.test(
  'what was done is asked for by session, by whom it was done for, by agent, by tool and by time, and nothing of it can be taken back (JF-R04)',
  async (t) => {
    const directory = await install(t, { ...ON_REAL_FILES })
    for (const [name, ...more] of [['planner'], ['helper', '--delegated-by', 'planner'], ['loner']]) {
      const added = await sassEdge(['agent', 'add', name ?? '', ...more], { cwd: directory })
      if (added.code !== 0) throw new Error(added.stderr)
    }
    const daemon = await startDaemon(t, directory)
    const [helper, loner] = await Promise.all([client(daemon, 'helper'), client(daemon, 'loner')])
    await helper.execute('cat', ['/etc/hostname'])
    await helper.execute('touch', ['made'])
    const between = new Date().toISOString()
    await loner.execute('touch', ['other'])
    await daemon.stop()

    const every = await asked(directory)
    const executed = every.filter(({ event }) => event['action'] === 'execute')
    t.strictSame(
      executed.map(({ event }) => [
        event['agent'],
        event['acts_for'] ?? null,
        event['tool'],
        event['response'],
      ]),
      [
        ['helper', 'planner', 'Read', 'R1'],
        ['helper', 'planner', 'Write', 'R1'],
        ['loner', null, 'Write', 'R1'],
      ],
    )
    const [first, , last] = executed.map(({ event }) => event)
    /** The same as going through all of it. */
    const is = async (words: string[], fits: (record: Record) => boolean): Promise<number> => {
      const found = await asked(directory, ...words)
      t.strictSame(found, every.filter(fits), words.join(' '))
      return found.length
    }
    const session = String(first?.['session'])
    t.ok((await is(['--session', session], ({ event }) => event['session'] === session)) >= 5)
    t.ok((await is(['--for', 'planner'], ({ event }) => event['acts_for'] === 'planner')) >= 2)
    t.ok((await is(['--agent', 'helper'], ({ event }) => event['agent'] === 'helper')) >= 5)
    const instance = String(last?.['instance'])
    t.ok((await is(['--agent', instance], ({ event }) => event['instance'] === instance)) >= 2)
    t.equal(await is(['--tool', 'Write'], ({ event }) => event['tool'] === 'Write'), 2)
    t.ok((await is(['--since', between], ({ timestamp }) => timestamp >= between)) > 1)
    t.ok((await is(['--until', between], ({ timestamp }) => timestamp <= between)) > 5)
    t.equal((await asked(directory, '--agent', 'helper', '--tool', 'Write', '--for', 'planner')).length, 1)
    t.same(await asked(directory, '--agent', 'planner', '--tool', 'Read'), [], 'not what it had done for it')

    const told = await sassEdge(['audit', 'tail', '-n', '1', '--tool', 'Write'], { cwd: directory })
    t.match(
      told.stdout.toString(),
      /^1 more before these: ask for them with -n\.\n\d+ \S+ decision .*tool=Write/,
    )
    for (const [words, why] of [
      [['--tool', 'Wrote'], /There is no tool "Wrote": did you mean Write\?/],
      [['--since', 'yesterday'], /--since takes a day or a time with its zone/],
      [['--until', '2026-02-31T00:00'], /--until takes a day/],
    ] as const)
      t.match(await sassEdge(['audit', 'tail', ...words], { cwd: directory }), { code: 125, stderr: why })

    const path = join(directory, '.sass-edge/state/audit/audit.jsonl')
    const text = readFileSync(path, 'utf8')
    const lines = text.split('\n')
    const at = lines.findIndex(
      (line) => line.includes('"acts_for":"planner"') && line.includes('"tool":"Read"'),
    )
    const whole = async (changed: readonly string[]) => {
      writeFileSync(path, changed.join('\n'))
      const { stdout } = await sassEdge(['audit', 'verify', '--json'], { cwd: directory })
      return (JSON.parse(stdout.toString()) as Json)['ok']
    }
    const line = lines[at] ?? ''
    t.equal(await whole(lines), true)
    t.equal(await whole(lines.toSpliced(at, 1)), false, 'taken out')
    for (const [from, to] of [
      ['planner', 'plonker'],
      ['"tool":"Read"', '"tool":"Grep"'],
      ['"agent":"helper"', '"agent":"loner"'],
      [session, 'ab'.repeat(16)],
    ] as const)
      t.equal(await whole(lines.with(at, line.replace(from, to))), false, `${from} to ${to}`)
    t.equal(
      await whole(lines.with(at, line.replace(/"timestamp":"20/, '"timestamp":"19'))),
      false,
      'the time',
    )
    t.equal(await whole(lines), true)
  },
)
