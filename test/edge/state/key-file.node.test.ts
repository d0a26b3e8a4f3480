import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { ed25519 } from '@noble/curves/ed25519.js'
import t from 'tap'
import {
  createKeyFiles,
  generateKeyPair,
  readPrivateKey,
  readPublicKey,
} from '../../../src/edge/state/key-file.node.ts'

t.test(
  'makes 32 raw bytes of mode 0600 and a public key that belongs to them (SA-45, SA-46, SA-48)',
  async (t) => {
    const base = join(t.testdir({}), 'agent')
    const pair = createKeyFiles(base)
    t.equal(statSync(`${base}.key`).size, 32)
    t.equal(statSync(`${base}.key`).mode & 0o7777, 0o600)
    t.equal(statSync(`${base}.pub`).size, 32)
    t.same(readPrivateKey(`${base}.key`), pair.seed)
    t.same(readPublicKey(`${base}.pub`), pair.publicKey)
    t.same(ed25519.getPublicKey(pair.seed), pair.publicKey, 'both libraries agree')
    const key = createPrivateKey({
      key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), pair.seed]),
      format: 'der',
      type: 'pkcs8',
    })
    t.ok(verify(null, Buffer.from('x'), createPublicKey(key), sign(null, Buffer.from('x'), key)))
  },
)

t.test('two pairs differ', async (t) => {
  t.not(
    Buffer.from(generateKeyPair().seed).toString('hex'),
    Buffer.from(generateKeyPair().seed).toString('hex'),
  )
})

t.test('overwrites neither half and writes nothing where one is there', async (t) => {
  const directory = t.testdir({ 'a.key': 'old', 'b.pub': 'old' })
  for (const name of ['a', 'b']) {
    t.throws(() => createKeyFiles(join(directory, name)), {
      code: 'KEY_FILE_INVALID',
      message: /exists already and nothing was written/,
    })
  }
  t.same(readdirSync(directory).sort(), ['a.key', 'b.pub'])
  t.equal(readFileSync(join(directory, 'a.key'), 'utf8'), 'old')
})

t.test('a private key of any other mode is refused with the chmod to run (SA-45)', async (t) => {
  const base = join(t.testdir({}), 'agent')
  createKeyFiles(base)
  for (const mode of [0o644, 0o640, 0o660, 0o400, 0o700, 0o4600]) {
    chmodSync(`${base}.key`, mode)
    t.throws(() => readPrivateKey(`${base}.key`), {
      code: 'KEY_FILE_INVALID',
      message: `The private key ${base}.key has mode ${mode.toString(8).padStart(4, '0')} in place of 0600 and was not used: run chmod 600 ${base}.key.`,
    })
  }
})

t.test('the chmod to run can be pasted whatever the path', async (t) => {
  const directory = join(t.testdir({}), "it's here")
  mkdirSync(directory)
  const base = join(directory, 'k')
  createKeyFiles(base)
  chmodSync(`${base}.key`, 0o644)
  t.throws(() => readPrivateKey(`${base}.key`), { message: /run chmod 600 '.*it'\\''s here\/k\.key'/ })
})

t.test('refuses links, directories, other sizes and files that are not there (SA-48)', async (t) => {
  const directory = t.testdir({ dir: {} })
  createKeyFiles(join(directory, 'real'))
  symlinkSync('real.key', join(directory, 'link.key'))
  writeFileSync(join(directory, 'short.key'), Buffer.alloc(31), { mode: 0o600 })
  writeFileSync(join(directory, 'long.key'), Buffer.alloc(33), { mode: 0o600 })
  const message = (name: string) => {
    try {
      readPrivateKey(join(directory, name))
    } catch (error) {
      return error instanceof Error ? error.message : ''
    }
    return 'accepted'
  }
  t.match(message('link.key'), 'it is a symbolic link')
  t.match(message('dir'), 'is not a regular file')
  t.match(message('short.key'), 'is 31 bytes long')
  t.match(message('long.key'), 'is 33 bytes long')
  t.match(message('none.key'), 'it does not exist: make one with sass-edge keygen')
})

t.test("refuses somebody else's private key", async (t) => {
  if (process.geteuid?.() !== 0) return t.comment('skipped: only root can give files away')
  const base = join(t.testdir({}), 'agent')
  createKeyFiles(base)
  chownSync(`${base}.key`, 65_534, 65_534)
  t.throws(() => readPrivateKey(`${base}.key`), {
    code: 'KEY_FILE_INVALID',
    message: /belongs to another user \(uid 65534\)/,
  })
})

t.test('refuses a public key that others can change, of low order, or of another size', async (t) => {
  const directory = t.testdir({})
  createKeyFiles(join(directory, 'a'))
  chmodSync(join(directory, 'a.pub'), 0o664)
  t.throws(() => readPublicKey(join(directory, 'a.pub')), {
    message: /mode 0664, so others may have changed it/,
  })
  writeFileSync(join(directory, 'low.pub'), Buffer.alloc(32))
  t.throws(() => readPublicKey(join(directory, 'low.pub')), { code: 'KEY_FILE_INVALID' })
  writeFileSync(join(directory, 'text.pub'), 'ssh-ed25519 AAAA')
  t.throws(() => readPublicKey(join(directory, 'text.pub')), { message: /holds exactly 32 raw bytes/ })
})

t.test('never takes a private key for a public one', async (t) => {
  const base = join(t.testdir({}), 'a')
  createKeyFiles(base)
  t.throws(() => readPublicKey(`${base}.key`), {
    code: 'KEY_FILE_INVALID',
    message: /is a private key by its name/,
  })
  t.throws(() => readPrivateKey(`${base}.pub`), {
    code: 'KEY_FILE_INVALID',
    message: /a\.pub is a public key by its name .* name the file that ends in \.key\.$/,
  })
})

t.test('a place that cannot be written is one sentence', async (t) => {
  const directory = t.testdir({ file: '' })
  t.throws(() => createKeyFiles(join(directory, 'file', 'k')), {
    code: 'KEY_FILE_INVALID',
    message: /cannot be written, since a part of its path is not a directory: choose another place\.$/,
  })
})
