/**
 * Secrets in the output of a command, through a real daemon: what its caller gets, on pipes and on a terminal, at whatever
 * pace it is written, and what the record says of it.
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { auditEvents, ON_REAL_FILES, type Result, startNew, until } from './daemon.node.ts'
import { filesBelow } from './living.node.ts'

const daemon = await startNew(t, ON_REAL_FILES)

/** Put together here, so that nobody finds it in this file. */
const TOKEN = `ghp_${'Zq4LmW9xT2cVbN7yRk3PsD8fGh1JtU6aQwEr'}`
const PASSWORD = 'c0rrect-h0rse-battery'
const sh = (script: string): Promise<Result> => daemon.cli(['exec', '--', 'sh', '-c', script])

/** Everything that the daemon keeps, as bytes. */
function everything(directory: string): Buffer[] {
  return [...filesBelow(directory)].map((path) => readFileSync(path))
}

t.test(
  'a secret goes on as its kind, on both outputs, and what is around it as it is (JF-043, JF-082)',
  async (t) => {
    writeFileSync(
      join(daemon.workspace, 'settings.txt'),
      `A=1\nDB_PASSWORD=${PASSWORD}\nGITHUB=${TOKEN}\nB=2\n`,
    )
    const { code, stdout, stderr } = await sh('cat settings.txt; cat settings.txt >&2; exit 3')
    t.equal(code, 3)
    const shown = 'A=1\nDB_PASSWORD=[redacted:password]\nGITHUB=[redacted:github-token]\nB=2\n'
    t.equal(stdout.toString(), shown)
    t.equal(stderr, shown)
  },
)

t.test(
  'what files of settings hold is hidden in every encoding, whatever stands around it (JF-R17)',
  async (t) => {
    const secret = 'nobody/knows+it?'
    writeFileSync(join(daemon.workspace, 'service.env'), `SERVICE_PASSWORD="${secret}"\n`)
    // Until it is looked for again.
    await until('the file is known', async () => !(await sh(`echo '${secret}'`)).stdout.includes(secret))
    const script = `printf '%s' '${secret}' > plain; base64 plain; base64 -w 9 plain; od -An -tx1 plain | tr -d ' \\n'; echo "x$(cat plain)y"`
    const { stdout } = await sh(script)
    for (const form of ['utf8', 'base64', 'hex'] as const) {
      const text = Buffer.from(secret).toString(form)
      for (let at = 0; at + 12 <= text.length; at++)
        t.notOk(stdout.includes(text.slice(at, at + 12)), `${form}: ${stdout}`)
    }
    t.ok(stdout.toString().endsWith('x[redacted:known-secret]y\n'), stdout.toString())
  },
)

t.test(
  'paths of the device are hidden where the operator has a kind for them, and those of the workspace stay (JF-R17)',
  async (t) => {
    const manual = readFileSync(join(import.meta.dirname, '../../docs/firewall.md'), 'utf8')
    const [, example = ''] = /^## Paths of the device\n[\s\S]*?\n\n((?: {4}.*\n)+)/m.exec(manual) ?? []
    const patterns = join(t.testdir({ 'patterns.json': example }), 'patterns.json')
    const careful = await startNew(t, { ...ON_REAL_FILES, defense: { firewall: { patterns } } })
    const own = join(careful.workspace, 'log')
    const lines = [
      'see /root/.ssh/id_ed25519',
      "open('/home/ann/notes.txt')",
      `in ${own}`,
      'a/home b',
      '/srv/x',
    ]
    const { stdout } = await careful.cli(['exec', '--', 'printf', '%s\\n', ...lines])
    t.strictSame(stdout.toString().trimEnd().split('\n'), [
      'see [redacted:path]',
      "open('[redacted:path]')",
      `in ${own}`,
      'a/home b',
      '[redacted:path]',
    ])
  },
)

t.test('whatever the pieces are that it is written in', async (t) => {
  const letters = Array.from(TOKEN, (letter) => `printf ${letter}`).join('; ')
  t.equal((await sh(`${letters}; echo`)).stdout.toString(), '[redacted:github-token]\n')
  const slowly = `printf ${TOKEN.slice(0, 20)}; sleep 0.2; echo ${TOKEN.slice(20)}`
  t.equal((await sh(slowly)).stdout.toString(), '[redacted:github-token]\n', 'nothing comes for a while')
  t.equal((await sh(`printf ${TOKEN}`)).stdout.toString(), '[redacted:github-token]', 'nothing follows')
})

t.test('a prompt, and a word without an end, are seen before more comes', async (t) => {
  const { stdout } = await sh('printf "password: "; sleep 0.3; printf tok; sleep 0.3; echo en')
  t.equal(stdout.toString(), 'password: token\n')
})

t.test('colours do not take a secret apart, and stay', async (t) => {
  const { stdout } = await sh(`printf 'x \\033[1mghp_\\033[31m${TOKEN.slice(4)}\\033[0m y\\n'`)
  t.equal(stdout.toString(), 'x \x1b[1m[redacted:github-token]\x1b[31m\x1b[0m y\n')
})

t.test(
  'what the firewall goes by is on the record, with its digest and how much of it there is (JF-020)',
  (t) => {
    const loaded = auditEvents(daemon.directory).findLast(({ type }) => type === 'firewall')
    t.match(loaded, { what: 'loaded', digest: /^[0-9a-f]{64}$/, category: 'configuration' })
    t.ok(Number(loaded?.['secret_kinds']) >= 200 && Number(loaded?.['injection_patterns']) >= 100)
    t.end()
  },
)

t.test(
  'a secret of which a part had gone on before it was known to be one is an alert (JF-089)',
  async (t) => {
    const { stdout } = await sh(`printf 'nobody/kn'; sleep 1; printf 'ows+it?\\n'`)
    t.equal(stdout.toString(), 'nobody/kn[redacted:known-secret]\n')
    const event = auditEvents(daemon.directory).findLast(({ type }) => type === 'redacted')
    t.match(event, { secrets: 1, late: 1, severity: 'critical', facts: /^[0-9a-f]{64}$/ })
  },
)

t.test('a canary that is printed is hidden, and critical (JF-044, JF-083, JF-R19)', async (t) => {
  const canary = readFileSync(join(daemon.directory, '.sass-edge/state/canary'), 'utf8').trim()
  const { stdout } = await daemon.cli(['exec', '--', 'echo', canary])
  t.equal(stdout.toString(), '[redacted:canary]\n')
  const event = auditEvents(daemon.directory).findLast(({ type }) => type === 'redacted')
  t.match(event, { canaries: 1, severity: 'critical', kinds: { canary: 1 } })
})

t.test(
  'the record says of which kinds and how many; what they were is on no disk in the clear (JF-089)',
  async (t) => {
    const audit = join(daemon.directory, '.sass-edge/state/audit')
    const found = () => auditEvents(daemon.directory).filter(({ type }) => type === 'redacted')
    const before = found().length
    await sh(`echo ${TOKEN}; echo ${TOKEN} >&2; echo password=${PASSWORD}`)
    await until('the record of it', () => found().length > before)
    const event = found().at(-1)
    t.match(event, { secrets: 3, kinds: { 'github-token': 2, password: 1 }, facts: /^[0-9a-f]{64}$/ })
    for (const bytes of everything(audit)) {
      t.notOk(bytes.includes(PASSWORD))
      t.notOk(bytes.includes(TOKEN))
    }
  },
)
