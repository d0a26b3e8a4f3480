import { chmodSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  checkPin,
  isFingerprint,
  loadPins,
  pinFile,
  pinMismatch,
  savePin,
} from '../../../src/client/link/pins.node.ts'
import { PIN_FILE_BYTES } from '../../../src/limits.ts'

const A = `sha256:${Buffer.alloc(32, 1).toString('base64url')}`
const C = `sha256:${Buffer.alloc(32, 3).toString('base64url')}`
const B = `sha256:${Buffer.alloc(32, 2).toString('base64url')}`

t.test('an absent file has no pins; a saved one is found again, mode 0600, others kept', async (t) => {
  const path = join(t.testdir({}), 'deep/er/known_devices.json')
  t.equal(loadPins(path).size, 0)
  savePin(path, 'b:1', A)
  savePin(path, 'a:1', B)
  const today = new Date().toISOString().slice(0, 10)
  t.same(
    [...loadPins(path)],
    [
      ['a:1', { key: B, since: today }],
      ['b:1', { key: A, since: today }],
    ],
  )
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(statSync(join(path, '..')).mode & 0o777, 0o700)
  t.same(JSON.parse(readFileSync(path, 'utf8')), {
    'a:1': { key: B, since: today },
    'b:1': { key: A, since: today },
  })
})

t.test('what is announced stands beside the pin and does not make it younger', async (t) => {
  const path = join(
    t.testdir({ p: JSON.stringify({ 'a:1': A, 'b:1': { key: B, since: '2020-01-31' } }) }),
    'p',
  )
  chmodSync(path, 0o600)
  t.same(loadPins(path).get('a:1'), { key: A }, 'a pin of whose day nothing is known')
  savePin(path, 'b:1', B, C)
  t.same(loadPins(path).get('b:1'), { key: B, since: '2020-01-31', next: C })
  savePin(path, 'b:1', C)
  t.same(Object.keys(loadPins(path).get('b:1') ?? {}), ['key', 'since'], 'it has followed')
  t.notMatch(loadPins(path).get('b:1'), { since: '2020-01-31' })
})

t.test('a device is known, unknown or changed', async (t) => {
  const pin = { key: A, next: C }
  const pins = new Map([['a:1', pin]])
  t.same(checkPin(pins, 'a:1', A), { kind: 'match', pin })
  t.same(checkPin(pins, 'a:1', B), { kind: 'changed', pin })
  t.same(checkPin(pins, 'a:1', C), { kind: 'follows', pin }, 'as it was announced')
  t.same(checkPin(pins, 'a:2', A), { kind: 'unknown' })
  t.same(checkPin(pins, '__proto__', A), { kind: 'unknown' })
})

t.test('a changed key names both fingerprints and the command that accepts the new one', async (t) => {
  const error = pinMismatch('a:1', { key: A, since: '2020-01-31' }, B)
  t.equal(error.code, 'PIN_MISMATCH')
  for (const part of [A, B, 'sass-edge trust --replace a:1', 'nothing was sent', 'since 2020-01-31'])
    t.ok(error.message.includes(part), part)
})

t.test('a fingerprint is sha256 and 32 bytes in base64url, in one spelling', async (t) => {
  t.ok(isFingerprint(A))
  for (const bad of [
    '',
    'sha256:',
    A.slice(0, -1),
    `${A}=`,
    A.replace('sha256', 'SHA256'),
    A.replace('sha256', 'sha1'),
    `${A} `,
  ]) {
    t.notOk(isFingerprint(bad), bad)
  }
  t.throws(() => savePin(join(t.testdir({}), 'p'), 'a:1', 'sha256:x'), { code: 'USAGE' })
})

t.test('stops at a file that is damaged, too large, or that others can change', async (t) => {
  const directory = t.testdir({
    damaged: '{"a:1": ',
    twice: `{"a:1": "${A}", "a:1": "${B}"}`,
    list: '[]',
    nested: '{"a:1": {}}',
    wrong: '{"a:1": "sha256:x"}',
    big: Buffer.alloc(PIN_FILE_BYTES + 1, ' '),
    open: '{}',
    dir: {},
  })
  chmodSync(join(directory, 'open'), 0o666)
  for (const name of ['damaged', 'twice', 'list', 'nested', 'wrong', 'big', 'open', 'dir']) {
    t.throws(() => loadPins(join(directory, name)), { code: 'CONFIG_LOAD_FAILED' }, name)
    t.throws(
      () => savePin(join(directory, name), 'b:1', A),
      { code: 'CONFIG_LOAD_FAILED' },
      `${name} is not overwritten`,
    )
  }
  t.throws(() => loadPins(join(directory, 'open')), { message: /chmod 600/ })
})

t.test('a place that cannot be written is one sentence', async (t) => {
  const directory = t.testdir({ file: '' })
  t.throws(() => savePin(join(directory, 'file/x/p.json'), 'a:1', A), {
    message: /since a part of its path is not a directory: correct that/,
  })
})

t.test('the pins are in the configuration directory of the user', async (t) => {
  t.equal(pinFile({ HOME: '/h' }), '/h/.config/sass-edge/known_devices.json')
  t.throws(() => pinFile({}), { code: 'CONFIG_LOAD_FAILED' })
})
