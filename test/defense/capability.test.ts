/**
 * Capability sets: what a pattern matches, deny before allow, and the cost of matching.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { isWithin } from '../../src/base/text/lexical-path.ts'
import {
  blocksCommand,
  type CapabilitySet,
  capabilityHash,
  matchesCommand,
  matchesPath,
  matchesWord,
  permitsCommand,
  permitsEffective,
  permitsPath,
} from '../../src/defense/capability.ts'
import { ARGUMENT_BYTES } from '../../src/limits.ts'
import { anySet, effectiveOf, executing, SET } from './staged-facts.ts'

const set = (change: Partial<CapabilitySet>): CapabilitySet => ({ ...SET, denied_commands: [], ...change })

/** By the definition, without any cleverness: every way to cut the word at the stars. */
function matchesByDefinition(pattern: string, word: string): boolean {
  if (pattern === '') return word === ''
  const [first = '', rest = ''] = [pattern[0], pattern.slice(1)]
  if (first !== '*') return word[0] === first && matchesByDefinition(rest, word.slice(1))
  for (let cut = 0; cut <= word.length; cut++) if (matchesByDefinition(rest, word.slice(cut))) return true
  return false
}

t.test('a star stands for any run of characters, also none, and nothing else is special', (t) => {
  for (const [pattern, word, fits] of [
    ['', '', true],
    ['', 'a', false],
    ['a', '', false],
    ['*', '', true],
    ['*', 'a/b c\nd', true],
    ['a*', 'a', true],
    ['a*c', 'abc', true],
    ['a*c', 'abcd', false],
    ['a*c', 'acbc', true],
    ['*.log', 'a.log.1', false],
    ['*.log', '.log', true],
    ['a**b', 'ab', true],
    ['a.c', 'abc', false],
    ['[ab]', 'a', false],
    ['a?', 'ab', false],
    ['a\\*', 'a*', false],
    ['*a*b*', 'xxaxxbxx', true],
    ['*a*b*', 'xxbxxaxx', false],
    ['(a+)+$', 'aaaa', false],
  ] as const) {
    t.equal(matchesWord(pattern, word), fits, `${pattern} and ${JSON.stringify(word)}`)
  }
  t.end()
})

t.test('the matcher agrees with the definition of a star', (t) => {
  const text = (letters: string, maxLength: number) =>
    fc.array(fc.constantFrom(...letters), { maxLength }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(
      text('ab*', 6),
      text('ab*', 8),
      (pattern, word) => matchesWord(pattern, word) === matchesByDefinition(pattern, word),
    ),
    { numRuns: 2_000 },
  )
  t.pass('for every one of them')
  t.end()
})

t.test('hostile arguments cost no more than their length', (t) => {
  const word = 'a'.repeat(ARGUMENT_BYTES)
  // 12 stars: whoever went back to each of them would not end.
  const patterns = [
    '*a*a*a*a*a*a*a*a*a*a*a*b',
    `*${'a'.repeat(30)}b`,
    '*ab*ab*ab*ab',
    `${'*'.repeat(4_000)}b`,
  ]
  for (const pattern of patterns) {
    const began = performance.now()
    t.equal(matchesWord(pattern, word), false)
    const half = performance.now()
    matchesWord(pattern, word + word)
    const took = [half - began, performance.now() - half]
    t.ok((took[0] ?? 0) < 250, `${pattern.slice(0, 24)}: ${took.map((ms) => ms.toFixed(1)).join(' and ')} ms`)
  }
  t.end()
})

t.test('a pattern of several words permits exactly that beginning of the arguments (OS-09)', (t) => {
  const allowed = (pattern: string, argv: readonly string[]) =>
    permitsCommand(set({ allowed_commands: [pattern] }), argv, undefined) === 'allowed'
  t.ok(allowed('git status', ['git', 'status']))
  t.ok(allowed('git status', ['git', 'status', '--short']))
  t.notOk(allowed('git status', ['git']))
  t.notOk(allowed('git status', ['git', 'push']))
  t.notOk(allowed('git status', ['git', '-c', 'x=y', 'status']))
  t.notOk(allowed('git status', ['git', 'status2']))
  t.notOk(allowed('git status', ['git status']), 'a blank in the name of a program is no second word')
  t.notOk(allowed('git status', ['git', 'status --short']))
  t.ok(allowed('npm test', ['npm', 'test']))
  t.ok(allowed('npm  test', ['npm', 'test']), 'more blanks between the words are one')
  t.notOk(allowed('npm test', ['npm', '']))
  t.ok(allowed('npm run *', ['npm', 'run', '']), 'a star needs an argument to stand for, empty or not')
  t.notOk(allowed('npm run *', ['npm', 'run']))
  t.ok(allowed('npm run build:*', ['npm', 'run', 'build:all', '--', 'x']))
  t.ok(allowed('* --version', ['anything', '--version']))
  t.notOk(allowed('* --version', ['anything']))
  t.ok(allowed('*', ['anything', 'at', 'all']))
  t.notOk(allowed('', ['']), 'an empty pattern names nothing')
  t.notOk(allowed(' ', [' ']))
  t.end()
})

t.test('a pattern without a directory means the program by its name, with one that very file', (t) => {
  t.ok(matchesCommand('ls', ['ls'], '/usr/bin/ls'))
  t.ok(matchesCommand('ls', ['/usr/bin/ls'], '/usr/bin/ls'))
  t.ok(matchesCommand('ls', ['./alias'], '/usr/bin/ls'), 'by the name of what it resolves to')
  t.ok(matchesCommand('ls', ['ls'], '/bin/busybox'), 'by the name that it is called by')
  t.notOk(matchesCommand('ls', ['lsblk'], '/usr/bin/lsblk'))
  t.ok(matchesCommand('/usr/bin/ls', ['ls'], '/usr/bin/ls'))
  t.notOk(
    matchesCommand('/usr/bin/ls', ['/usr/bin/ls'], '/srv/work/evil'),
    'the file counts, not the spelling',
  )
  t.notOk(matchesCommand('/usr/bin/ls', ['ls'], undefined), 'a bare name that was not found is no path')
  t.ok(matchesCommand('/usr/bin/*', ['ls'], '/usr/bin/ls'))
  t.ok(matchesCommand('*/python3*', ['python'], '/opt/py/bin/python3.12'))
  t.notOk(matchesCommand('/usr/bin/ls', ['ls'], '/usr/bin/ls2'))
  t.end()
})

t.test(
  'a command is denied by what was asked for and by what it resolves to, and allowed only by the latter',
  (t) => {
    const denied = set({ allowed_commands: ['*'], denied_commands: ['/bin/rm', 'git push'] })
    t.equal(permitsCommand(denied, ['/bin/rm', 'x'], '/usr/bin/rm'), 'denied', 'asked for')
    t.equal(permitsCommand(denied, ['/srv/alias'], '/bin/rm'), 'denied', 'resolved')
    t.equal(permitsCommand(denied, ['git', 'push'], '/usr/bin/git'), 'denied')
    t.equal(permitsCommand(denied, ['/opt/x', 'push'], '/opt/git'), 'denied')
    t.equal(permitsCommand(denied, ['git', 'pull'], '/usr/bin/git'), 'allowed')
    const allowed = set({ allowed_commands: ['/usr/bin/git'] })
    t.equal(permitsCommand(allowed, ['/usr/bin/git'], '/srv/evil'), 'unlisted')
    t.equal(permitsCommand(allowed, ['/srv/link'], '/usr/bin/git'), 'allowed')
    t.end()
  },
)

t.test('deny comes first, and an empty list allows nothing', (t) => {
  t.equal(permitsCommand(set({ allowed_commands: [] }), ['ls'], '/usr/bin/ls'), 'unlisted')
  t.equal(permitsCommand(set({ allowed_commands: ['*'] }), ['ls'], '/usr/bin/ls'), 'allowed')
  t.equal(
    permitsCommand(set({ allowed_commands: ['*'], denied_commands: ['*'] }), ['ls'], '/usr/bin/ls'),
    'denied',
  )
  t.equal(permitsCommand(set({ allowed_commands: ['ls'] }), [], undefined), 'unlisted')
  t.equal(permitsPath(set({ allowed_paths: [], denied_paths: [] }), '/'), 'unlisted')
  t.equal(permitsPath(set({ allowed_paths: ['*'], denied_paths: [] }), '/etc'), 'allowed')
  t.equal(permitsPath(set({ allowed_paths: ['*'], denied_paths: ['*'] }), '/etc'), 'denied')
  t.equal(permitsPath(SET, '/srv/work/secret'), 'denied')
  t.equal(permitsPath(SET, '/srv/work/secrets'), 'allowed')
  t.end()
})

t.test('a path pattern covers the path and what is beneath, not what begins with the same letters', (t) => {
  for (const [pattern, path, covers] of [
    ['/srv/work', '/srv/work', true],
    ['/srv/work', '/srv/work/a/b', true],
    ['/srv/work', '/srv/workshop', false],
    ['/srv/work', '/srv', false],
    ['/srv/work', '/', false],
    ['/', '/anything', true],
    ['/', '/', true],
    ['*', '/anything', true],
    ['/srv/*', '/srv/work', false],
  ] as const) {
    t.equal(matchesPath(pattern, path), covers, `${pattern} and ${path}`)
  }
  t.equal(isWithin('/a', '/ab'), false)
  t.equal(isWithin('/a', '/a/b'), true)
  t.end()
})

t.test('the order of a list means nothing', (t) => {
  const argv = fc.array(fc.constantFrom('ls', 'git', 'push', 'status', 'bash'), {
    minLength: 1,
    maxLength: 3,
  })
  const resolved = fc.constantFrom(undefined, '/usr/bin/ls', '/usr/bin/bash', '/srv/git')
  fc.assert(
    fc.property(
      anySet,
      argv,
      resolved,
      fc.constantFrom('/', '/srv/work', '/srv/work/secret/a'),
      (one, a, r, path) => {
        const other = {
          ...one,
          allowed_commands: one.allowed_commands.toReversed(),
          denied_commands: one.denied_commands.toReversed(),
          allowed_paths: one.allowed_paths.toReversed(),
          denied_paths: one.denied_paths.toReversed(),
        }
        return (
          permitsCommand(one, a, r) === permitsCommand(other, a, r) &&
          permitsPath(one, path) === permitsPath(other, path)
        )
      },
    ),
    { numRuns: 500 },
  )
  t.pass('for every one of them')
  t.end()
})

t.test('a longer deny list never permits more, a longer allow list never less', (t) => {
  const argv = fc.array(fc.constantFrom('ls', 'git', 'push', 'bash'), { minLength: 1, maxLength: 2 })
  const extra = fc.constantFrom('*', 'ls', 'git push', 'b*h', '/usr/bin/*')
  fc.assert(
    fc.property(anySet, argv, extra, (one, a, pattern) => {
      const is = (change: Partial<CapabilitySet>) => permitsCommand({ ...one, ...change }, a, '/usr/bin/x')
      const now = is({})
      const denying = is({ denied_commands: [...one.denied_commands, pattern] })
      const allowing = is({ allowed_commands: [...one.allowed_commands, pattern] })
      return (
        (denying === now || denying === 'denied') &&
        (allowing === now || (now === 'unlisted' && allowing === 'allowed'))
      )
    }),
    { numRuns: 500 },
  )
  t.pass('for every one of them')
  t.end()
})

t.test('the hash of a set depends on what it says and not on the order of its keys', (t) => {
  const hash = (value: CapabilitySet) => Buffer.from(capabilityHash(value)).toString('hex')
  const turned = Object.fromEntries(Object.entries(SET).toReversed()) as unknown as CapabilitySet
  t.equal(hash(turned), hash(SET))
  t.equal(capabilityHash(SET).length, 32)
  t.not(hash({ ...SET, max_concurrent: 3 }), hash(SET))
  t.end()
})

/** What a set says to a command line, which is taken apart as the daemon does it. */
function permits(change: Partial<CapabilitySet>, argv: readonly string[], resolved?: string): string {
  const action = resolved === undefined ? { ...executing(argv), executable: null } : executing(argv, resolved)
  return permitsEffective(set(change), argv, resolved, effectiveOf(action).commands)
}

t.test('what is denied is denied whatever it is reached through', (t) => {
  const all = { allowed_commands: ['*'] }
  for (const argv of [
    ['rm', 'x'],
    ['/bin/rm', 'x'],
    ['env', 'rm', 'x'],
    ['env', '-i', 'A=b', 'rm', 'x'],
    ['sh', '-c', 'rm x'],
    ['bash', '-c', 'true && (cd /; rm x)'],
    ['sh', '-c', 'sh -c "rm x"'],
    ['sh', '-c', 'echo $(rm x)'],
    ['find', '.', '-exec', 'rm', '{}', ';'],
    ['find', '.', '-execdir', '/bin/rm', '{}', '+'],
    ['busybox', 'rm', 'x'],
    ['xargs', 'rm'],
    ['nice', '-n', '5', 'timeout', '1', 'rm', 'x'],
    ['sudo', 'rm', 'x'],
  ]) {
    t.equal(permits({ ...all, denied_commands: ['rm'] }, argv), 'denied', argv.join(' '))
    t.equal(
      permits({ ...all, denied_commands: ['rmdir'] }, argv),
      'allowed',
      `${argv.join(' ')}, another program`,
    )
  }
  for (const argv of [
    ['git', 'commit', '-m', 'rm x'],
    ['grep', 'rm', 'notes'],
    ['man', 'rm'],
    ['echo', 'rm', 'x'],
    ['sh', '-c', "echo 'rm x'"],
  ])
    t.equal(
      permits({ ...all, denied_commands: ['rm'] }, argv),
      'allowed',
      `${argv.join(' ')} only mentions it`,
    )
  t.equal(permits({ ...all, denied_commands: ['git push'] }, ['sh', '-c', 'git push origin']), 'denied')
  t.equal(permits({ ...all, denied_commands: ['git push'] }, ['sh', '-c', 'git pull']), 'allowed')
  t.end()
})

t.test(
  'of everything that would run, everything must be allowed; what a shell does itself is not asked about',
  (t) => {
    const make = { allowed_commands: ['make', 'sh'] }
    t.equal(permits(make, ['sh', '-c', 'make']), 'allowed')
    t.equal(permits(make, ['sh', '-c', 'make && ls']), 'unlisted')
    t.equal(permits(make, ['sh', '-c', 'cd /srv && echo start && make; test -f x || exit 1']), 'allowed')
    t.equal(permits(make, ['sh', '-c', 'make; ./echo']), 'unlisted', 'a file of such a name is no builtin')
    t.equal(permits(make, ['sh', '-c', 'env echo x']), 'unlisted', 'and env starts files')
    t.equal(permits({ allowed_commands: ['env'] }, ['env', './true']), 'unlisted')
    t.equal(permits({ allowed_commands: ['env'] }, ['env', 'true']), 'unlisted')
    t.equal(permits(make, ['sh', '-c', 'eval make']), 'allowed')
    t.equal(permits(make, ['sh', '-c', 'eval ls']), 'unlisted')
    t.equal(
      permits({ allowed_commands: ['sh'] }, ['sh', '-c', '$PROGRAM x']),
      'unlisted',
      'a program that is not known',
    )
    t.equal(permits({ allowed_commands: ['find'] }, ['find', '.', '-name', 'x']), 'allowed')
    t.equal(permits({ allowed_commands: ['find'] }, ['find', '.', '-exec', 'cat', '{}', ';']), 'unlisted')
    t.equal(
      permits({ allowed_commands: ['find', 'cat'] }, ['find', '.', '-exec', 'cat', '{}', ';']),
      'allowed',
    )
    t.equal(permits({ allowed_commands: ['git status', 'sh'] }, ['sh', '-c', 'git status']), 'allowed')
    t.equal(permits({ allowed_commands: ['git status', 'sh'] }, ['sh', '-c', 'git push']), 'unlisted')
    t.equal(permits({ allowed_commands: ['sudo'] }, ['sudo', 'ls']), 'unlisted')
    t.equal(
      permits({ allowed_commands: ['ls'] }, ['sudo', 'ls']),
      'unlisted',
      'and what reaches it must be allowed too',
    )
    t.end()
  },
)

t.test('a pattern with a directory allows that very file, and denies whatever may be it', (t) => {
  const rm = { allowed_commands: ['*'], denied_commands: ['/usr/bin/rm'] }
  t.equal(permits(rm, ['rm', 'x'], '/usr/bin/rm'), 'denied')
  t.equal(permits(rm, ['rm', 'x'], '/opt/rm'), 'allowed', 'another file')
  t.equal(permits(rm, ['env', '/usr/bin/rm', 'x']), 'denied')
  t.equal(permits(rm, ['env', 'rm', 'x']), 'denied', 'whose file is not known')
  t.equal(permits(rm, ['sh', '-c', 'rm x']), 'denied')
  t.equal(permits(rm, ['env', '/opt/rm', 'x']), 'allowed')
  t.equal(permits(rm, ['sh', '-c', 'ls']), 'allowed')
  t.equal(
    permits({ ...rm, denied_commands: ['/opt/*'] }, ['sh', '-c', 'ls']),
    'allowed',
    'a whole directory is not every name',
  )
  const ls = { allowed_commands: ['/usr/bin/ls', 'sh'] }
  t.equal(permits(ls, ['ls'], '/usr/bin/ls'), 'allowed')
  t.equal(permits(ls, ['sh', '-c', '/usr/bin/ls']), 'allowed')
  t.equal(permits(ls, ['sh', '-c', 'ls']), 'unlisted', 'whose file is not known')
  t.end()
})

t.test('absent and empty lists allow nothing, and a star allows what is not denied', (t) => {
  t.equal(permits({ allowed_commands: [] }, ['ls']), 'unlisted')
  t.equal(permits({ allowed_commands: ['*'] }, ['sh', '-c', 'ls; $X']), 'allowed')
  t.equal(permits({ allowed_commands: ['*'], denied_commands: ['*'] }, ['ls']), 'denied')
  t.equal(
    permits({ allowed_commands: ['*'], denied_commands: [] }, []),
    'allowed',
    'what runs nothing is stopped elsewhere',
  )
  t.equal(permits({ allowed_commands: ['ls'], denied_commands: [] }, []), 'unlisted')
  t.end()
})

t.test(
  'a blocked command is stopped in any spelling of its options, and not where it is only mentioned (OS-08)',
  (t) => {
    const blocks = (text: string, ...argv: string[]) =>
      effectiveOf({ ...executing(argv), executable: null }).commands.some((command) =>
        blocksCommand(text, command),
      )
    for (const argv of [
      ['rm', '-rf', 'x'],
      ['rm', '-fr', 'x'],
      ['rm', '-r', '-f', 'x'],
      ['rm', '-f', 'x', '-R'],
      ['rm', '--recursive', '--force', 'x'],
      ['rm', '--rec', '--f', 'x'],
      ['rm', '-rvf', 'x'],
      ['/bin/rm', '-rf', 'x'],
      ['sudo', 'rm', '-rf', 'x'],
      ['sh', '-c', 'cd /; rm -r -f x'],
      ['xargs', 'rm', '-rf'],
    ]) {
      t.ok(blocks('rm -rf', ...argv), argv.join(' '))
      t.ok(blocks('/bin/rm -rf', ...argv), `${argv.join(' ')}, by a pattern with a directory`)
    }
    for (const argv of [
      ['rm', '-r', 'x'],
      ['rm', '-f', 'x'],
      ['rm', '--', '-rf'],
      ['git', 'commit', '-m', 'rm -rf /'],
      ['echo', 'rm', '-rf'],
      ['grep', '-rf', 'rm'],
    ])
      t.notOk(blocks('rm -rf', ...argv), argv.join(' '))
    t.ok(blocks('mkfs', 'mkfs', '/dev/sda'))
    t.ok(blocks('mkfs*', 'mkfs.ext4', '/dev/sda'))
    t.notOk(blocks('mkfs', 'man', 'mkfs'))
    t.ok(blocks('format', 'sh', '-c', 'format c:'))
    t.notOk(blocks('format', 'npm', 'run', 'format'))
    t.ok(
      blocks(':(){:|:&};:', 'sh', '-c', ':(){ :|:& };:'),
      'spaces do not matter where it is no simple command',
    )
    t.notOk(blocks(':(){:|:&};:', 'sh', '-c', 'f(){ :; }; f'))
    t.ok(blocks('git push', 'git', 'push', '--force'))
    t.ok(blocks('git push --force', 'git', 'push', 'origin', '--force'))
    t.ok(blocks('git push -f', 'git', 'push', '--force', 'origin'))
    t.notOk(blocks('git push --force', 'git', 'push', 'origin'))
    t.notOk(blocks('git push', 'git', 'stash', 'show'))
    t.notOk(blocks('push git', 'git', 'push'))
    t.ok(blocks('git remote add', 'git', 'remote', '-v', 'add', 'x'))
    t.notOk(blocks('git remote add', 'git', 'add', 'remote'), 'words have an order')
    t.notOk(blocks('', 'ls'))
    t.notOk(blocks(' ', 'ls'))
    t.end()
  },
)
