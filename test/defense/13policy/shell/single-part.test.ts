/**
 * Substitutions that give one name, and those that give settings: what stands for them, and what does not count.
 * @module
 */
import t from 'tap'
import { parseShell } from '../../../../src/defense/13policy/shell/shell.ts'

function standsFor(line: string): string | undefined {
  const { commands } = parseShell(line, { cwd: '/srv/work', home: '/home/agent' })
  return commands.at(-1)?.words.at(-1)?.stands
}

t.test('one name without a slash stands for one part of a path', async (t) => {
  for (const inner of [
    'uname -r',
    'hostname',
    'nproc --all',
    'id -un',
    'date +%Y-%m-%d',
    'git rev-parse HEAD',
    'git rev-list --count HEAD',
    'stat -c %s fw.bin',
    'wc -l < x',
    'cat x | grep y | wc -l',
  ])
    t.equal(standsFor(`ls a/$(${inner})/b`), 'a/<part>/b', inner)
  t.equal(standsFor('ls "x$((N + 1))"'), 'x<part>')
})

t.test('what may print more, or anything, does not', async (t) => {
  for (const inner of [
    'uname -a',
    'date +shadow',
    'date +%D',
    'hostname -F x',
    'cat x',
    'uname; cat x',
    'uname | cat',
    'stat -c %n x',
    'wc -l x',
    'wc -l < x > y',
    'wc -l | cat',
    'uname < x',
  ])
    t.equal(standsFor(`ls a/$(${inner})/b`), 'a/<listed>/b', inner)
  t.equal(standsFor('uname() { cat x; }; ls a/$(uname -r)'), 'a/<listed>')
  t.equal(standsFor('PATH=.:$PATH; ls a/$(uname -r)'), 'a/<listed>')
})

t.test('programs that print settings for a shell are known by their arguments', async (t) => {
  for (const inner of ['ssh-agent -s', 'opam env', 'pyenv init -', 'brew shellenv', 'direnv export bash'])
    t.equal(standsFor(`eval "$(${inner})"`), '<settings>', inner)
  for (const inner of ['ssh-agent sh', './opam env', 'opam exec x', 'direnv exec . x', 'brew install x'])
    t.equal(standsFor(`eval "$(${inner})"`), '<listed>', inner)
})

t.test('what comes out of a clock or a count of processors tells nothing', async (t) => {
  const opaque = (line: string) =>
    parseShell(line, { cwd: '/srv/work', home: '/home/agent' }).commands.at(-1)?.words.at(-1)?.opaque
  for (const inner of ['date +%F', 'nproc', 'arch']) t.equal(opaque(`ls $(${inner})`), 'expansion', inner)
  for (const inner of ['hostname', 'id -u', 'whoami', 'wc -l < x'])
    t.equal(opaque(`ls $(${inner})`), 'substitution', inner)
})
