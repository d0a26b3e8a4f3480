/**
 * Networks of sessions, really made, as root and as a user in a user namespace: who is reached in them, what is refused
 * at once, and that nothing of them stays.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { everyone, homeFor, PYTHON, type Who } from '../../integration/branched.node.ts'

const CONNECTION_REFUSED = 111

function work(t: Test, who: Who, what: string): Record<string, unknown> {
  const script = join(import.meta.dirname, 'network-work.node.ts')
  const node = [process.execPath, '--no-warnings', script, homeFor(t, who), what]
  const user = ['unshare', '--user', '--map-current-user', '--keep-caps', '--mount', '--']
  const [program = '', ...args] = who.name === 'root' ? node : [...user, ...node]
  const child = spawnSync(program, args, {
    encoding: 'utf8',
    ...(who.uid === process.geteuid?.() ? {} : { uid: who.uid, gid: who.uid }),
  })
  if (child.status !== 0) throw new Error(`${child.status} ${child.signal} ${child.stderr}`)
  return JSON.parse(child.stdout)
}

for (const who of everyone(t)) {
  t.test(`every address leads to the gate, for a keeper of ${who.name}`, async (t) => {
    if (PYTHON === undefined) return t.comment('skipped: what connects here needs python3')
    const { found, refused, again, resolver } = work(t, who, 'connections')
    t.strictSame(found, {
      '192.0.2.7 443': '192.0.2.7 443',
      '127.0.0.1 443': '127.0.0.1 443',
      '2001:db8::7 443': '2001:db8::7 443',
      '::1 443': '::1 443',
      '127.0.0.1 8080': '127.0.0.1 8080',
      '127.0.0.3 8080': CONNECTION_REFUSED,
      '192.0.2.7 22': CONNECTION_REFUSED,
      '2001:db8::7 22': CONNECTION_REFUSED,
      'udp 192.0.2.7 123': CONNECTION_REFUSED,
      'udp 2001:db8::7 123': CONNECTION_REFUSED,
      'IPv4 is there': 'True',
      abstract: CONNECTION_REFUSED,
      'its own server': 'done',
    })
    t.strictSame(refused, [
      { protocol: 'tcp', address: '127.0.0.3', port: 8080 },
      { protocol: 'tcp', address: '192.0.2.7', port: 22 },
      { protocol: 'tcp', address: '2001:db8::7', port: 22 },
      { protocol: 'udp', address: '192.0.2.7', port: 123 },
      { protocol: 'udp', address: '2001:db8::7', port: 123 },
    ])
    t.strictSame(again, [], 'told once')
    t.equal(resolver, 'nameserver 127.0.0.1\n')
  })

  t.test(`fifty networks leave nothing, for a keeper of ${who.name}`, async (t) => {
    const { before, after, milliseconds } = work(t, who, 'many')
    t.strictSame(after, before)
    t.comment(`a place with a network in ${Number(milliseconds).toFixed(1)} ms in the middle`)
  })

  t.test(`a device without IPv6 does without, for a keeper of ${who.name}`, async (t) => {
    const listeners = work(t, who, 'without six') as unknown as string[]
    const four = listeners.filter((one) => !one.startsWith('::'))
    t.strictSame(four, ['0.0.0.0 80', '0.0.0.0 443', '127.0.0.1 8080'])
  })

  t.test(`what is refused in the midst of it leaves nothing, for a keeper of ${who.name}`, async (t) => {
    const { messages, counts, listeners } = work(t, who, 'refused') as {
      messages: string[]
      counts: unknown[]
      listeners: number
    }
    const steps = [/bind\(nowhere\)/, /bind\(nowhere\)/, /so many/, /nowhere/]
    t.equal(messages.length, steps.length)
    for (const [index, step] of steps.entries()) t.match(messages[index], step)
    t.equal(new Set(counts.map((one) => JSON.stringify(one))).size, 1)
    t.equal(listeners, 5, 'the next one is made as ever')
  })
}
