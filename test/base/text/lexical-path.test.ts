import t from 'tap'
import { baseName, isWithin, resolvePath } from '../../../src/base/text/lexical-path.ts'

t.test('joins a relative path to its directory and removes . and .. as text', async (t) => {
  t.equal(resolvePath('/etc/sass-edge', 'state'), '/etc/sass-edge/state')
  t.equal(resolvePath('/etc/sass-edge', '.'), '/etc/sass-edge')
  t.equal(resolvePath('/etc/sass-edge', '..//x/./y/'), '/etc/x/y')
  t.equal(resolvePath('/', '../../x'), '/x')
  t.equal(resolvePath('/a', '/b/../c'), '/c')
  t.equal(resolvePath('/a', '/'), '/')
})

t.test('a directory contains itself and what lies beneath, not its namesakes', async (t) => {
  t.ok(isWithin('/work', '/work'))
  t.ok(isWithin('/work', '/work/a'))
  t.ok(isWithin('/', '/anything'))
  t.notOk(isWithin('/work', '/works'))
  t.notOk(isWithin('/work/a', '/work'))
})

t.test('a base name is what follows the last slash', async (t) => {
  t.equal(baseName('/usr/bin/env'), 'env')
  t.equal(baseName('env'), 'env')
  t.equal(baseName('./a/'), '')
  t.equal(baseName(''), '')
})
