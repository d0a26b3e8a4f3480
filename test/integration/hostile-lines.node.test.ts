/**
 * Command lines that are made to be slow to read, sent to a daemon that others work with: each is answered, none of them
 * by accident, and nobody else notices.
 * @module
 */
import t from 'tap'
import { type Client, connect } from '../../src/client/client.node.ts'
import { auditEvents, type Daemon, startNew } from './daemon.node.ts'

const SIZE = 60_000
const fill = (piece: string): string => piece.repeat(Math.floor(SIZE / piece.length))
const nest = (times: number, begin: string, end: string): string =>
  `${begin.repeat(times)}true${end.repeat(times)}`

/** Programs with their arguments, and texts of a shell. */
const COMMANDS: readonly (readonly string[])[] = [
  ['ruby', '-e', fill('(')],
  ['perl', '-e', fill('{')],
  ['python3', '-c', fill('[')],
  ['python3', '-c', `x=${fill("'a'+")}'a'`],
  ['php', '-r', fill('$a=$a.$a;')],
  ['node', '-e', fill('`${')],
  ['awk', fill('{')],
  ['awk', `BEGIN{${fill('print|"a";')}}`],
  ['sed', fill('{')],
  ['sed', fill('s/a/b/;')],
  ['psql', '-c', fill('/*')],
  ['vim', '-c', fill('silent! ')],
  ['git', ...Array.from({ length: 3_900 }, () => '-ca=!b')],
  ['env', ...Array.from({ length: 3_900 }, () => 'command')],
  ['find', '.', ...Array.from({ length: 1_300 }, () => ['-exec', 'a', ';']).flat()],
  ['xargs', ...Array.from({ length: 3_900 }, () => 'xargs')],
  ['make', '--eval', fill('$(shell a)')],
  ['tar', ...Array.from({ length: 3_000 }, () => '--to-command=a')],
]
const TEXTS: readonly string[] = [
  fill('command '),
  fill('$('),
  fill('('),
  fill('{'),
  fill('`'),
  fill('"$('),
  fill('a;'),
  fill('a|'),
  fill('a&&'),
  fill('<<E '),
  fill('$((1+'),
  fill('[[ a && '),
  fill('{a,b}'),
  fill('*[?]'),
  fill('eval '),
  fill('trap a EXIT;'),
  fill('x=$x$x;'),
  fill('alias a=a;a;'),
  fill('f(){ f;};f;'),
  fill('case x in a) '),
  fill('if a;then '),
  `a=a; ${'a=$a$a;'.repeat(64)} $a`,
  nest(64, 'for i in a b c; do ', '; done'),
  nest(400, 'sh -c "', '"'),
  nest(2_000, 'if true; then ', '; fi'),
  `${Array.from({ length: 3_000 }, (_, at) => `f${at}() { f${at + 1}; f${at + 1}; }`).join(';')}; f0`,
  `${Array.from({ length: 4_000 }, (_, at) => `v${at}=$v${at - 1}x`).join(';')}; $v3999`,
  `echo ${'{1..99999}'.repeat(8)} | sh`,
  `cat <<E | sh\n${fill('$(a)\n')}E\n`,
  `printf '%b' '${fill('\\061')}' | base64 -d | sh`,
]

function sessionOf(daemon: Daemon, agent: string): Promise<Client> {
  const { port, fingerprint: pin } = daemon
  return connect({ host: '127.0.0.1', port, agent, privateKey: daemon.seed(agent), pin })
}

t.test(
  'a line that is made to be slow is answered like any other, and read no further than others',
  async (t) => {
    const daemon = await startNew(t, {
      quota: { tool_timeout_seconds: 1 },
      confirm: { timeout_seconds: 1 },
      defense: { levels: { automatic: false }, deny_response: 'reason' },
    })
    const [agent, operator] = [await sessionOf(daemon, 'agent'), await sessionOf(daemon, 'operator')]
    t.teardown(() => Promise.all([agent.close(), operator.close()]))
    const all = [...COMMANDS, ...TEXTS.map((text) => ['sh', '-c', text])]
    t.ok(all.length >= 30)
    for (const [program = '', ...args] of all) {
      const name = `${program} ${args.join(' ').slice(0, 40)}`
      const answer = agent.execute(program, args).then(
        ({ exitCode, signal }) => `ended ${exitCode ?? signal}`,
        (error: { code?: string }) => `refused ${error.code}`,
      )
      await operator.ping()
      const said = await answer
      t.match(said, /^(?:ended|refused [A-Z])/, name)
      t.notMatch(said, /INTERNAL|UNAVAILABLE|LOST/, name)
    }
    const read = auditEvents(daemon.directory).filter(({ action }) => action === 'execute')
    t.ok(read.length >= all.length, 'each of them is in the record')
    t.ok(
      read.some((event) => event['opaque'] === 'limit'),
      'some were too much to read, which the record says',
    )
    t.equal(Buffer.from((await operator.execute('echo', ['there'])).stdout).toString(), 'there\n')
  },
)
