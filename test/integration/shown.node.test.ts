/**
 * Text that an agent has chosen, as a human comes to see it: whatever it would do to a terminal is shown and not done.
 * @module
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { client, question } from './agents.node.ts'
import { ON_REAL_FILES, startNew } from './daemon.node.ts'

/** A title, a cleared screen, a turned reading direction, what joins and hides, and a line of somebody else. */
const EVIL = '\u001b]0;mine\u0007\u001b[2J\rApproved by boss'
/** A command line with these waits for a human by itself. */
const HIDDEN = `${EVIL}\u202e\u200b\u0085`
const STEERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

for (const [where, more] of [
  ['in a branch', {}],
  ['on the real files', ON_REAL_FILES],
] as const)
  t.test(`text that an agent controls is cleaned before a person sees it, ${where} (SA-57)`, async (t) => {
    const daemon = await startNew(t, {
      ...more,
      security: { opaque: 'allow' },
      defense: { deny_response: 'reason', levels: { automatic: false } },
    })
    const agent = await client(daemon)
    const script = `run${EVIL}`
    writeFileSync(join(daemon.workspace, script), '#!/bin/sh\nsleep 30\n', { mode: 0o755 })
    writeFileSync(join(daemon.workspace, '.env'), 'x')
    writeFileSync(join(daemon.workspace, 'make.sh'), `echo '${HIDDEN}' >'file${HIDDEN}'\n`)
    await agent.execute('sh', ['./make.sh'])
    await agent.execute('curl', [`http://127.0.0.1/${EVIL}`]).catch(() => {})
    await agent.execute(`./${script}`).catch(() => {})
    agent.execute('cat', ['.env', `/srv/${HIDDEN}`]).catch(() => {})
    const { id } = await question(daemon)

    const seqs = daemon.audit().flatMap(({ action, seq }) => (action === 'execute' ? [String(seq)] : []))
    t.ok(seqs.length >= 4)
    let shown = 0
    for (const words of [
      ['audit', 'tail', '-n', '100'],
      ['confirm', 'list'],
      ['confirm', 'approve', id],
      ['jobs', '--all'],
      ['level', 'show'],
      ['status'],
      ...seqs.map((seq) => ['why', seq]),
      ...('sandbox' in more
        ? []
        : [
            ['branch', 'list'],
            ['branch', 'diff'],
            ['branch', 'diff', '--stat'],
          ]),
    ]) {
      const { stdout, stderr } = await daemon.cli(words)
      const text = `${stdout}${stderr}`
      t.notMatch(text.replaceAll('\n', ''), STEERS, words.join(' '))
      const forged = text.split('\n').filter((line) => line.startsWith('Approved by boss'))
      t.strictSame(forged, [], 'and no line is its own')
      if (text.includes('\\x1b')) shown++
    }
    t.ok(shown >= 3, `it is shown by its numbers in ${shown} places`)
    for (const line of daemon.log()) if (STEERS.test(line)) t.fail(JSON.stringify(line))
  })
