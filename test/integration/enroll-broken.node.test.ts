/**
 * Enrolment where the link or the daemon breaks: nobody is stranded, and no line is good twice.
 */
import t, { type Test } from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { generateKeyPair } from '../../src/edge/state/key-file.node.ts'
import { cutLink } from './cutting.node.ts'
import { auditEvents, install, sleep, startDaemon, startNew, temporary } from './daemon.node.ts'
import {
  book,
  enroll,
  enrolled,
  freePort,
  invite,
  LOOPBACK_EXEMPT,
  open,
  REAL_FILES,
} from './enrolling.node.ts'

const TIMEOUT_MS = 100_000
t.setTimeout(2 * TIMEOUT_MS)

/** The sum of what is let in by one line, wherever the link or the daemon breaks. */
async function comesIn(t: Test, home: string, line: string): Promise<void> {
  const run = await enroll(home, line, '--name', 'edge')
  t.equal(run.code, 0, run.stderr)
}

t.test(
  'an answer that is lost strands nobody: cut after each few bytes',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const daemon = await startNew(t, { ...LOOPBACK_EXEMPT, ...REAL_FILES })
    let interrupted = 0
    for (let bytes = 1_300; bytes <= 2_700; bytes += 200) {
      const name = `cut-${bytes}`
      const link = await cutLink(t, daemon.port, [{ way: 'down', bytes }])
      const line = await invite(daemon, name, '--address', `127.0.0.1:${link.port}`)
      const home = temporary(t)
      if ((await enroll(home, line, '--name', 'edge')).code !== 0) {
        interrupted++
        await comesIn(t, home, line)
      }
      t.equal(enrolled(daemon.directory).filter((one) => one === name).length, 1)
      t.equal((await enroll(temporary(t), line)).code, 255, 'and for nobody else')
    }
    t.ok(interrupted > 1, `${interrupted} were interrupted`)
  },
)

t.test('kill -9 around the moment: listed and used up, or neither', { timeout: TIMEOUT_MS }, async (t) => {
  const directory = await install(t, {
    ...LOOPBACK_EXEMPT,
    ...REAL_FILES,
    listen: { port: await freePort() },
  })
  let daemon = await startDaemon(t, directory)
  const seen = { before: 0, after: 0 }
  for (let round = 0; round < 10; round++) {
    const name = `killed-${round}`
    const line = open(await invite(daemon, name))
    const seed = generateKeyPair().seed
    const come = (privateKey: Uint8Array) =>
      connect({
        host: '127.0.0.1',
        port: daemon.port,
        agent: name,
        privateKey,
        pin: daemon.fingerprint,
        enrolment: line.token,
        reconnect: false,
        timeoutMs: 5_000,
      })
    const coming = come(seed)
      .then((client) => client.close())
      .catch(() => undefined)
    await sleep(5 + round * 13)
    daemon.signal('SIGKILL')
    await daemon.ended
    await coming
    const { enrolled: list = [], invitations = [] } = book(directory)
    const isListed = list.some((one) => one['name'] === name)
    const isOpen = invitations.some((one) => one['name'] === name)
    t.not(isListed, isOpen, `round ${round}: one of the two`)
    seen[isListed ? 'after' : 'before']++
    daemon = await startDaemon(t, directory)
    await (await come(seed)).close()
    await t.rejects(come(generateKeyPair().seed), { code: 'CONNECT_FAILED' }, 'nobody else comes in by it')
    t.equal((await daemon.cli(['audit', 'verify'])).code, 0)
  }
  t.comment(`killed before it was kept: ${seen.before}, after: ${seen.after}`)
  t.ok(auditEvents(directory).filter((event) => event['what'] === 'enrolled').length > 0)
})
