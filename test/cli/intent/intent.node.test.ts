import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readVault } from '../../../src/edge/intent/vault.node.ts'
import { checkEnvelope } from '../../../src/intent/envelopes/checks.ts'
import { writeEnvelope } from '../../../src/intent/envelopes/envelope.ts'
import { directoryForVault } from '../../intent/disk-vault.node.ts'
import {
  BLOG_CAPABILITIES,
  BLOG_TEMPLATE,
  DISPATCHER,
  envelopeOf,
  groundOf,
  INTAKE,
  sha256Hex,
} from '../../intent/ground.ts'
import { runMain } from '../run-main.node.ts'

/** A directory with the files of an operator; `sass` runs the program there. */
async function stage(t: Test) {
  const directory = directoryForVault(t)
  for (const [name, value] of [
    ['blog.json', BLOG_TEMPLATE],
    ['caps.json', BLOG_CAPABILITIES],
    ['article.json', { title: 'Hello', body_markdown: '# Test', image_present: false }],
  ] as const)
    writeFileSync(join(directory, name), JSON.stringify(value))
  for (const [name, seed] of [
    ['d.key', DISPATCHER],
    ['intake.key', INTAKE],
  ] as const) {
    writeFileSync(join(directory, name), seed)
    chmodSync(join(directory, name), 0o600)
  }
  const keygen = await runMain(directory, ['keygen', 'other'])
  if (keygen.code !== 0) throw new Error(keygen.stderr)
  writeFileSync(
    join(directory, 'd.pub'),
    Buffer.from('8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c', 'hex'),
  )
  const sass = (...words: string[]) => runMain(directory, ['intent', ...words])
  const made = await sass('vault', 'vault', '--dispatcher', 'd.pub', '--identity', '--json')
  const { dispatcher_pin: pin } = JSON.parse(made.stdout)
  const files = () => globSync('vault/**', { cwd: directory }).sort()
  const publish = (file: string, sha256: string, ...more: string[]) =>
    sass('publish', file, '--vault', 'vault', '--dispatcher', 'd.key', '--sha256', sha256, '--json', ...more)
  return { directory, sass, publish, files, pin: String(pin) }
}

t.test(
  'FT-010: publishing takes the SHA-256 that was reviewed, and a wrong one leaves the vault untouched (SA-59)',
  async (t) => {
    const { directory, sass, publish, files, pin } = await stage(t)
    t.equal(pin, '34750f98bd59fcfc946da45aaabe933be154a4b5094e1c4abf42866505f3c97e')
    const before = files()
    const right = sha256Hex(BLOG_TEMPLATE)
    for (const wrong of ['', `${right.slice(0, -1)}${right.endsWith('0') ? '1' : '0'}`]) {
      t.match(await publish('blog.json', wrong), { code: 125, stderr: /vault is as it was/ })
      t.strictSame(files(), before)
    }
    t.match(await sass('publish', 'blog.json', '--vault', 'vault', '--dispatcher', 'd.key', '--yes'), {
      code: 125,
      stderr: /Nobody is at a terminal/,
    })
    t.strictSame(files(), before)
    t.match(await sass('digest', 'blog.json'), { code: 0, stdout: `${right}\n` })
    t.match(await publish('blog.json', right.toUpperCase()), { code: 0 })
    t.equal(files().length, before.length + 2)
    // A version never changes.
    const sealed = readFileSync(join(directory, 'vault/templates/blog_article_intent_v1.json.age'))
    t.match(await publish('blog.json', right), { code: 125, stderr: /give the entry a new version/ })
    t.same(readFileSync(join(directory, 'vault/templates/blog_article_intent_v1.json.age')), sealed)
  },
)

t.test('FT-010: at a terminal the SHA-256 is typed (SA-59)', async (t) => {
  const { directory, files } = await stage(t)
  const before = files()
  const right = sha256Hex(BLOG_TEMPLATE)
  // A terminal of its own, whoever sits at it types the line.
  const script = [
    'import os, pty, sys',
    'pid, fd = pty.fork()',
    'if pid == 0: os.execv(sys.argv[2], sys.argv[2:])',
    'text = b""',
    'while b"to sign it:" not in text: text += os.read(fd, 4096)',
    'os.write(fd, sys.argv[1].encode() + b"\\n")',
    'try:',
    '    while os.read(fd, 4096): pass',
    'except OSError: pass',
    'sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))',
  ].join('\n')
  const publish = (typed: string) =>
    spawnSync(
      'python3',
      [
        ...['-c', script, typed, process.execPath, join(import.meta.dirname, '../../../src/main.ts')],
        ...['intent', 'publish', 'blog.json', '--vault', 'vault', '--dispatcher', 'd.key'],
      ],
      { cwd: directory, timeout: 120_000 },
    )
  const wrong = publish(right.slice(1))
  if (wrong.error !== undefined && 'code' in wrong.error && wrong.error.code === 'ENOENT')
    return t.comment('skipped: python3 is not here')
  t.equal(wrong.status, 125, wrong.stderr?.toString())
  t.strictSame(files(), before)
  t.equal(publish(right).status, 0)
  t.equal(files().length, before.length + 2)
})

t.test('only the dispatcher of the vault publishes, and only what a device would take (SA-43)', async (t) => {
  const { directory, sass, publish, files } = await stage(t)
  const before = files()
  const right = sha256Hex(BLOG_TEMPLATE)
  t.match(
    await sass('publish', 'blog.json', '--vault', 'vault', '--dispatcher', 'other.key', '--sha256', right),
    { code: 125, stderr: /another dispatcher/ },
  )
  for (const [bad, reason] of [
    [{ ...BLOG_TEMPLATE, json_schema: { pattern: 'a' } }, /pattern/],
    [{ ...BLOG_TEMPLATE, extra: 1 }, /extra/],
    [{ ...BLOG_TEMPLATE, template_id: '../evil' }, /template_id/],
    [[], /no object/],
  ] as const) {
    writeFileSync(join(directory, 'bad.json'), JSON.stringify(bad))
    t.match(await publish('bad.json', right), { code: 125, stderr: reason })
  }
  t.match(await publish('blog.json', right, '--recipient', 'age1nobody'), {
    code: 125,
    stderr: /no age recipient/,
  })
  t.strictSame(files(), before)
})

t.test(
  'an envelope is packed, and passes the checks of the device that has the vault (SA-05, SA-35, SA-49)',
  async (t) => {
    const { directory, sass, publish, pin } = await stage(t)
    for (const [file, value] of [
      ['blog.json', BLOG_TEMPLATE],
      ['caps.json', BLOG_CAPABILITIES],
    ] as const)
      t.match(await publish(file, sha256Hex(value)), { code: 0 })
    const words = ['pack', '--agent', 'intake_agent', '--key', 'intake.key', '--to', 'sanitization_agent']
    const packed = await sass(
      ...[...words, '--template', 'blog_article_intent@1', '--vault', 'vault', '--payload', 'article.json'],
      ...['--say', 'for the café', '--session', 's-1', '--json'],
    )
    t.match(packed, { code: 0 })
    const { file, envelope_id: id } = JSON.parse(packed.stdout)
    t.equal(file, join(directory, `${id}.satl.json`))
    const { contents } = await readVault(join(directory, 'vault'), pin)
    const ground = groundOf({ vault: contents, nowMs: Date.now() })
    t.match(checkEnvelope(readFileSync(file), ground), {
      kind: 'accepted',
      envelope: { sessionId: 's-1', humanReadable: 'for the café' },
    })
    // Without the vault: its manifest is no secret.
    const manifest = ['--template', 'vault/manifests/blog_article_intent_v1.manifest.json']
    t.match(await sass(...words, ...manifest, '--payload', 'article.json'), {
      code: 125,
      stderr: /--capability-set/,
    })
    const set = ['--capability-set', 'caps_blog_article_intent_v1@1']
    const nowhere = ['--payload', 'article.json', '--out', 'nodir/x']
    t.match(await sass(...words, ...manifest, ...set, ...nowhere), {
      code: 125,
      stderr: `cannot be written, since ${join(directory, 'nodir')} does not exist: choose another place`,
    })
    const out = await sass(...words, ...manifest, ...set, '--payload', 'article.json', '--out', '-')
    t.match(checkEnvelope(Buffer.from(out.stdout), ground), { kind: 'accepted' })
    // What would be refused is not signed.
    writeFileSync(join(directory, 'bad.json'), '{"title":"x"}')
    t.match(
      await sass(...words, '--template', 'blog_article_intent', '--vault', 'vault', '--payload', 'bad.json'),
      { code: 125, stderr: /does not fit its template/ },
    )
    t.match(await sass(...words, ...manifest, ...set, '--payload', 'article.json', '--session', '../evil'), {
      code: 125,
      stderr: /session_id/,
    })
    t.match(await sass(...words, ...manifest, ...set, '--payload', 'article.json', '--out', file), {
      code: 125,
      stderr: /is there already/,
    })
    t.notOk(existsSync(join(directory, 'evil.satl.json')))
  },
)

t.test('the next dispatcher is named by the present one', async (t) => {
  const { directory, sass, publish, pin } = await stage(t)
  const rotate = ['rotate', '--vault', 'vault', '--next', 'other.pub', '--dispatcher']
  t.match(await sass(...rotate, 'other.key'), { code: 125, stderr: /not that of the vault/ })
  t.match(await sass('rotate', '--vault', 'vault', '--next', 'd.pub', '--dispatcher', 'd.key'), {
    code: 125,
    stderr: /is the one that the vault .* has, so it is as it was/,
  })
  t.match(await sass(...rotate, 'd.key'), { code: 0, stdout: /believes both keys/, stderr: '' })
  t.match(await sass(...rotate, 'd.key'), { code: 0, stderr: '' }, 'the same once more replaces nothing')
  const by = await sass(
    ...['publish', 'caps.json', '--vault', 'vault', '--dispatcher', 'other.key'],
    ...['--sha256', sha256Hex(BLOG_CAPABILITIES)],
  )
  t.match(by, { code: 0 })
  t.match(await publish('blog.json', sha256Hex(BLOG_TEMPLATE)), { code: 0 })
  t.match(await readVault(join(directory, 'vault'), pin), { templates: 1, capabilitySets: 1, notes: [] })
  await runMain(directory, ['keygen', 'third'])
  t.match(await sass('rotate', '--vault', 'vault', '--next', 'third.pub', '--dispatcher', 'd.key'), {
    code: 0,
    stderr: /An earlier statement named the key with the pin [0-9a-f]{64}: it is replaced/,
  })
})

t.test('an envelope is carried only by a directory that is there', async (t) => {
  const { directory, sass } = await stage(t)
  writeFileSync(join(directory, 'e.json'), writeEnvelope(envelopeOf({})))
  const stick = join(directory, 'stick')
  t.match(await sass('send', 'e.json', '--directory', 'stick'), {
    code: 125,
    stderr: /There is no directory .*stick, so the envelope was not sent/,
  })
  t.notOk(existsSync(stick))
  mkdirSync(stick)
  t.match(await sass('send', 'e.json', '--directory', 'stick'), { code: 0 })
  t.equal(globSync('*/*.satl.json', { cwd: stick }).length, 1)
})

t.test('a device without a vault has no key as a sender, and says what makes it', async (t) => {
  const { directory, sass } = await stage(t)
  writeFileSync(join(directory, 'c.json'), '{"listen":{"admin_socket":"/tmp/x"}}')
  t.match(await sass('inbox', '--show-key', '--config', 'c.json'), {
    code: 125,
    stderr: /no key as a sender, since intent\.vault names no vault/,
  })
})

t.test('a word that is missing is named, and one too many as well', async (t) => {
  const directory = t.testdir({})
  for (const [words, said] of [
    [['run'], 'No FILE|SESSION_ID is given: write sass-edge intent run FILE|SESSION_ID.'],
    [['status'], 'No PLAN_ID|SESSION_ID is given: write sass-edge intent status PLAN_ID|SESSION_ID.'],
    [['vault'], 'No DIR is given: write sass-edge intent vault DIR'],
    [['tools', 'x'], '"x" is one word too many'],
    [[], 'intent can pack, vault,'],
  ] as const) {
    const { code, stderr } = await runMain(directory, ['intent', ...words])
    t.equal(code, 125)
    t.ok(stderr.startsWith(`sass-edge: ${said}`), stderr)
  }
})
