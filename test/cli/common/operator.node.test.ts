/**
 * The operator's commands as far as they go without a daemon: what they refuse, and that nothing was sent then.
 * @module
 */
import t from 'tap'
import { doneMessage, utcTime } from '../../../src/cli/common/operator.node.ts'
import { runMain } from '../run-main.node.ts'

const CONFIG = '{"listen": {"admin_socket": "/tmp/sass-edge-operator-test/none.sock"}}'
const ID = 'ab'.repeat(16)

t.test('what is not clear is a local mistake, before anybody is asked', async (t) => {
  const directory = t.testdir({ 'c.json': CONFIG })
  for (const [words, reason] of [
    [['confirm'], /confirm can list, approve ID and deny ID/],
    [['confirm', 'approve'], /confirm can list/],
    [['confirm', 'list', ID], /confirm can list/],
    [['confirm', 'approve', ID, '--json'], /give --yes if you have seen it/],
    [['level', 'set'], /level set daemon LEVEL/],
    [['level', 'set', 'daemon', 'ci', 'NORMAL'], /level set daemon LEVEL/],
    [['level', 'set', 'agent', 'NORMAL'], /level set daemon LEVEL/],
    [['level', 'set', 'agent', 'a b', 'NORMAL'], /no name of an agent/],
    [['level', 'set', 'session', 'ab', 'NORMAL'], /no id of a session/],
    [['level', 'set', 'daemon', 'RESTRIKT'], /did you mean RESTRICT\?/],
    [['level', 'set', 'world', 'NORMAL'], /level set daemon LEVEL/],
    [['penalties'], /penalties can list and clear/],
    [['penalties', 'clear', 'example.org'], /is no address/],
    [['penalties', 'clear', '192.0.2.7/24/1'], /is no address/],
    [['reload', 'now'], /one word too many/],
  ] as const)
    t.match(
      await runMain(directory, [...words, '--config', 'c.json']),
      { code: 125, stderr: reason },
      words.join(' '),
    )
})

t.test('without a daemon each of them says so, and 255', async (t) => {
  const directory = t.testdir({ 'c.json': CONFIG })
  for (const words of [
    ['confirm', 'list'],
    ['confirm', 'deny', ID, '--yes'],
    ['level', 'show'],
    ['level', 'set', 'daemon', 'normal'],
    ['penalties', 'list'],
    ['penalties', 'clear'],
    ['reload'],
  ])
    t.match(
      await runMain(directory, [...words, '--config', 'c.json']),
      { code: 255, stdout: '', stderr: /^sass-edge: The admin socket .* no daemon listens there/ },
      words.join(' '),
    )
})

t.test('an outcome is its sentence, or an error with it', async (t) => {
  t.equal(doneMessage({ success: true, message: 'Denied.\u001b' }, 'USAGE'), 'Denied.\\x1b')
  t.throws(() => doneMessage({ success: false, message: 'No.' }, 'CONFIG_INVALID'), {
    code: 'CONFIG_INVALID',
    message: 'No.',
  })
  t.throws(() => doneMessage({ success: false, message: '' }, 'USAGE'), { message: /does not say why/ })
})

t.test('times are told in UTC, whatever a device sends', async (t) => {
  t.equal(utcTime(1_767_323_045), '2026-01-02 03:04:05Z')
  t.equal(utcTime(Number.MAX_SAFE_INTEGER), '-')
})
