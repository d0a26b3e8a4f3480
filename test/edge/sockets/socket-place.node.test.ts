import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { claimSocket } from '../../../src/edge/sockets/socket-place.node.ts'

const WHAT = { name: 'admin socket', field: 'listen.admin_socket' }

/** A path that is short enough for a socket (unix(7): 107 bytes). */
function placeFor(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'sass-edge-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  return join(directory, 'admin.sock')
}

/** A process that listens there: it is there when this resolves. */
async function listens(t: Test, path: string) {
  const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log())`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

t.test('the directory is made, and what is no socket is nobody’s to remove', async (t) => {
  const directory = t.testdir({ file: 'mine' })
  await claimSocket(join(directory, 'new/admin.sock'), WHAT)
  t.ok(existsSync(join(directory, 'new')))
  const file = join(directory, 'file')
  await t.rejects(claimSocket(file, WHAT), {
    code: 'ADDRESS_IN_USE',
    message: /is not a socket.*listen\.admin_socket/,
  })
  t.ok(existsSync(file))
  writeFileSync(join(directory, 'plain'), '')
  await t.rejects(claimSocket(join(directory, 'plain/admin.sock'), WHAT), { code: 'STATE_UNWRITABLE' })
})

t.test('one that nobody listens on any more is removed', async (t) => {
  const path = placeFor(t)
  const child = await listens(t, path)
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.ok(existsSync(path))
  await claimSocket(path, WHAT)
  t.notOk(existsSync(path))
})

t.test('one on which somebody answers stays', async (t) => {
  const path = placeFor(t)
  await listens(t, path)
  await t.rejects(claimSocket(path, WHAT), {
    code: 'ADDRESS_IN_USE',
    message: /Another daemon already listens/,
  })
  t.ok(existsSync(path))
})

t.test('unless that ends in a moment, as what a killed daemon was about to start does', async (t) => {
  const path = placeFor(t)
  const child = await listens(t, path)
  const claimed = claimSocket(path, WHAT)
  setTimeout(() => child.kill('SIGKILL'), 20)
  await claimed
  t.notOk(existsSync(path))
})
