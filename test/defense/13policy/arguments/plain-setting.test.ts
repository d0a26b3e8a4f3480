/**
 * Values of variables that make nothing load or run, and those that do.
 * @module
 */
import t from 'tap'
import { isPlainSetting } from '../../../../src/defense/13policy/arguments/plain-setting.ts'

const CWD = '/srv/work'

const PLAIN = [
  ['NODE_OPTIONS', '--max-old-space-size=4096 --trace-warnings'],
  ['MAKEFLAGS', '-j4'],
  ['MAKEFLAGS', 'ks -j --no-print-directory'],
  ['LD_LIBRARY_PATH', './lib:/usr/lib/x86_64-linux-gnu'],
  ['LD_LIBRARY_PATH', '/srv/work/build'],
  ['OPENSSL_CONF', '/dev/null'],
  ['ENV', 'test'],
  ['PS4', '+ '],
  ['PATH', '/srv/work/bin:/usr/bin'],
  ['PATH', '/usr/bin:/tmp/bin'],
] as const

const NOT_PLAIN = [
  ['NODE_OPTIONS', '--max-old-space-size=4096 -r ./x'],
  ['NODE_OPTIONS', '--import=./x'],
  ['NODE_OPTIONS', '--inspect'],
  ['MAKEFLAGS', '--eval=x'],
  ['MAKEFLAGS', '-kf x'],
  ['MAKEFLAGS', '-j2 SHELL=./x'],
  ['MAKEFLAGS', '-C /'],
  ['JAVA_TOOL_OPTIONS', '-Xmx256m -Dfile.encoding=UTF-8'],
  ['JAVA_TOOL_OPTIONS', '-Xmx256m -javaagent:x.jar'],
  ['PERL5LIB', 'lib'],
  ['LD_LIBRARY_PATH', './lib:../x'],
  ['LD_LIBRARY_PATH', '/tmp/x'],
  ['LD_LIBRARY_PATH', '/srv/workshop'],
  ['OPENSSL_CONF', './x'],
  ['ENV', './x'],
  ['PS4', '$(id)'],
  ['PATH', '/tmp:/usr/bin'],
  ['PATH', './bin:/dev/shm/x'],
  ['LD_PRELOAD', ''],
] as const

t.test('sizes, numbers and places of the project are plain', async (t) => {
  for (const [name, value] of PLAIN) t.ok(isPlainSetting({ name, value }, CWD), `${name}=${value}`)
})

t.test('what loads or runs something is not, and neither is what is not known', async (t) => {
  for (const [name, value] of NOT_PLAIN) t.notOk(isPlainSetting({ name, value }, CWD), `${name}=${value}`)
  t.notOk(isPlainSetting({ name: 'MAKEFLAGS', value: undefined }, CWD))
  t.notOk(isPlainSetting({ name: 'LD_LIBRARY_PATH', value: undefined, stands: '<unknown>' }, CWD))
  t.notOk(isPlainSetting({ name: 'LD_LIBRARY_PATH', value: undefined, stands: '<unknown>:./lib' }, CWD))
  t.notOk(isPlainSetting({ name: 'LD_LIBRARY_PATH', value: './lib' }, undefined))
})

t.test(
  'behind the places of the project there may be what was there before; a number may be any number',
  async (t) => {
    t.ok(isPlainSetting({ name: 'LD_LIBRARY_PATH', value: undefined, stands: './lib:<unknown>' }, CWD))
    t.ok(isPlainSetting({ name: 'MAKEFLAGS', value: undefined, stands: '-j<unknown>' }, CWD))
  },
)
