/**
 * Terminals: a controlling one, its size, its keys, job control, an editor, the end.
 * @module
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { createSpawner } from '../../../src/sandbox/launcher/spawner.node.ts'
import { ENVIRONMENT, planFor, shell, sleep, start, until } from '../run-child.node.ts'

const spawner = await createSpawner()
t.teardown(() => spawner.close())
const terminal = { rows: 40, columns: 120 }
const key = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))

t.test(
  'a program with a terminal has it on all three descriptors and as its controlling one (SS-28)',
  async (t) => {
    const script =
      'for f in 0 1 2; do test -t $f && echo tty$f; done; echo by path >/dev/tty; stty size; ps -o sid=,tpgid= -p $$; echo $$'
    const { outcome } = start(spawner, shell(script, { terminal }))
    const { status, stdout, stderr, pid } = await outcome
    const lines = stdout.toString().split('\r\n')
    t.same(lines.slice(0, 5), ['tty0', 'tty1', 'tty2', 'by path', '40 120'])
    t.same(
      lines[5]?.trim().split(/\s+/).map(Number),
      [pid, pid],
      'leader of the session and of the foreground group',
    )
    t.same([status, stderr.length], [{ kind: 'exited', code: 0 }, 0], 'EIO is a normal end')
  },
)

t.test('resize gives the new size and SIGWINCH', async (t) => {
  const running = start(
    spawner,
    shell(`trap 'stty size; exit 5' WINCH; echo ready; while :; do sleep 0.02; done`, { terminal }),
  )
  await until(() => running.text().includes('ready'))
  running.child.resize(50, 133)
  const { status, stdout } = await running.outcome
  t.match(stdout.toString(), /50 133/)
  t.same(status, { kind: 'exited', code: 5 })
})

t.test('^C typed is SIGINT for the program in the foreground (SS-29)', async (t) => {
  const running = start(spawner, shell('echo ready; exec sleep 30', { terminal }))
  await until(() => running.text().includes('ready'))
  await sleep(50)
  running.child.writeStdin(key('\x03'))
  t.same((await running.outcome).status, { kind: 'signalled', signal: 2 })
})

t.test('endStdin is end of file, at the start of a line and within one', async (t) => {
  for (const text of ['line\n', 'line\nbegun']) {
    const running = start(spawner, shell('stty -echo; echo ready; cat; echo over', { terminal }))
    await until(() => running.text().includes('ready'))
    running.child.writeStdin(key(text))
    running.child.endStdin()
    const { status, stdout } = await running.outcome
    t.same(
      [status, stdout.toString().replaceAll('\r', '')],
      [{ kind: 'exited', code: 0 }, `ready\n${text}over\n`],
    )
  }
})

t.test('a shell has job control: ^Z stops, bg, fg and kill %1 work', async (t) => {
  const argv = ['bash', '--norc', '--noprofile', '-i']
  const running = start(
    spawner,
    planFor(argv, { file: '/bin/bash', terminal, environment: [...ENVIRONMENT, 'PS1=$ '] }),
  )
  const steps: [string, RegExp][] = [
    ['sleep 77\n', /sleep 77\r\n/],
    ['\x1a', /Stopped\s+sleep 77/],
    ['jobs; bg\n', /\[1\]\+ sleep 77 &/],
    ['fg\n', /\rsleep 77\r\n/],
    ['\x03', /\^C\r\n/],
    ['sleep 78 & \n', /\[1\] \d+/],
    ['kill %1; sleep 0.1; echo\n', /Terminated/],
    ['exit 9\n', /exit/],
  ]
  await until(() => running.text().endsWith('$ '))
  for (const [keys, expected] of steps) {
    const seen = running.text().length
    running.child.writeStdin(key(keys))
    const shown = await until(() => expected.test(running.text().slice(seen)))
    t.equal(shown, true, `${JSON.stringify(keys)} shows ${expected}`)
    await sleep(50)
  }
  t.same((await running.outcome).status, { kind: 'exited', code: 9 })
  t.notMatch(running.text(), /no job control|cannot set terminal process group/)
})

t.test('an editor starts, takes keys, writes its file and quits', async (t) => {
  const editor = ['/usr/bin/vim', '/usr/bin/vi'].find((path) => existsSync(path))
  if (editor === undefined) {
    t.comment('skipped: no vim is here')
    t.pass()
    return
  }
  const cwd = t.testdir({})
  const running = start(
    spawner,
    planFor([editor, '-u', 'NONE', '-i', 'NONE', '-n', 'text'], { terminal, cwd }),
  )
  await until(() => running.text().includes('~'))
  running.child.writeStdin(key('iGrüße aus vim'))
  await sleep(200)
  running.child.writeStdin(key('\x1b'))
  await sleep(50)
  running.child.writeStdin(key(':wq\r'))
  t.same((await running.outcome).status, { kind: 'exited', code: 0 })
  t.equal(readFileSync(`${cwd}/text`, 'utf8'), 'Grüße aus vim\n')
})

t.test('erase takes whole characters of UTF-8', async (t) => {
  const running = start(
    spawner,
    shell('stty -echo; echo ready; read line; printf "[%s]" "$line"', { terminal }),
  )
  await until(() => running.text().includes('ready'))
  running.child.writeStdin(key('aü\x7fb\n'))
  t.match((await running.outcome).stdout.toString(), /\[ab\]$/)
})

t.test('a megabyte pasted into a raw terminal arrives whole, and the writer waits', async (t) => {
  const block = new Uint8Array(65_536).fill(0x61)
  let waits = 0
  let left = 16
  const write = (): void => {
    while (left > 0) {
      left -= 1
      if (!running.child.writeStdin(block)) {
        waits += 1
        return
      }
    }
  }
  const running = start(
    spawner,
    shell('stty raw -echo; echo ready; sleep 0.2; head -c 1048576 | sha256sum', { terminal }),
    {
      stdinDrained: () => write(),
    },
  )
  await until(() => running.text().includes('ready'))
  write()
  const { status, stdout } = await running.outcome
  t.same(status, { kind: 'exited', code: 0 })
  t.match(stdout.toString(), /9bc1b2a288b26af7257a36277ae3816a7d4f16e89c1e7e77d0a5c48bad62b360/)
  t.ok(waits > 0, `the writer waited ${waits} times`)
})

t.test('much output of a terminal arrives whole', async (t) => {
  const { outcome } = start(spawner, shell('stty -opost; yes 0123456789 | head -c 8388608', { terminal }))
  t.equal((await outcome).stdout.length, 8_388_608)
})

t.test('a paused terminal holds the program back and goes on', async (t) => {
  let bytes = 0
  const running = start(spawner, shell('exec yes', { terminal }), {
    output: (_, chunk) => {
      bytes += chunk.length
    },
  })
  await until(() => bytes > 100_000)
  running.child.pause(0)
  const atPause = bytes
  await sleep(100)
  t.equal(bytes, atPause)
  running.child.resume(0)
  t.equal(await until(() => bytes > atPause + 100_000), true)
  running.child.killTree()
  t.same((await running.outcome).status, { kind: 'signalled', signal: 9 })
})

t.test('the end of a shell hangs up what it left on the terminal', async (t) => {
  const running = start(spawner, shell('sleep 60 & echo $!; exit 4', { terminal }))
  const { status, stdout } = await running.outcome
  t.same(status, { kind: 'exited', code: 4 })
  const pid = Number(stdout.toString())
  t.equal(
    await until(
      () => !existsSync(`/proc/${pid}`) || / [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')),
    ),
    true,
  )
})

t.test('fifty terminals leave no descriptor', async (t) => {
  const count = (): number => readdirSync('/proc/self/fd').length
  const before = count()
  await Promise.all(
    Array.from({ length: 50 }, () => start(spawner, shell('stty size', { terminal })).outcome),
  )
  t.equal(await until(() => count() === before), true)
})
