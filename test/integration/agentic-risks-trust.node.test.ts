/**
 * The last two of the OWASP Top 10 for Agentic Applications (2026): the human who is asked, and an agent that has gone
 * wrong. The others: agentic-risks.node.test.ts, agentic-risks-among.node.test.ts.
 *
 * What the daemon does not do about them: it does not judge why somebody says yes, and finds out that an agent has gone
 * wrong only by what it asks for.
 * Source: https://genai.owasp.org/resource/owasp-top-10-for-agentic-applications-for-2026/
 * @module
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { executeRequest } from '../../src/wire/messages.ts'
import {
  ALARMED,
  DISGUISED,
  decisionAsInstalled,
  decisions,
  outcome,
  SCREEN,
  SHORT,
  startWithAgents,
  undone,
  unnoticed,
} from './agentic.node.ts'
import { client, levels, questions, running } from './agents.node.ts'
import { authenticateFrame, isServed, known, tls } from './connections.node.ts'
import { isAlive, ON_REAL_FILES, until } from './daemon.node.ts'

const EXECUTE = 1
t.test(
  'ASI09 Human-Agent Trust Exploitation: a yes is for what was shown, and for nothing else (JF-N12)',
  async (t) => {
    t.test('a question shows what would run, with what nobody sees in it', async (t) => {
      const daemon = await startWithAgents(t, { ...ON_REAL_FILES, ...SHORT })
      writeFileSync(join(daemon.workspace, '.env'), 'TOKEN=geheim\n')
      const agent = await client(daemon)
      const asked = outcome(agent.execute('cat', ['.env', '\u202egpj.holiday\u200b\rApproved by boss']))
      await until('a question', async () => (await questions(daemon)).length === 1)
      const shown = (await daemon.cli(['confirm', 'list'])).stdout.toString()
      t.match(shown, /\.env/)
      t.match(shown, /202e/i, 'what turns the direction is named')
      t.match(shown, /200b/i)
      t.notMatch(shown, /[\u202e\u200b\r]/)
      t.notMatch(shown, /^Approved by boss/m)
      const [question] = await questions(daemon)
      t.equal((await daemon.cli(['confirm', 'deny', String(question?.['id']), '--yes'])).code, 0)
      t.equal(await asked, 'CONFIRMATION_DENIED')
      await agent.close()
    })

    t.test('an answer for another question, a second use, a question that nobody hears', async (t) => {
      const daemon = await startWithAgents(t, {
        ...ON_REAL_FILES,
        ...SHORT,
        confirm: { timeout_seconds: 12 },
      })
      for (const name of ['a.env', 'b.env']) writeFileSync(join(daemon.workspace, name), `${name}\n`)
      const agent = await client(daemon)
      const { port, fingerprint: pin } = daemon
      const boss = await connect({
        host: '127.0.0.1',
        port,
        agent: 'operator',
        privateKey: daemon.seed('operator'),
        pin,
      })
      const small = outcome(agent.execute('cat', ['a.env']))
      await until('a question', async () => (await questions(daemon)).length === 1)
      const large = outcome(agent.execute('cp', ['b.env', 'copy']))
      await until('another', async () => (await questions(daemon)).length === 2)
      const [one, two] = await questions(daemon)
      const [id, digest, other] = [one?.['id'], one?.['digest'], two?.['digest']].map(String)
      t.not(digest, other)
      t.match(await boss.operator.answerConfirmation(id ?? '', true, other ?? ''), { success: false })
      t.equal((await questions(daemon)).length, 2, 'both wait as before')
      t.match(await boss.operator.answerConfirmation(id ?? '', true, digest ?? ''), { success: true })
      t.equal(await small, 'done')
      t.match(await boss.operator.answerConfirmation(id ?? '', true, digest ?? ''), { success: false })
      t.notOk(existsSync(join(daemon.workspace, 'copy')), 'a yes to the small thing is none to the large one')
      t.equal(await large, 'CONFIRMATION_TIMEOUT', 'silence is no')
      t.notOk(existsSync(join(daemon.workspace, 'copy')))
      const told = daemon.audit().filter(({ type }) => type === 'confirmation')
      t.same(
        told.map(({ what }) => what),
        ['asked', 'asked', 'approved', 'timed_out'],
      )
      await Promise.all([agent.close(), boss.close()])
    })

    t.test('questions until somebody says yes to all of them', async (t) => {
      const daemon = await startWithAgents(t, { ...ON_REAL_FILES, ...SHORT, confirm: { max_pending: 3 } })
      const wire = await known(daemon)
      for (let at = 0; at < 12; at++) {
        const request = executeRequest.encode({ command: 'cat', args: [`${at}.env`] })
        wire.socket.write(encodeFrame(3 + 2 * at, 'OPEN', request, EXECUTE))
      }
      await until('a decision on each', () => decisions(daemon).length >= 12)
      t.ok((await questions(daemon)).length <= 3)
      wire.socket.destroy()
      await until('none', async () => (await questions(daemon)).length === 0)
    })
  },
)

t.test('ASI10 Rogue Agents: who goes on after a no is slowed, contained and put out (JF-N12)', async (t) => {
  t.test(
    'refused three times: what it runs ends, and nothing more begins, also after it comes back',
    async (t) => {
      const daemon = await startWithAgents(t, { ...ON_REAL_FILES, ...ALARMED }, [['other']])
      const [rogue, other] = await Promise.all([client(daemon), client(daemon, 'other')])
      const [own, others] = await Promise.all([running(rogue), running(other)])
      for (let time = 0; time < 3; time++)
        t.not(await outcome(rogue.execute(DISGUISED, ['777', `file-${time}`])), 'done')
      await until('the end of what it ran', () => !isAlive(own))
      t.match(await levels(daemon), [{ scope: 'agent', name: 'agent', level: 'CONTAIN' }])
      await rogue.close()
      const again = await client(daemon)
      t.equal(await outcome(again.execute('touch', ['made'])), SCREEN)
      t.notOk(existsSync(join(daemon.workspace, 'made')))
      t.ok(isAlive(others), 'and nobody else is concerned')
      await Promise.all([again.close(), other.close()])
    },
  )

  t.test('its key taken away: its connection and its processes end', async (t) => {
    const daemon = await startWithAgents(t, { ...ON_REAL_FILES, ...SHORT }, [['rogue']])
    const rogue = await client(daemon, 'rogue')
    const pid = await running(rogue)
    t.equal((await daemon.cli(['agent', 'remove', 'rogue'])).code, 0)
    t.equal((await daemon.cli(['reload'])).code, 0)
    await rogue.closed
    await until('the end of what it ran', () => !isAlive(pid))
    t.not(await outcome(client(daemon, 'rogue')), 'done')
    await isServed(t, daemon)
  })

  t.test(
    'one that tries names and keys: its address is kept out, until an operator says otherwise',
    async (t) => {
      const daemon = await startWithAgents(t, { ...SHORT, acl: { penalties: { exempt: [] } } })
      const kept = async () => {
        const wire = await tls(daemon.port)
        if (wire.socket.getProtocol() === 'TLSv1.3')
          wire.socket.write(authenticateFrame(wire.socket, 'agent', daemon.seed('operator')))
        return (await wire.closed) === 'reset' && wire.received().length === 0
      }
      await until('a reset before TLS', kept)
      const { penalties } = JSON.parse((await daemon.cli(['penalties', 'list', '--json'])).stdout.toString())
      t.match(penalties, [{ source: '127.0.0.1', active: true, reason: 'auth_failed' }])
      t.equal((await daemon.cli(['penalties', 'clear', '127.0.0.1'])).code, 0)
      await isServed(t, daemon)
    },
  )

  t.test('what would outlive it, hide it or make more of it', async (t) => {
    const decide = await decisionAsInstalled(t)
    const outlive = [
      'at now + 1 hour -f x.sh',
      'systemctl enable evil.service',
      'cp ./agent /usr/local/bin/agent',
    ]
    const hide = ['history -c', 'export HISTFILE=/dev/null', 'rm -rf /var/log', 'journalctl --vacuum-time=1s']
    t.strictSame(unnoticed(decide, [...outlive, ...hide, ':(){ :|:& };:', 'iptables -F']), [])
    t.strictSame(undone(decide, ['cp a b', 'ls /var/log', 'systemctl status ssh']), [])
  })
})
