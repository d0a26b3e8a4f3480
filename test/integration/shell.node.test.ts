/**
 * The command line on a terminal, with a real daemon: keys, size, an editor, exit codes, and a terminal that is left as
 * it was found.
 * @module
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createSpawner } from '../../src/sandbox/launcher/spawner.node.ts'
import { planFor, start, until } from '../sandbox/run-child.node.ts'
import { type Daemon, environment, ON_REAL_FILES, PROGRAM, sleep, startNew } from './daemon.node.ts'

const ROWS = 30
const COLUMNS = 100
/** Its terminals stand for the one that a person sits at. */
const spawner = await createSpawner()
t.teardown(() => spawner.close())
const daemon = await startNew(t, ON_REAL_FILES)

/** Runs a program of this machine on a terminal, in the daemon's directory. */
function onTerminal(argv: readonly string[], at: Daemon = daemon) {
  const variables = Object.entries(
    environment(at.directory, { TERM: 'xterm', PS1: '$ ', SASS_EDGE: PROGRAM }),
  )
  const { child, outcome, text } = start(
    spawner,
    planFor(argv, {
      environment: variables.map(([name, value]) => `${name}=${value}`),
      cwd: at.directory,
      terminal: { rows: ROWS, columns: COLUMNS },
    }),
  )
  return {
    child,
    outcome,
    text,
    type: (keys: string) => child.writeStdin(new Uint8Array(Buffer.from(keys))),
    shows: async (pattern: RegExp): Promise<void> => {
      const isShown = await until(() => pattern.test(text()))
      if (!isShown) throw new Error(`${pattern} never came, only ${JSON.stringify(text())}`)
    },
  }
}

const SHELL = [PROGRAM, 'shell', '--', 'sh'] as const

t.test('a shell shows what is typed, runs it, and its exit code passes', async (t) => {
  const person = onTerminal(SHELL)
  await person.shows(/[$#] $/)
  person.type('echo a$((1 + 1))b; test -t 0 && echo tty; exit 7\r')
  const { status } = await person.outcome
  t.match(person.text(), /exit 7\r\n/, 'the keys are echoed by the remote terminal')
  t.match(person.text(), /a2b\r\ntty\r\n/)
  t.same(status, { kind: 'exited', code: 7 })
  const named = onTerminal([PROGRAM, 'shell'])
  await named.shows(/[$#] $/)
  named.type('\x04')
  t.same((await named.outcome).status, { kind: 'exited', code: 0 }, '^D ends the shell that nobody named')
})

t.test('the size and the kind of the terminal arrive, and every change of the size', async (t) => {
  const person = onTerminal(SHELL)
  await person.shows(/[$#] $/)
  person.type('stty size; echo =$TERM=\r')
  await person.shows(new RegExp(`${ROWS} ${COLUMNS}\r\n=xterm=`))
  person.child.resize(50, 133)
  for (let tries = 0; !/50 133/.test(person.text()) && tries < 20; tries++) {
    person.type('stty size\r')
    await person.shows(/\d+ \d+\r\n[$#] $/)
    // What it shows may be the answer to the time before.
    await sleep(100)
  }
  t.match(person.text(), /50 133/)
  person.type('exit\r')
  t.same((await person.outcome).status, { kind: 'exited', code: 0 })
})

t.test('^C interrupts what runs in the shell, and the shell goes on', async (t) => {
  const person = onTerminal(SHELL)
  await person.shows(/[$#] $/)
  person.type('echo begun; sleep 60\r')
  await person.shows(/\nbegun\r\n/)
  const begin = performance.now()
  person.type('\x03')
  await person.shows(/\^C[\s\S]*[$#] $/)
  t.ok(performance.now() - begin < 20_000)
  person.type('echo still; exit 3\r')
  t.same((await person.outcome).status, { kind: 'exited', code: 3 })
  t.match(person.text(), /\nstill\r\n/)
})

t.test('an editor opens, writes and quits', async (t) => {
  if (!existsSync('/usr/bin/vim')) {
    t.comment('skipped: vim is not here')
    t.pass()
    return
  }
  const person = onTerminal([PROGRAM, 'shell', '--', 'vim', '-u', 'NONE', '-N', 'note'])
  await person.shows(/"note"/)
  person.type('iwritten far away\x1b')
  await person.shows(/written far away/)
  person.type(':wq\r')
  t.same((await person.outcome).status, { kind: 'exited', code: 0 })
  t.equal(readFileSync(join(daemon.workspace, 'note'), 'utf8'), 'written far away\n')
})

t.test('exec has a terminal with --pty and none without (SS-28)', async (t) => {
  const script = 'for f in 0 1 2; do test -t $f && echo tty$f; done; echo over'
  const without = onTerminal([PROGRAM, 'exec', '--', 'sh', '-c', script])
  await without.outcome
  t.equal(without.text(), 'over\r\n')
  const withOne = onTerminal([PROGRAM, 'exec', '--pty', '--', 'sh', '-c', script])
  await withOne.outcome
  t.equal(withOne.text(), 'tty0\r\ntty1\r\ntty2\r\nover\r\n')
  const piped = await daemon.cli(['exec', '--pty', '--', 'sh', '-c', 'test -t 0 && stty size'])
  t.equal(piped.stdout.toString(), '24 80\r\n', 'without a terminal here it has the usual size')
})

/** Around a command: whether the terminal is as it was before. */
const AROUND = (command: string): string =>
  `before=$(stty -g); ${command}; echo rc=$?; [ "$before" = "$(stty -g)" ] && echo as before`

t.test('the terminal is as it was, whatever the end', async (t) => {
  const ended = onTerminal(['/bin/sh', '-c', AROUND('"$SASS_EDGE" shell -- sh -c "exit 5"')])
  await ended.outcome
  t.match(ended.text(), /rc=5\r\nas before\r\n/)
  const failed = onTerminal(['/bin/sh', '-c', AROUND('"$SASS_EDGE" shell -- ./no-such-program')])
  await failed.outcome
  t.match(failed.text(), /sass-edge: [^\n]*\nrc=127\r\nas before\r\n/)
  const other = await startNew(t, ON_REAL_FILES)
  const lost = onTerminal(
    ['/bin/sh', '-c', AROUND('"$SASS_EDGE" shell --reconnect 0 -- sh -c "echo up; sleep 2"')],
    other,
  )
  await lost.shows(/up\r\n/)
  other.signal('SIGKILL')
  await lost.outcome
  t.match(lost.text(), /sass-edge: [^\n]*\nrc=254\r\nas before\r\n/)
})
