/**
 * What check says of lists that show too much, or nothing.
 * @module
 */
import t from 'tap'
import { parseConfig } from '../../../src/config/config.ts'
import { findViewContradictions } from '../../../src/edge/setup/contradicting-views.ts'

function told(sandbox: Record<string, unknown>): string[] {
  const parsed = parseConfig(
    {
      listen: { port: 0, admin_socket: '/run/edge/admin.sock' },
      security: { workspace_root: '/srv/w' },
      sandbox,
    },
    { configDirectory: '/etc/edge' },
  )
  if (!parsed.ok) throw new Error('the configuration is sound')
  return [...findViewContradictions(parsed.config)].map(
    ({ ok, check, detail, remedy }) => `${ok ? 'warn' : 'fail'} ${check}: ${detail}; ${remedy}`,
  )
}

t.test('what ships says nothing', async (t) => {
  t.strictSame(told({}), [])
})

t.test('the whole device and homes are a word worth', async (t) => {
  t.match(told({ read: ['/'] }), [/^warn sandbox\.read\[0\]: is the whole device/])
  t.match(told({ read: ['/usr', '/home'] }), [/^warn sandbox\.read\[1\]: \/home is where people/])
  t.equal(told({ read: ['/root', '/home/ann'] }).length, 2)
  t.strictSame(told({ read: ['/usr', '/home/ann/node', '/homes', '/root/go'] }), [])
})

t.test('hiding nothing, or where nothing can be read', async (t) => {
  t.match(told({ hidden: [] }), [/^warn sandbox\.hidden: is empty.*\["\$SECRETS"\]/])
  t.match(told({ read: ['/usr'], hidden: ['$SECRETS', '/etc/key'] }), [
    /^warn sandbox\.hidden\[1\]: \/etc\/key lies in/,
  ])
  t.strictSame(told({ hidden: ['/etc/key', '/etc/*.x', '/*/key', '/srv/w/.env', '/opt'] }), [])
  t.equal(told({ hidden: ['/data/*.key', '/etcetera/x'] }).length, 2)
})

t.test('sockets of whoever does everything, and of the daemon itself', async (t) => {
  for (const path of ['/run/edge/admin.sock'])
    t.match(told({ sockets: [path] }), [/^fail sandbox\.sockets\[0\]: .* is the admin socket/], path)
  const powers = [
    '/run/docker.sock',
    '/var/run/docker.sock',
    '/run/containerd/containerd.sock',
    '/run/crio/crio.sock',
  ]
  powers.push(
    '/run/podman/podman.sock',
    '/run/dbus/system_bus_socket',
    '/run/user/1000/bus',
    '/run/systemd/private',
  )
  for (const path of powers)
    t.match(told({ sockets: [path] }), [/^warn sandbox\.sockets\[0\]: .*outside of any branch/], path)
  t.strictSame(told({ sockets: ['/run/postgresql/.s.PGSQL.5432', '/srv/app.sock'] }), [])
})

t.test('where commands run on the real files no list means anything', async (t) => {
  t.strictSame(told({ require: 'none', read: ['/'], hidden: [], sockets: ['/run/docker.sock'] }), [])
})
