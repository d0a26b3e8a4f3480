/**
 * The operator beside a running daemon: questions and answers, levels, penalties, explanations, reload, and what a
 * person at a terminal sees while a command waits.
 * @module
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connect } from '../../src/client/client.node.ts'
import {
  changeConfig,
  collect,
  configPath,
  type Daemon,
  environment,
  install,
  PROGRAM,
  startDaemon,
  startNew,
  until,
} from './daemon.node.ts'

type Question = {
  readonly id: string
  readonly digest: string
  readonly shown: { action: { argv: string[] } }
}

const text = async (daemon: Daemon, ...words: string[]) => (await daemon.cli(words)).stdout.toString()
const json = async (daemon: Daemon, ...words: string[]) => JSON.parse(await text(daemon, ...words, '--json'))

async function questions(daemon: Daemon): Promise<readonly Question[]> {
  return (await json(daemon, 'confirm', 'list')).confirmations
}

/** Waits for the one question that must be there. */
async function question(daemon: Daemon): Promise<Question> {
  let found: Question | undefined
  await until('a question', async () => {
    found = (await questions(daemon))[0]
    return found !== undefined
  })
  if (found === undefined) throw new Error('no question')
  return found
}

/** A daemon with a file that holds a secret in its workspace. */
async function withSecret(t: Test): Promise<Daemon> {
  const daemon = await startNew(t, { defense: { vi_swap: { hold_seconds: 1 } } })
  writeFileSync(join(daemon.workspace, '.env'), 'TOKEN=1\n')
  return daemon
}

t.test(
  'a question is listed, answered with what was shown, and the command goes on or is refused',
  async (t) => {
    const daemon = await withSecret(t)
    const first = daemon.cli(['exec', '--', 'cat', '.env'])
    const { id, shown } = await question(daemon)
    t.strictSame(shown.action.argv, ['cat', '.env'])
    const list = await text(daemon, 'confirm', 'list')
    t.match(list, /^ID +AGENT +WAITS +RULE$/m)
    t.match(list, new RegExp(`^${id.slice(0, 8)} +agent +\\d+s +specifics sensitive_files$`, 'm'))
    t.match(list, /^ {4}cat \.env$/m)
    t.match(list, `sass-edge confirm approve ${id.slice(0, 8)}`)

    t.match(await daemon.cli(['confirm', 'approve', id]), { code: 125, stderr: /Nobody said yes/ })
    t.match(await daemon.cli(['confirm', 'approve', '00000000', '--yes']), {
      code: 255,
      stderr: /No question/,
    })
    t.equal((await questions(daemon)).length, 1, 'it still waits')
    const approved = await daemon.cli(['confirm', 'approve', id.slice(0, 6), '--yes'])
    t.match(approved, {
      code: 0,
      stderr: /^agent asks for this and waits for \d+ seconds more:\n\n {2}cat \.env\n/,
    })
    t.match(await first, { code: 0 })
    t.equal((await first).stdout.toString(), 'TOKEN=1\n')
    t.match(await daemon.cli(['confirm', 'approve', id, '--yes']), { code: 255, stderr: /No question/ })

    const second = daemon.cli(['exec', '--', 'cat', '.env'])
    const other = await question(daemon)
    t.match(
      JSON.parse((await daemon.cli(['confirm', 'deny', other.id, '--yes', '--json'])).stdout.toString()),
      {
        id: other.id,
        approved: false,
        digest: other.digest,
      },
    )
    t.equal((await second).code, 255)
    t.notMatch((await second).stdout.toString(), 'TOKEN')
    t.match(
      daemon.audit().filter(({ type }) => type === 'confirmation'),
      [
        { what: 'asked' },
        { what: 'approved', by: 'admin' },
        { what: 'asked' },
        { what: 'denied', by: 'admin' },
      ],
    )
    t.match(await text(daemon, 'confirm', 'list'), 'Nothing waits for an answer.')
  },
)

t.test('an answer to something else than what is asked is not taken', async (t) => {
  const daemon = await withSecret(t)
  const running = daemon.cli(['exec', '--', 'cat', '.env'])
  const { id } = await question(daemon)
  const operator = await connect({ socketPath: daemon.adminSocket })
  t.match(await operator.operator.answerConfirmation(id, true, 'ab'.repeat(32)), {
    success: false,
    message: /digest/,
  })
  const { confirmations } = await operator.operator.confirmations()
  t.equal(confirmations.length, 1)
  t.match(await operator.operator.answerConfirmation(id, false, confirmations[0]?.digest ?? ''), {
    success: true,
  })
  await operator.close()
  t.equal((await running).code, 255)
})

t.test('^C takes a command back that waits, and the question with it', async (t) => {
  const daemon = await withSecret(t)
  const child = spawn(PROGRAM, ['exec', '--', 'cat', '.env'], {
    cwd: daemon.directory,
    env: environment(daemon.directory),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = collect(child)
  await question(daemon)
  child.kill('SIGINT')
  t.match(await ended, { code: 255, stderr: /taken back before it began; nothing was started/ })
  t.strictSame(await questions(daemon), [])
  t.equal(
    daemon.audit().some(({ type }) => type === 'execution_ended'),
    false,
  )
})

t.test('nothing in a question steers the terminal of the operator', async (t) => {
  const daemon = await withSecret(t)
  const evil = '\u001b[2J\u001b]0;owned\u0007\r\u202e'
  const running = daemon.cli(['exec', '--', 'cat', '.env', evil])
  const { id } = await question(daemon)
  const list = await text(daemon, 'confirm', 'list')
  const shown = (await daemon.cli(['confirm', 'deny', id, '--yes'])).stderr
  for (const written of [list, shown]) {
    t.match(written, '\\x1b[2J')
    t.notMatch(written.replaceAll('\n', ''), /[\p{C}\p{Zl}\p{Zp}]/u)
  }
  await running
})

t.test('levels are set with a reason, shown, and hold', async (t) => {
  const daemon = await startNew(t, { defense: { vi_swap: { hold_seconds: 1 } } })
  t.equal(await text(daemon, 'level', 'show'), 'Everybody is at NORMAL.\n')
  t.equal((await daemon.cli(['level', 'set', 'agent', 'agent', 'contain', '--why', 'odd pushes'])).code, 0)
  t.match(
    await text(daemon, 'level', 'show'),
    /^agent +agent +CONTAIN +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ +odd pushes$/m,
  )
  t.match(await json(daemon, 'level', 'show'), {
    levels: [{ scope: 'agent', name: 'agent', level: 'CONTAIN', why: 'odd pushes' }],
    incident: null,
  })
  t.equal((await daemon.cli(['exec', '--', 'true'])).code, 255)
  t.equal((await daemon.cli(['level', 'set', 'agent', 'agent', 'NORMAL'])).code, 0)
  t.equal((await daemon.cli(['exec', '--', 'true'])).code, 0)
})

t.test('penalties are listed and lifted', async (t) => {
  const daemon = await startNew(t, {
    acl: { penalties: { exempt: [], min_seconds: 600 } },
    defense: { tarpit: { total_bytes: 1_024, chunk_bytes: 1_024, delay_ms: 1 } },
  })
  t.equal(await text(daemon, 'penalties', 'list'), 'Nobody is kept out.\n')
  const { port, fingerprint: pin } = daemon
  const stranger = connect({
    host: '127.0.0.1',
    port,
    agent: 'agent',
    privateKey: new Uint8Array(32).fill(9),
    pin,
  })
  await t.rejects(stranger, { code: 'CONNECT_FAILED' })
  t.match(await text(daemon, 'penalties', 'list'), /^127\.0\.0\.1 +\d+s +counted +auth_failed$/m)
  t.match(await daemon.cli(['penalties', 'clear', '127.0.0.1']), { code: 0, stdout: /1 penalty was lifted/ })
  t.equal(await text(daemon, 'penalties', 'list'), 'Nobody is kept out.\n')
  t.match(await text(daemon, 'penalties', 'clear'), /0 penalties were lifted/)
})

t.test(
  'a refusal is explained in words while the daemon remembers it, and from its record afterwards',
  async (t) => {
    const daemon = await startNew(t, {
      capabilities: { default: { denied_commands: ['rm'] } },
      defense: { vi_swap: { hold_seconds: 1 } },
    })
    t.equal((await daemon.cli(['exec', '--', 'rm', 'it’s \u001b[2J'])).code, 255)
    const refusal = daemon.audit().find(({ response }) => response === 'R4')
    const seq = String(refusal?.['seq'])
    const told = await text(daemon, 'why', seq)
    for (const part of [
      /^asked +rm 'it’s \\x1b\[2J'$/m,
      /^would run +rm /m,
      /^response +R4 VI_SWAP$/m,
      /^decided by +capability, default\.denied_commands$/m,
      /^what to do +Add the command/m,
      /^who +agent, from 127\.0\.0\.1$/m,
    ])
      t.match(told, part)
    t.match(await json(daemon, 'why', seq), { seq: Number(seq), from: 'daemon', agent: 'agent' })
    t.match(await daemon.cli(['why', '1']), { code: 0, stdout: /Record 1 is no decision but: daemon/ })
    t.match(await daemon.cli(['why', '99999']), { code: 125, stderr: /no record 99999/ })
    await daemon.stop()
    const read = await text(daemon, 'why', seq)
    t.match(read, /^asked +execute, of which the record has the digest [0-9a-f]{64} alone$/m)
    t.match(read, /^what to do +Add the command/m)
  },
)

t.test('a new configuration holds after reload and after SIGHUP; a wrong one changes nothing', async (t) => {
  const daemon = await startNew(t, { defense: { vi_swap: { hold_seconds: 1 } } })
  const device = await connect({
    host: '127.0.0.1',
    port: daemon.port,
    agent: 'agent',
    privateKey: daemon.seed(),
    pin: daemon.fingerprint,
  })
  const reloads = () => daemon.audit().filter(({ what }) => what === 'reloaded')
  t.equal((await device.execute('true')).exitCode, 0)
  changeConfig(daemon.directory, { capabilities: { default: { denied_commands: ['true'] } } })
  t.equal((await device.execute('true')).exitCode, 0, 'not before somebody says so')
  t.match(await daemon.cli(['reload']), { code: 0, stdout: /^The policy is [0-9a-f]{16} now/ })
  await t.rejects(
    device.execute('true'),
    { code: 'RESPONSE_VI_SWAP_ENGAGED' },
    'also for sessions that go on',
  )

  const good = readFileSync(configPath(daemon.directory), 'utf8')
  writeFileSync(configPath(daemon.directory), good.replace('"denied_commands"', '"denied_comands"'))
  t.match(await daemon.cli(['reload']), { code: 125, stderr: /denied_comands/ })
  await t.rejects(device.execute('true'), { code: 'RESPONSE_VI_SWAP_ENGAGED' }, 'the old one holds')

  writeFileSync(configPath(daemon.directory), good)
  changeConfig(daemon.directory, { capabilities: { default: { denied_commands: [] } } })
  daemon.signal('SIGHUP')
  await until('the new configuration', () => reloads().length === 2)
  t.equal((await device.execute('true')).exitCode, 0)
  await device.close()
})

t.test('a daemon that was halted starts again for whoever names the incident', async (t) => {
  const directory = await install(t)
  const daemon = await startDaemon(t, directory)
  t.equal((await daemon.cli(['level', 'set', 'daemon', 'HALT', '--why', 'drill'])).code, 0)
  const shown = await json(daemon, 'level', 'show')
  t.match(shown, { levels: [{ scope: 'daemon', level: 'HALT' }], incident: /^[0-9a-f]{64}$/ })
  t.match(await daemon.cli(['level', 'set', 'daemon', 'NORMAL']), {
    code: 125,
    stderr: /--ack-incident [0-9a-f]{64}/,
  })
  await daemon.stop()
  t.match(await daemon.cli(['run']), { code: 125, stderr: new RegExp(`--ack-incident ${shown.incident}`) })
  const again = spawn(PROGRAM, ['run', '--json', '--ack-incident', shown.incident], {
    cwd: directory,
    env: environment(directory),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = collect(again)
  t.teardown(() => again.kill('SIGKILL'))
  await until(
    'a daemon that serves',
    async () => (await daemon.cli(['exec', '--', 'true'])).code === 0,
    15_000,
  )
  again.kill('SIGTERM')
  t.equal((await ended).code, 0)
})

t.test('whoever waits at a terminal is told what for, on one line; in a pipe nothing is said', async (t) => {
  if (!existsSync('/usr/bin/script'))
    return t.comment('skipped: script(1), which makes a terminal, is not here')
  const daemon = await startNew(t, { capabilities: { default: { max_concurrent: 1 } } })
  writeFileSync(join(daemon.workspace, '.env'), 'TOKEN=1\n')
  const device = await connect({
    host: '127.0.0.1',
    port: daemon.port,
    agent: 'agent',
    privateKey: daemon.seed(),
    pin: daemon.fingerprint,
  })
  const blocker = device.stream('sleep', ['600'], { output() {} })
  await blocker.started
  const atTerminal = (command: string) => {
    const child = spawn('/usr/bin/script', ['-qec', `${PROGRAM} ${command}`, '/dev/null'], {
      cwd: daemon.directory,
      env: environment(daemon.directory),
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let seen = ''
    child.stdout.on('data', (bytes: Buffer) => {
      seen += bytes.toString()
    })
    return { ended: collect(child), seen: () => seen }
  }
  const queued = atTerminal('exec -- echo done')
  await until('a place', () => queued.seen().includes('sass-edge: waiting in the queue, place 1'))
  const piped = daemon.cli(['exec', '--', 'echo', 'piped'])
  await until(
    'two commands that wait',
    () => daemon.audit().filter(({ response }) => response === 'R3').length >= 2,
  )
  await device.cancel(blocker.id)
  t.equal((await queued.ended).code, 0)
  t.ok(queued.seen().endsWith('place 1\r\u001b[Kdone\r\n'), 'the line is gone when the output comes')
  t.match(await piped, { code: 0, stderr: '' })
  const asked = atTerminal('exec -- cat .env')
  await until('an operator', () => asked.seen().includes('waiting for an operator (sass-edge confirm list)'))
  const { id } = await question(daemon)
  t.equal((await daemon.cli(['confirm', 'approve', id, '--yes'])).code, 0)
  await asked.ended
  t.match(asked.seen(), /TOKEN=1\r\n$/)
  await device.close()
})
