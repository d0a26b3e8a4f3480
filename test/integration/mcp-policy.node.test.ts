/**
 * `sass-edge mcp` and what the device decides: what lies in a branch, what policy refuses or a human is asked, and whose
 * key it is.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ON_REAL_FILES, startNew, until } from './daemon.node.ts'
import { startHost } from './mcp-host.node.ts'

t.test('what a session changes is in its branch, and branch_diff shows it', async (t) => {
  const daemon = await startNew(t)
  writeFileSync(join(daemon.workspace, 'real.txt'), 'real\n')
  const host = await startHost(t, daemon)
  const first = await host.call('execute', { command: ['true'] })
  if (first.data['error'] === 'SANDBOX_UNAVAILABLE')
    return t.comment(`skipped: this machine has no branches: ${first.data['message']}`)
  t.match((await host.call('branch_diff')).data, { changes: 0, conflicts: 0 })
  await host.call('write', { path: 'made.txt', content: 'new\n' })
  await host.call('execute', { command: ['sh', '-c', 'echo more >> real.txt; mkdir d; touch d/x d/y'] })
  t.match((await host.call('read', { path: 'real.txt' })).data, { content: 'real\nmore\n' })
  t.notOk(existsSync(join(daemon.workspace, 'made.txt')), 'nothing real has changed')
  const diff = await host.call('branch_diff')
  t.match(diff.data, { changes: 5, conflicts: 0, preview: false })
  t.match(diff.text, /sass-edge branch merge [0-9a-f]{8}(.|\n)*made\.txt/)
  t.notMatch(diff.text, /more/, 'no content')
  const some = await host.call('branch_diff', { paths: ['d'], form: 'stat' })
  t.match(some.data, { changes: 5, content: /d\/x/ })
  t.notMatch(some.data['content'], /made/)
  const piece = await host.call('branch_diff', { max_output_bytes: 10 })
  const rest = await host.call('branch_diff', { offset: piece.data['next_offset'] })
  t.equal(`${piece.data['content']}${rest.data['content']}`, diff.data['content'])
  const list = JSON.parse((await daemon.cli(['branch', 'list', '--json'])).stdout.toString())
  t.match(JSON.stringify(list), String(diff.data['branch']), 'an operator finds it by that name')

  const other = await startHost(t, daemon, ['--branch', 'new'])
  t.match((await other.call('branch_diff')).data, { changes: 0 }, 'another session has another one')
})

t.test('what policy refuses is not explained, unless the device does', async (t) => {
  const change = { ...ON_REAL_FILES, defense: { vi_swap: { hold_seconds: 2 }, levels: { automatic: false } } }
  const daemon = await startNew(t, change)
  const { call } = await startHost(t, daemon)
  for (const [name, args] of [
    ['execute', { command: ['cat', '/etc/shadow'] }],
    ['read', { path: '/etc/shadow' }],
    ['write', { path: '/etc/cron.d/x', content: '' }],
  ] as const) {
    const refused = await call(name, args)
    t.match(
      refused,
      { isError: true, data: { error: 'RESPONSE_VI_SWAP_ENGAGED', outcome: 'not_started' } },
      name,
    )
    t.match(refused.text, /does not say why/)
    t.notMatch(refused.text, /capability|rule|denied|allowed_paths/i)
  }
  const telling = await startNew(t, {
    ...ON_REAL_FILES,
    defense: { deny_response: 'reason', levels: { automatic: false } },
  })
  const told = await (await startHost(t, telling)).call('read', { path: '/etc/shadow' })
  t.match(told, { isError: true, text: /password hashes of the device/ })
})

t.test(
  'a device that never answers is not waited for without end, and the next call is as any',
  async (t) => {
    const daemon = await startNew(t, ON_REAL_FILES)
    const { call } = await startHost(t, daemon)
    const [file, job] = await Promise.all([
      call('read', { path: '/etc/shadow' }),
      daemon
        .cli(['level', 'set', 'agent', 'agent', 'CONTAIN'])
        .then(() => call('job_kill', { id: '0'.repeat(32) })),
    ])
    t.match(file, { isError: true, data: { error: 'NO_ANSWER', outcome: 'unknown' } })
    t.match(job, { isError: true, data: { error: 'NO_ANSWER' } })
    await daemon.cli(['level', 'set', 'agent', 'agent', 'NORMAL'])
    t.match(await call('execute', { command: ['rm', '-rf', '/'] }), {
      isError: true,
      data: { error: 'NO_ANSWER' },
    })
    await daemon.cli(['level', 'set', 'agent', 'agent', 'NORMAL'])
    t.match(await call('execute', { command: ['true'] }), { isError: false, data: { exit_code: 0 } })
  },
)

t.test('a human who is asked is waited for, and a no is an answer', async (t) => {
  const daemon = await startNew(t, {
    ...ON_REAL_FILES,
    security: { confirm_dangerous_actions: true, allowed_commands: ['true'] },
    defense: { vi_swap: { hold_seconds: 1 } },
  })
  const { call } = await startHost(t, daemon)
  const heard: string[] = []
  const going = call(
    'execute',
    { command: ['uname'] },
    { onprogress: ({ message = '' }) => heard.push(message) },
  )
  let id = ''
  await until('the question', async () => {
    const list = JSON.parse((await daemon.cli(['confirm', 'list', '--json'])).stdout.toString())
    id = list.confirmations?.[0]?.id ?? ''
    return id !== '' && heard.some((message) => message.includes('waits for a human'))
  })
  await daemon.cli(['confirm', 'approve', id, '--yes'])
  t.match(await going, { isError: false, data: { exit_code: 0 } })
})

t.test('an operator’s key is no key for a model, nor is one that the device does not know', async (t) => {
  const daemon = await startNew(t, ON_REAL_FILES)
  const { directory } = daemon
  await daemon.cli(['keygen', join(directory, 'boss')])
  await daemon.cli(['agent', 'add', 'boss', '--role', 'operator', '--key', join(directory, 'boss.pub')])
  await daemon.cli(['reload'])
  const operator = await daemon.cli(['mcp', '--agent', 'boss', '--key', join(directory, 'boss.key')], {
    input: '',
  })
  t.equal(operator.code, 125)
  t.match(operator.stderr, /key is an operator’s.*no model is given it.*agent add/)
  t.equal(operator.stdout.length, 0)
  await daemon.cli(['keygen', join(directory, 'nobody')])
  const nobody = await daemon.cli(['mcp', '--agent', 'nobody', '--key', join(directory, 'nobody.key')], {
    input: '',
  })
  t.equal(nobody.code, 255)
  t.match(nobody.stderr, /did not let this key in/)
  t.equal((await daemon.cli(['mcp', '--json'], { input: '' })).code, 125)
})
