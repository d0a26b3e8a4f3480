import t from 'tap'
import { startSsh } from '../../../bench/peers/ssh.node.ts'
import { startRelay } from '../../../bench/relay.node.ts'

t.test('says so where sshd is not installed', async (t) => {
  t.equal(await startSsh('/not/there/sshd'), undefined)
})

t.test('runs commands cold and over a ControlMaster, and measures what they send', async (t) => {
  // Another place than the package's, for an sshd that was only unpacked.
  const peer = await startSsh(process.env['SASS_EDGE_BENCH_SSHD'] ?? '/usr/sbin/sshd')
  if (peer === undefined) {
    t.comment('skipped: /usr/sbin/sshd is not here (openssh-server)')
    t.pass('nothing to run')
    return
  }
  const relay = await startRelay({ host: '127.0.0.1', port: peer.port })
  try {
    const cold = await peer.coldExec(['printf', '%s|', 'a b', "it's", '$x'], relay.port)
    t.equal(cold.stderr, '')
    t.equal(cold.stdout, "a b|it's|$x|", 'arguments pass as they are')
    t.equal(relay.counts().connections, 1)
    t.ok(relay.counts().toServer > 1_000 && relay.counts().toClient > 1_000)

    relay.reset()
    await peer.openMaster(relay.port)
    t.equal((await peer.warmExec(['sh', '-c', 'exit 7'])).code, 7)
    t.equal(relay.counts().connections, 1, 'one connection carries both')

    t.equal((await peer.throughput(5_000_000)).bytes, 5_000_000)
  } finally {
    await peer.stop()
    await relay.stop()
  }
  t.equal((await peer.coldExec(['true'])).code, 255, 'after the stop nothing listens')
})
