import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { gitSettings } from '../../../src/edge/setup/git-settings.node.ts'
import { GIT_SETTINGS_BYTES } from '../../../src/limits.ts'

const PLAIN =
  '[user]\n\tname = A\n\temail = a@example.com\n[Init]\n\tdefaultBranch = main\n[branch "main"]\n\trebase = true\n'

t.test('settings of git are readable where they are nothing but that', (t) => {
  const home = t.testdir({})
  const path = join(home, '.gitconfig')
  t.equal(gitSettings(home), undefined, 'there are none')
  for (const [text, is] of [
    [PLAIN, true],
    ['', true],
    [`${PLAIN}[credential]\n\thelper = store\n`, false],
    [`${PLAIN}[url "https://token@example.com/"]\n\tinsteadOf = https://example.com/\n`, false],
    [`${PLAIN}[http]\n\textraHeader = Authorization: x\n`, false],
    [`${PLAIN}  [ HTTP "https://example.com"]\n\textraHeader = Authorization: x\n`, false],
    [`${PLAIN}[include]\n\tpath = other\n`, false],
    [`${PLAIN}[includeIf "gitdir:/x"]\n\tpath = other\n`, false],
    [`[user]\n\tname = A [http]\n`, true],
    ['[user] [http]\n\textraHeader = Authorization: x\n', false],
    [`${PLAIN}#${'x'.repeat(GIT_SETTINGS_BYTES)}\n`, false],
  ] as const) {
    writeFileSync(path, text)
    t.equal(gitSettings(home), is ? path : undefined, text.slice(-60))
  }
  t.end()
})

t.test('a link is none', (t) => {
  const home = t.testdir({ other: PLAIN })
  symlinkSync(join(home, 'other'), join(home, '.gitconfig'))
  t.equal(gitSettings(home), undefined)
  t.end()
})
