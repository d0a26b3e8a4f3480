import t, { type Test } from 'tap'
import { encodeFrame } from '../../src/wire/frame.ts'
import { executeRequest } from '../../src/wire/messages.ts'
import { outcome } from './agentic.node.ts'
import { client, question, questions } from './agents.node.ts'
import { framesIn, known } from './connections.node.ts'
import { type Json, startNew, until } from './daemon.node.ts'

const DENIED = 'CAPABILITY_CMD_DENIED'

/** What comes of each command on a daemon with these keys of `security`. */
async function came(t: Test, security: Json, lines: readonly (readonly string[])[]): Promise<string[]> {
  // The lists alone: what the rules that ship say of some of these lines is another matter.
  const daemon = await startNew(t, { security, policy: { default_rules: false } })
  const agent = await client(daemon)
  const ends: string[] = []
  for (const [command = '', ...args] of lines)
    ends.push(`${[command, ...args].join(' ')}: ${await outcome(agent.execute(command, args))}`)
  await agent.close()
  return ends
}

t.test('a shell runs where the switch and the list of commands both let it (OS-06, OS-07)', async (t) => {
  const lines = [['sh', '-c', 'true'], ['env', 'bash', '-c', 'true'], ['ls']]
  const [direct, beneath, other] = lines.map((line) => line.join(' '))
  t.strictSame(await came(t, {}, lines), [`${direct}: done`, `${beneath}: done`, `${other}: done`])
  const neither = [`${direct}: ${DENIED}`, `${beneath}: ${DENIED}`, `${other}: done`]
  t.strictSame(await came(t, { allow_shell: false }, lines), neither)
  t.strictSame(await came(t, { allow_shell: true, allowed_commands: ['ls', 'env', 'true'] }, lines), neither)
  t.strictSame(
    await came(t, { allow_shell: true, allowed_commands: [] }, lines),
    lines.map((line) => `${line.join(' ')}: ${DENIED}`),
    'without a list nothing is',
  )
})

t.test('a blocked command is refused in any spelling, where its program is allowed (OS-08)', async (t) => {
  const blocked = [
    ['rm', '-rf', 'build'],
    ['rm', '-fr', 'build'],
    ['rm', '-r', '-f', 'build'],
    ['rm', '--recursive', '--force', 'build'],
    ['sh', '-c', 'true; rm -f -R build'],
    ['mkfs', '/dev/none'],
    ['sh', '-c', ':(){ :|:& };:'],
    ['format', 'c:'],
  ]
  const passing = [
    ['rm', '-r', 'build'],
    ['rm', '-f', 'none'],
    ['echo', 'rm', '-rf', 'build'],
  ]
  const blocked_commands = ['rm -rf', 'mkfs', ':(){:|:&};:', 'format']
  t.strictSame(await came(t, { blocked_commands, allowed_commands: ['*'] }, [...blocked, ...passing]), [
    ...blocked.map((line) => `${line.join(' ')}: ${DENIED}`),
    ...passing.map((line) => `${line.join(' ')}: done`),
  ])
})

t.test(
  'an entry of several words permits that beginning of the arguments and no other (OS-09)',
  async (t) => {
    const lines = [
      ['git', 'status'],
      ['git', 'status', '--short'],
      ['git', 'stash'],
      ['git', '-C', '.', 'status'],
      ['git'],
      ['npm', 'test'],
    ]
    const allowed = await came(t, { allowed_commands: ['git status', 'ls'] }, lines)
    t.strictSame(
      allowed.map((line) => line.endsWith(': done')),
      [true, true, false, false, false, false],
      allowed.join('; '),
    )
  },
)

t.test(
  'with confirm_dangerous_actions what no list allows waits, an operator is told, and it runs on a yes alone (JF-011, JF-059, JF-071, JF-078, OS-10)',
  async (t) => {
    const daemon = await startNew(t, {
      security: { confirm_dangerous_actions: true, allowed_commands: ['true', 'ls'] },
      confirm: { timeout_seconds: 10 },
    })
    const agent = await client(daemon)
    const listed = async () => Buffer.from((await agent.execute('ls')).stdout).toString()
    t.equal(await outcome(agent.execute('true')), 'done', 'what is listed does not wait')
    const nobody = await daemon.cli(['confirm', 'approve', 'ab'.repeat(8), '--yes'])
    t.not(nobody.code, 0, 'an answer to no question has no effect')
    for (const answer of ['deny', 'silence', 'approve']) {
      const made = outcome(agent.execute('touch', ['made']))
      const { id } = await question(daemon)
      t.equal(await listed(), '', 'nothing is done yet')
      t.ok(
        daemon.log().some((line) => line.includes(id)),
        'the log tells of it at once',
      )
      if (answer !== 'silence') t.equal((await daemon.cli(['confirm', answer, id, '--yes'])).code, 0)
      t.equal(
        await made,
        { deny: 'CONFIRMATION_DENIED', silence: 'CONFIRMATION_TIMEOUT', approve: 'done' }[answer],
      )
      const told = () => daemon.audit().filter(({ type, id: of }) => type === 'confirmation' && of === id)
      await until('its records', () => told().length === 2)
      t.match(told()[1], { what: { deny: 'denied', silence: 'timed_out', approve: 'approved' }[answer] })
      t.not((await daemon.cli(['confirm', 'approve', id, '--yes'])).code, 0, 'and it is answered once')
    }
    t.equal(await listed(), 'made\n')
    await agent.close()
  },
)

t.test(
  'as it is installed a task has fifty commands, and a human says whether it goes on (OS-11)',
  async (t) => {
    const daemon = await startNew(t)
    const wire = await known(daemon)
    const ended = (stream: number) =>
      framesIn(wire.received()).find((frame) => frame.stream === stream && frame.kind !== 'MSG')
    let stream = 1
    const ask = (declared_goal: string) => {
      stream += 2
      wire.socket.write(
        encodeFrame(stream, 'OPEN', executeRequest.encode({ command: 'true', declared_goal }), 1),
      )
      return stream
    }
    for (let tick = 0; tick < 50; tick++) {
      const own = ask('count')
      await until(`the end of ${tick}`, () => ended(own) !== undefined)
      t.equal(ended(own)?.kind, 'END')
    }
    const over = ask('count')
    const { id, rule } = await question(daemon)
    t.equal(rule, 'quota.ticks_per_task')
    t.equal(ended(over), undefined, 'it is halted')
    const other = ask('another task')
    await until('its end', () => ended(other)?.kind === 'END')
    t.equal((await daemon.cli(['confirm', 'approve', id, '--yes'])).code, 0)
    await until('its end', () => ended(over)?.kind === 'END')
    t.same(await questions(daemon), [])
    const next = ask('count')
    await until('its end', () => ended(next)?.kind === 'END')
    wire.socket.destroy()
  },
)
