import {
  chmodSync,
  chownSync,
  readFileSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { publicKeyOf } from '../../../src/base/crypto/ed25519.node.ts'
import { hostSha256 } from '../../../src/base/crypto/sha256.node.ts'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import { makeIdentity, sealAge } from '../../../src/edge/intent/age.node.ts'
import { prepareEntry, publishEntry, rotateDispatcher } from '../../../src/edge/intent/publish.node.ts'
import { readVault } from '../../../src/edge/intent/vault.node.ts'
import { checkEnvelope } from '../../../src/intent/envelopes/checks.ts'
import { sealEnvelope, writeEnvelope } from '../../../src/intent/envelopes/envelope.ts'
import { makeDiskVault } from '../../intent/disk-vault.node.ts'
import {
  BLOG_CAPABILITIES,
  BLOG_TEMPLATE,
  DISPATCHER,
  envelopeOf,
  groundOf,
  INTAKE,
  manifestOf,
  OVER,
  signBy,
} from '../../intent/ground.ts'

const ENTRY = 'templates/blog_article_intent_v1.json.age'
const pinOf = (key: Uint8Array) => encodeHex(hostSha256(key))

/** Changes what may not be changed, and closes it again. */
function put(directory: string, name: string, bytes: Uint8Array): void {
  const path = join(directory, name)
  const parent = join(path, '..')
  chmodSync(parent, 0o755)
  try {
    unlinkSync(path)
  } catch {}
  writeFileSync(path, bytes, { mode: 0o444 })
  chmodSync(path, 0o444)
  chmodSync(parent, 0o555)
}

t.test(
  'a vault is read whole, and an envelope passes all checks against it (SA-13, SA-16, SA-21, SA-26)',
  async (t) => {
    const { directory, pin } = await makeDiskVault(t.testdir())
    const read = await readVault(directory, pin)
    t.match(read, { templates: 1, capabilitySets: 1, notes: [] })
    t.match(checkEnvelope(writeEnvelope(envelopeOf()), groundOf({ vault: read.contents })), {
      kind: 'accepted',
    })
    t.notMatch(readFileSync(join(directory, ENTRY), 'latin1'), /template_id/)
    t.match(readFileSync(join(directory, ENTRY), 'latin1'), /^age-encryption\.org\/v1\n-> X25519 /)
  },
)

t.test(
  "FT-001: another dispatcher's key than the pinned one stops everything (SA-22, SA-23, SA-44, SA-50)",
  async (t) => {
    const { directory, pin } = await makeDiskVault(t.testdir())
    await t.rejects(readVault(directory, pinOf(publicKeyOf(OVER))), { code: 'PIN_MISMATCH' })
    put(directory, 'keys/dispatcher_verify.pub', publicKeyOf(OVER))
    await t.rejects(readVault(directory, pin), { code: 'PIN_MISMATCH', message: /dispatcher_pin/ })
    // The key is looked at before anything else is: what follows is missing.
    renameSync(join(directory, 'age_identity.key'), join(directory, 'gone'))
    await t.rejects(readVault(directory, pin), { code: 'PIN_MISMATCH' })
    for (const bytes of [new Uint8Array(31), new Uint8Array(0), Buffer.from(`${'a'.repeat(64)}`)]) {
      put(directory, 'keys/dispatcher_verify.pub', bytes)
      await t.rejects(readVault(directory, pin), { code: 'KEY_FILE_INVALID' })
    }
  },
)

t.test('a vault that can be written to is refused with what to do (SA-24)', async (t) => {
  for (const [name, mode] of [
    ['', 0o755],
    ['templates', 0o775],
    ['manifests/capsets', 0o755],
    [ENTRY, 0o644],
    ['manifests/blog_article_intent_v1.manifest.json', 0o464],
    ['keys/dispatcher_verify.pub', 0o446],
  ] as const) {
    const { directory, pin } = await makeDiskVault(t.testdir())
    chmodSync(join(directory, name), mode)
    await t.rejects(readVault(directory, pin), { code: 'KEY_FILE_INVALID', message: /chmod -R a-w/ }, name)
    chmodSync(directory, 0o755)
  }
})

t.test('the identity has mode 0600, and is of X25519 (SA-25, SA-47)', async (t) => {
  const { directory, pin } = await makeDiskVault(t.testdir())
  const identity = join(directory, 'age_identity.key')
  for (const mode of [0o644, 0o640, 0o400, 0o700]) {
    chmodSync(identity, mode)
    await t.rejects(readVault(directory, pin), { message: /mode 0\d{3} in place of 0600/ })
  }
  for (const text of ['', '# nothing\n', 'AGE-SECRET-KEY-1XYZ\n', `AGE-SECRET-KEY-PQ-1${'A'.repeat(58)}\n`]) {
    writeFileSync(identity, text)
    chmodSync(identity, 0o600)
    await t.rejects(readVault(directory, pin), { code: 'KEY_FILE_INVALID' })
  }
})

t.test('links and files of others are refused', async (t) => {
  const { directory, pin } = await makeDiskVault(t.testdir())
  chmodSync(join(directory, 'keys'), 0o755)
  renameSync(join(directory, 'keys/dispatcher_verify.pub'), join(directory, 'keys/other.pub'))
  symlinkSync('other.pub', join(directory, 'keys/dispatcher_verify.pub'))
  chmodSync(join(directory, 'keys'), 0o555)
  await t.rejects(readVault(directory, pin), { message: /symbolic link/ })
  if (process.geteuid?.() !== 0) return t.comment('skipped: only root gives files away')
  const other = await makeDiskVault(t.testdir())
  chownSync(join(other.directory, ENTRY), 4_711, 4_711)
  await t.rejects(readVault(other.directory, other.pin), { message: /uid 4711/ })
})

t.test('an entry for other recipients, or that is none, closes itself alone', async (t) => {
  const { directory, pin } = await makeDiskVault(t.testdir())
  const { recipient } = await makeIdentity()
  put(directory, ENTRY, await sealAge(encodeUtf8(JSON.stringify(BLOG_TEMPLATE)), [recipient]))
  const read = await readVault(directory, pin)
  t.match(read.notes, [/sealed for other recipients/])
  const sets = read.contents.capabilitySet('caps_blog_article_intent_v1', '1')
  t.equal(sets?.kind, 'open')
  t.match(checkEnvelope(writeEnvelope(envelopeOf()), groundOf({ vault: read.contents })), {
    refusal: { step: 5, problem: /sealed for other recipients/ },
  })
  const sealed = Buffer.from(await sealAge(encodeUtf8('{}'), [recipient]))
  sealed[sealed.length - 1] = (sealed[sealed.length - 1] ?? 0) ^ 1
  put(directory, ENTRY, sealed)
  t.match((await readVault(directory, pin)).notes, [/recipients|whole file/])
  put(directory, 'templates/notes.txt', encodeUtf8('x'))
  t.equal((await readVault(directory, pin)).notes.length, 2)
})

t.test('an entry can be for several devices, each by its own identity', async (t) => {
  const first = await makeDiskVault(t.testdir(), [])
  const other = await makeIdentity()
  for (const entry of [BLOG_TEMPLATE, BLOG_CAPABILITIES])
    await publishEntry(
      first.directory,
      prepareEntry(encodeUtf8(JSON.stringify(entry)), 'entry'),
      DISPATCHER,
      [first.recipient, other.recipient],
    )
  t.strictSame((await readVault(first.directory, first.pin)).notes, [])
  writeFileSync(join(first.directory, 'age_identity.key'), other.file)
  chmodSync(join(first.directory, 'age_identity.key'), 0o600)
  t.strictSame((await readVault(first.directory, first.pin)).notes, [])
})

t.test('what it can hold is bounded', async (t) => {
  const { directory, pin, recipient } = await makeDiskVault(t.testdir())
  put(directory, ENTRY, await sealAge(new Uint8Array(1_048_577), [recipient]))
  t.match((await readVault(directory, pin)).notes, [/more than 1048576 bytes/])
  put(directory, ENTRY, new Uint8Array(1_114_113))
  await t.rejects(readVault(directory, pin), { message: /larger than/ })
  const many = Array.from({ length: 129 }, () => recipient)
  await t.rejects(sealAge(new Uint8Array(1), many), { code: 'USAGE' })
  const stanza = `-> X25519 ${'A'.repeat(43)}\n${'A'.repeat(43)}\n`
  put(directory, ENTRY, encodeUtf8(`age-encryption.org/v1\n${stanza.repeat(10_000)}--- AAAA\n`))
  t.match((await readVault(directory, pin)).notes, [/more than 128 recipients/])
})

t.test(
  "a dispatcher's key is followed by another that it has signed for, until the pin is changed",
  async (t) => {
    const { directory, pin, recipient } = await makeDiskVault(t.testdir())
    const next = publicKeyOf(OVER)
    t.throws(() => rotateDispatcher(directory, INTAKE, next), { code: 'USAGE' })
    const second = { ...BLOG_TEMPLATE, version: '2' }
    const prepared = prepareEntry(encodeUtf8(JSON.stringify(second)), 'entry')
    await t.rejects(publishEntry(directory, prepared, OVER, [recipient]), { message: /another dispatcher/ })
    t.equal(rotateDispatcher(directory, DISPATCHER, next), pinOf(next))
    await publishEntry(directory, prepared, OVER, [recipient])
    const { contents } = await readVault(directory, pin)
    const { templateRef } = envelopeOf()
    const manifest = manifestOf('template', second, OVER)
    const envelope = sealEnvelope(
      {
        ...envelopeOf(),
        templateRef: {
          ...templateRef,
          version: '2',
          sha256: manifest.sha256,
          dispatcherSignature: manifest.dispatcherSignature,
        },
      },
      signBy(INTAKE),
    )
    for (const each of [envelope, envelopeOf()])
      t.match(checkEnvelope(writeEnvelope(each), groundOf({ vault: contents })), { kind: 'accepted' })
    // A statement that somebody else has signed, or that is about another key, stops the start.
    const statement = JSON.parse(readFileSync(join(directory, 'keys/dispatcher_next.json'), 'utf8'))
    for (const more of [
      { next_key: Buffer.from(publicKeyOf(INTAKE)).toString('hex') },
      { previous_key: Buffer.from(next).toString('hex') },
      { signature: '00'.repeat(64) },
      { statement: 'other' },
      { extra: 1 },
    ]) {
      put(directory, 'keys/dispatcher_next.json', encodeUtf8(JSON.stringify({ ...statement, ...more })))
      await t.rejects(readVault(directory, pin), { code: 'KEY_FILE_INVALID' }, JSON.stringify(more))
    }
  },
)
