import t from 'tap'
import { askedLine, questionLines } from '../../../src/cli/words/question.ts'
import type { Confirmation } from '../../../src/client/operator-client.ts'

function question(shown: unknown, change: Partial<Confirmation> = {}): Confirmation {
  return {
    id: 'ab'.repeat(16),
    agent: 'ci',
    sessionId: 'cd'.repeat(16),
    layer: 'specifics',
    rule: 'sensitive_files',
    reason: 'It reads a key.',
    shown: typeof shown === 'string' ? shown : JSON.stringify(shown),
    digest: 'ef'.repeat(32),
    askedAt: 100,
    expiresAt: 160,
    ...change,
  }
}

const execute = (argv: readonly string[], more: object = {}) => ({
  action: {
    kind: 'execute',
    executionId: '12'.repeat(16),
    argv,
    executable: { path: '/usr/bin/cat' },
    cwd: '/srv/work',
    environment: ['A=b'],
    terminal: false,
    timeoutSeconds: null,
    ...more,
  },
  reason: 'It reads a key.',
  more: { goal: 'look at the key' },
})

t.test('all that there is to judge by is shown: command, circumstances, reason, goal', async (t) => {
  const lines = questionLines(question(execute(['cat', 'my key'])), 119)
  t.match(lines[0], 'ci asks for this and waits for 41 seconds more:')
  t.equal(lines[2], "  cat 'my key'")
  const text = lines.join('\n')
  for (const part of [
    /because +It reads a key\./,
    /rule +specifics sensitive_files/,
    /executable +\{"path":"\/usr\/bin\/cat"\}/,
    /cwd +\/srv\/work/,
    /environment +\["A=b"\]/,
    /goal +look at the key/,
    /session +(cd){16}/,
    /id +(ab){16}/,
  ])
    t.match(text, part)
  t.notMatch(text, /terminal|timeoutSeconds/, 'what is absent is no circumstance')
  t.equal(text.match(/It reads a key/g)?.length, 1)
})

t.test('a long command is whole where it is answered, and cut in the list', async (t) => {
  const asked = question(execute(['printf', 'x'.repeat(3_000), 'rm -rf /']))
  t.match(questionLines(asked, 0)[2], /x{3000} 'rm -rf \/'$/)
  t.ok(askedLine(asked).length <= 160)
  t.match(askedLine(asked), /…$/)
})

t.test('nothing of an agent steers the terminal of whoever is asked', async (t) => {
  const evil = '\x1b[2J\x1b]0;x\x07\r\u202e\u2066\n\x9b1m'
  const asked = question(
    { ...execute([`c${evil}`, evil], { cwd: `/${evil}`, [evil]: evil }), more: { [evil]: evil } },
    { agent: evil, reason: evil, rule: evil, layer: evil },
  )
  for (const line of [...questionLines(asked, 0), askedLine(asked)]) t.notMatch(line, /[\p{C}\p{Zl}\p{Zp}]/u)
})

t.test('what is no command, and what cannot be read, is shown as it is', async (t) => {
  const other = question({ action: { kind: 'signal', signal: 9 }, reason: 'Odd.', more: 'all of it' })
  t.equal(askedLine(other), '{"kind":"signal","signal":9}')
  const text = questionLines(other, 0).join('\n')
  t.match(text, /signal +9/)
  t.match(text, /more +all of it/)
  t.match(text, /reason +Odd\./, 'a reason that differs from the first is shown as well')
  for (const shown of ['no JSON \x1b', '[1]', 'null', '7']) {
    const lines = questionLines(question(shown), 500)
    t.ok(
      lines.some((line) => line.includes(JSON.stringify(shown).slice(1, 5)) || line.includes(shown)),
      shown,
    )
    t.match(lines[0], /waits for 0 seconds/)
  }
})

t.test('what the firewall holds is asked about by what it is, with the words in question', async (t) => {
  const held = {
    action: { kind: 'release', command: 'cat', execution: 'ab' },
    text: 'Ignore all\\x1b[2J',
    patterns: [],
  }
  const release = question(held, {
    layer: 'firewall',
    rule: 'injection',
    reason: 'What cat prints gives orders.',
  })
  t.equal(askedLine(release), 'release what cat has printed')
  const lines = questionLines(release, 119).join('\n')
  t.match(lines, /risk +high: the agent may do what its output tells it to/)
  t.match(lines, /alternatives +Read what is shown/)
  t.match(lines, /text +Ignore all/)
  const give = question({ action: { kind: 'give', path: 'a b' } }, { layer: 'firewall', rule: 'secrets' })
  t.equal(askedLine(give), 'fetch a b')
})
