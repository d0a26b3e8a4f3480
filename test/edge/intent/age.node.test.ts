import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import t from 'tap'
import { hostSha256 } from '../../../src/base/crypto/sha256.node.ts'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { makeIdentity, openAge, readIdentities, sealAge } from '../../../src/edge/intent/age.node.ts'

const VECTORS = join(import.meta.dirname, '../../../../shared/vectors/age/testdata')
const LIMIT = 1_048_576

t.test('what was sealed for several can be opened by each, and by nobody else', async (t) => {
  const [first, second, other] = await Promise.all([makeIdentity(), makeIdentity(), makeIdentity()])
  const secretOf = ({ file }: { readonly file: string }) => readIdentities(file) ?? []
  for (const size of [0, 1, 65_535, 65_536, 65_537, 200_000]) {
    const plain = Buffer.alloc(size, 'x')
    const sealed = await sealAge(plain, [first.recipient, second.recipient])
    for (const each of [first, second]) {
      const opened = await openAge(sealed, { identities: secretOf(each) }, LIMIT)
      t.ok(opened.ok && Buffer.compare(opened.bytes, plain) === 0, String(size))
    }
    t.match(await openAge(sealed, { identities: secretOf(other) }, LIMIT), {
      ok: false,
      problem: /other recipients/,
    })
    t.match(await openAge(sealed.subarray(0, -1), { identities: secretOf(first) }, LIMIT), { ok: false })
  }
  t.match(
    await openAge(await sealAge(Buffer.alloc(11), [first.recipient]), { identities: secretOf(first) }, 10),
    {
      ok: false,
      problem: /more than 10 bytes/,
    },
  )
})

t.test('only X25519 recipients are sealed for', async (t) => {
  const { recipient } = await makeIdentity()
  const mistyped = `${recipient.slice(0, -1)}${recipient.endsWith('q') ? 'p' : 'q'}`
  for (const bad of [[], [''], ['age1pq1xyz'], [mistyped], [recipient, 'ssh-ed25519 AAAA']])
    await t.rejects(sealAge(new Uint8Array(1), bad), { code: 'USAGE' })
})

/** A file of the vectors: what its head says, and the age file after it. */
function readVector(name: string): { readonly head: ReadonlyMap<string, string>; readonly body: Buffer } {
  const whole = readFileSync(join(VECTORS, name))
  const end = whole.indexOf('\n\n')
  const lines = whole.subarray(0, end).toString('latin1').split('\n')
  const head = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  const body = whole.subarray(end + 2)
  return { head, body: head.get('compressed') === 'zlib' ? inflateSync(body) : body }
}

/** Needs what is left out: armour and recipients of other kinds. */
const LEFT_OUT = /^(?:armor|hybrid|mlkem|p256|tag)/

t.test('the vectors of the format: what must open does, and nothing else (SA-26)', async (t) => {
  if (!existsSync(VECTORS)) return t.comment('skipped: ../shared/vectors/age is not here')
  let opened = 0
  let refused = 0
  for (const name of readdirSync(VECTORS)) {
    const { head, body } = readVector(name)
    const identity = head.get('identity')
    if (LEFT_OUT.test(name) || head.has('armored')) continue
    if (identity !== undefined && !identity.startsWith('AGE-SECRET-KEY-1')) continue
    const identities = identity === undefined ? [] : [identity]
    const result = await openAge(body, { identities, passphrase: head.get('passphrase') }, 32 * LIMIT)
    if (head.get('expect') === 'success') {
      if (!result.ok || encodeHex(hostSha256(result.bytes)) !== head.get('payload')) t.fail(name)
      opened += 1
    } else {
      if (result.ok) t.fail(`${name} was opened`)
      refused += 1
    }
  }
  t.comment(`${opened} are opened, ${refused} are refused`)
  t.ok(opened >= 15 && refused > 70)
})

t.test('the program age opens what we seal, and we what it seals (SA-26)', async (t) => {
  const age = spawnSync('age', ['--version'])
  if (age.error !== undefined) return t.comment('skipped: the program age is not here')
  const directory = t.testdir()
  const { file, recipient } = await makeIdentity()
  const identity = join(directory, 'identity')
  writeFileSync(identity, file)
  const plain = Buffer.alloc(100_000, 'vault ')
  const ours = spawnSync('age', ['-d', '-i', identity], { input: await sealAge(plain, [recipient]) })
  t.equal(Buffer.compare(ours.stdout, plain), 0, ours.stderr.toString())
  const theirs = spawnSync('age', ['-r', recipient], { input: plain })
  const opened = await openAge(theirs.stdout, { identities: readIdentities(file) ?? [] }, LIMIT)
  t.ok(opened.ok && Buffer.compare(opened.bytes, plain) === 0)
  const key = spawnSync('age-keygen')
  if (key.error === undefined) t.equal(readIdentities(key.stdout.toString())?.length, 1)
})
