/**
 * What check says of listed places and sockets of this device.
 * @module
 */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../../src/config/config.ts'
import { checkView } from '../../../src/edge/setup/preflight-view.node.ts'

/** A path of a socket is short. */
const directory = mkdtempSync(join(tmpdir(), 'sass-edge-view-'))
t.teardown(() => rmSync(directory, { recursive: true, force: true }))

function told(sandbox: Record<string, unknown>): string[] {
  const admin_socket = join(directory, 'admin.sock')
  const parsed = parseConfig({ listen: { port: 0, admin_socket }, sandbox }, { configDirectory: directory })
  if (!parsed.ok) throw new Error('the configuration is sound')
  return [...checkView(parsed.config)].map(
    ({ ok, check, detail }) => `${ok ? 'warn' : 'fail'} ${check}: ${detail}`,
  )
}

t.test('a place that is not there is told of, unless it ships', async (t) => {
  t.strictSame(told({}), [], 'whatever of it this device has')
  t.strictSame(told({ read: ['/usr', '/lib32', '/var/lib/opkg'] }), [])
  t.match(told({ read: ['/usr', '/no/such/place'] }), [
    /^warn sandbox\.read\[1\]: \/no\/such\/place does not exist, so commands find nothing there$/,
  ])
  t.strictSame(told({ require: 'none', read: ['/no/such/place'] }), [])
})

t.test('a socket is one, is there, and is not the own one by another name', async (t) => {
  for (const name of ['admin.sock', 'other.sock']) {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(join(directory, name), resolve))
    t.teardown(() => server.close())
  }
  symlinkSync('admin.sock', join(directory, 'link.sock'))
  t.strictSame(told({ sockets: [join(directory, 'other.sock')] }), [])
  t.match(told({ sockets: ['/etc/passwd'] }), [/^warn .*\/etc\/passwd is no socket, so commands cannot/])
  t.match(told({ sockets: ['/run/no-such.sock'] }), [/^warn .*no-such\.sock is not there/])
  t.match(told({ sockets: [join(directory, 'link.sock')] }), [/^fail .*leads to the admin socket/])
})
