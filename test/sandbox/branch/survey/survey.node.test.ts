/**
 * What a branch would change, for each way in which an overlay keeps it: real mounts, and upper directories made by hand.
 * @module
 */

import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Change, changesJson, isHeldBack } from '../../../../src/sandbox/branch/files/changes.ts'
import { createFiles } from '../../../../src/sandbox/branch/files/files.node.ts'
import { changesText } from '../../../../src/sandbox/branch/files/text.ts'
import { flagsOf } from '../../../../src/sandbox/branch/survey/flags.ts'
import { surveyBranch, surveyFully } from '../../../../src/sandbox/branch/survey/survey.node.ts'
import { afterTick, at, enterMountNamespace, type Made, makeBranch, syscalls } from '../made-branch.node.ts'

const skip = enterMountNamespace() ? false : 'no mount namespace'

function changes(made: Made): readonly Change[] {
  return surveyBranch(syscalls, made.directory, made.branch).changes
}

/** `kind path` of each, with the conflict. */
function told(made: Made): string[] {
  return changes(made).map(({ kind, path, conflict }) =>
    [kind, Buffer.from(path).toString('latin1') || '.', conflict].filter(Boolean).join(' '),
  )
}

function upper(made: Made, path = ''): string {
  return join(made.branch.roots[0]?.store ?? '', 'upper', path)
}

for (const attributes of ['trusted', 'user'] as const) {
  t.test(`an overlay with ${attributes} marks`, { skip }, (t) => {
    t.test('what was only opened is no change', (t) => {
      const made = makeBranch(
        (real) => {
          writeFileSync(join(real, 'f'), 'f')
          mkdirSync(join(real, 'd'))
          writeFileSync(join(real, 'd/g'), 'g')
        },
        { attributes },
      )
      t.teardown(made.remove)
      made.inside((path) => {
        closeSync(openSync(join(path, 'f'), 'a'))
        closeSync(openSync(join(path, 'd/g'), 'r+'))
        chmodSync(join(path, 'd'), 0o755)
      })
      t.strictSame(told(made), [])
      t.end()
    })

    t.test('deleted, replaced and retyped come first, with what goes with them', (t) => {
      const made = makeBranch(
        (real) => {
          for (const name of ['a', 'gone', 'made anew', 'type']) mkdirSync(join(real, name))
          for (let file = 0; file < 300; file++) writeFileSync(join(real, 'gone', String(file)), 'four')
          mkdirSync(join(real, 'gone/inner'))
          for (const name of ['x', 'y', 'z']) writeFileSync(join(real, 'made anew', name), name)
          writeFileSync(join(real, 'type/in'), '')
        },
        { attributes },
      )
      t.teardown(made.remove)
      made.inside((path) => {
        writeFileSync(join(path, 'a/new'), '')
        rmSync(join(path, 'gone'), { recursive: true })
        rmSync(join(path, 'made anew'), { recursive: true })
        mkdirSync(join(path, 'made anew'))
        writeFileSync(join(path, 'made anew/x'), 'x')
        writeFileSync(join(path, 'made anew/y'), 'other')
        rmSync(join(path, 'type'), { recursive: true })
        writeFileSync(join(path, 'type'), 'file')
      })
      const list = told(made)
      t.strictSame(list.slice(0, 4), [
        'deleted gone',
        'deleted made anew/z',
        'replaced made anew',
        'retyped type',
      ])
      t.ok(list.includes('modified made anew/y'))
      t.ok(list.includes('added a/new'))
      const gone = changes(made).find(({ kind }) => kind === 'deleted')
      t.strictSame(gone?.removed, { files: 300, directories: 1, sizeBytes: 1_200 })
      t.end()
    })

    t.test('made and deleted again, and made anew in a branch alone', (t) => {
      const made = makeBranch((real) => mkdirSync(join(real, 'd')), { attributes })
      t.teardown(made.remove)
      made.inside((path) => {
        mkdirSync(join(path, 'd/n'))
        writeFileSync(join(path, 'd/n/f'), '')
        renameSync(join(path, 'd/n'), join(path, 'd/m'))
        writeFileSync(join(path, 'd/gone'), '')
        rmSync(join(path, 'd/gone'))
      })
      t.strictSame(told(made), ['added d/m', 'added d/m/f'])
      t.end()
    })

    t.test('marks that are set through the mount end a look', (t) => {
      const made = makeBranch((real) => mkdirSync(join(real, 'd')), { attributes })
      t.teardown(made.remove)
      const result = made.inside((path) =>
        at.setAttribute(Buffer.from(join(path, 'd')), Buffer.from('user.overlay.opaque'), Buffer.from('y')),
      )
      if (result < 0) {
        t.end()
        return
      }
      t.throws(() => changes(made), { message: /^d was given the attribute user\.overlay\.opaque, which/ })
      t.end()
    })

    t.test('whiteouts over nothing, by attribute, and a mark that leads nowhere', (t) => {
      const made = makeBranch(
        (real) => {
          writeFileSync(join(real, 'f'), '')
          mkdirSync(join(real, 'd'))
          writeFileSync(join(real, 'd/a'), '')
          writeFileSync(join(real, 'd/b'), '')
        },
        { attributes },
      )
      t.teardown(made.remove)
      execFileSync('mknod', [upper(made, 'nothing'), 'c', '0', '0'])
      mkdirSync(upper(made, 'd'))
      at.setAttribute(
        Buffer.from(upper(made, 'd')),
        Buffer.from(`${attributes}.overlay.opaque`),
        Buffer.from('x'),
      )
      writeFileSync(upper(made, 'd/a'), '')
      at.setAttribute(
        Buffer.from(upper(made, 'd/a')),
        Buffer.from(`${attributes}.overlay.whiteout`),
        Buffer.alloc(0),
      )
      const list = told(made).filter((line) => !/^metadata (\.|d)$/.test(line))
      t.strictSame(list, ['deleted d/a'])
      mkdirSync(upper(made, 'lost'))
      at.setAttribute(
        Buffer.from(upper(made, 'lost')),
        Buffer.from(`${attributes}.overlay.redirect`),
        Buffer.from('/no/such'),
      )
      if (attributes === 'trusted') t.match(told(made), ['deleted d/a', 'added lost gone'])
      // A user's overlay follows none, and makes none.
      else t.throws(() => told(made), { message: /^lost has the mark redirect, which no overlay/ })
      t.end()
    })

    t.test('what cannot be read ends the survey', (t) => {
      const made = makeBranch((real) => mkdirSync(join(real, 'd')), { attributes })
      t.teardown(made.remove)
      made.inside((path) => writeFileSync(join(path, 'd/f'), ''))
      const files = createFiles(syscalls)
      const broken = { ...files, at: { ...files.at, listAttributes: () => -5 } }
      t.throws(() => surveyFully(broken, made.directory, made.branch), { code: 'FILE_IO' })
      const blind = { ...files, at: { ...files.at, getAttribute: () => -13 } }
      t.throws(() => surveyFully(blind, made.directory, made.branch), { code: 'FILE_IO' })
      t.end()
    })

    t.test('who else has changed it since', (t) => {
      const made = makeBranch(
        (real) => {
          for (const name of ['both', 'gone', 'other', 'deleted']) writeFileSync(join(real, name), name)
          mkdirSync(join(real, 'd'))
          mkdirSync(join(real, 'd/deep'))
          writeFileSync(join(real, 'd/deep/f'), 'f')
        },
        { attributes },
      )
      t.teardown(made.remove)
      made.inside((path) => {
        for (const name of ['both', 'gone', 'new']) appendFileSync(join(path, name), 'branch')
        rmSync(join(path, 'deleted'))
        rmSync(join(path, 'd'), { recursive: true })
      })
      afterTick(made.home)
      for (const name of ['both', 'other', 'new', 'd/deep/f']) appendFileSync(join(made.real, name), 'human')
      // The time of change cannot be set back.
      utimesSync(join(made.real, 'both'), 1, 1)
      rmSync(join(made.real, 'gone'))
      t.strictSame(
        told(made).filter((line) => !line.startsWith('metadata')),
        [
          'deleted d changed',
          'deleted deleted',
          'modified both changed',
          'added gone gone',
          'modified new changed',
        ],
      )
      t.end()
    })
    t.end()
  })
}

t.test('directories that were moved, as root', { skip }, (t) => {
  const made = makeBranch((real) => {
    mkdirSync(join(real, 'a/b'), { recursive: true })
    for (const name of ['a/f', 'a/b/g']) writeFileSync(join(real, name), name)
    mkdirSync(join(real, 'x'))
    mkdirSync(join(real, 'y'))
    writeFileSync(join(real, 'x/in x'), '')
  })
  t.teardown(made.remove)
  made.inside((path) => {
    renameSync(join(path, 'a'), join(path, 'c'))
    renameSync(join(path, 'c/b'), join(path, 'e'))
    renameSync(join(path, 'x'), join(path, 'z'))
    renameSync(join(path, 'y'), join(path, 'x'))
    renameSync(join(path, 'z'), join(path, 'y'))
  })
  const list = changes(made)
    .filter(({ kind }) => kind !== 'metadata')
    .map(({ kind, path, from }) => `${kind} ${Buffer.from(path)} from ${Buffer.from(from ?? [])}`)
  t.strictSame(list, ['renamed c from a', 'renamed e from a/b', 'renamed x from y', 'renamed y from x'])
  t.end()
})

t.test('a name of a file that was written under another one is judged by what lies there', { skip }, (t) => {
  const made = makeBranch((real) => {
    mkdirSync(join(real, '.git/hooks'), { recursive: true })
    for (const name of ['gone', 'moved', 'plain']) {
      writeFileSync(join(real, name), 'linked')
      linkSync(join(real, name), join(real, name === 'plain' ? '.git/hooks/pre-commit' : `other ${name}`))
    }
  })
  t.teardown(made.remove)
  made.inside((path) => {
    for (const name of ['gone', 'moved', 'plain']) appendFileSync(join(path, name), ' more')
  })
  afterTick(made.home)
  for (const name of ['other gone', 'other moved']) appendFileSync(join(made.real, name), ' by somebody else')
  rmSync(join(made.real, 'gone'))
  renameSync(join(made.real, 'moved'), join(made.real, 'moved away'))
  t.strictSame(told(made), [
    'modified moved away changed',
    'modified other gone changed',
    'modified other moved changed',
    'modified .git/hooks/pre-commit',
    'modified plain',
    'added gone',
    'added moved',
  ])
  const hook = changes(made).find(({ path }) => Buffer.from(path).toString() === '.git/hooks/pre-commit')
  t.ok(hook?.flags.includes('runs_on_host'), 'and by what the host makes of it there')
  t.end()
})

t.test('names that are no text, links and hints of renames', { skip }, (t) => {
  const odd = Buffer.from([0x62, 0xff, 0x1b])
  const made = makeBranch((real) => {
    writeFileSync(join(real, 'one'), 'linked')
    linkSync(join(real, 'one'), join(real, 'two'))
    writeFileSync(join(real, 'old name'), 'content')
  })
  t.teardown(made.remove)
  made.inside((path) => {
    appendFileSync(join(path, 'one'), ' more')
    linkSync(join(path, 'two'), join(path, 'three'))
    renameSync(join(path, 'old name'), join(path, 'new name'))
    writeFileSync(Buffer.concat([Buffer.from(`${path}/`), odd]), '')
  })
  const list = changes(made)
  const linked = list.filter(({ link }) => link !== undefined).map(({ path }) => Buffer.from(path).toString())
  t.strictSame(linked.sort(), ['one', 'three', 'two'])
  const renamed = list.find(({ path }) => Buffer.from(path).toString() === 'new name')
  t.equal(Buffer.from(renamed?.from ?? []).toString(), 'old name')
  const strange = list.find(({ flags }) => flags.includes('control_characters'))
  t.strictSame(Buffer.from(strange?.path ?? []), odd)
  const json = [...changesJson('s', [made.real], list)].join('')
  const whole = Buffer.concat([Buffer.from(`${made.real}/`), odd]).toString('base64')
  t.match(json, `"path_base64":"${whole}"`)
  const text = changesText([made.real], list, { folded: [] })
  t.notMatch(text.join('\n'), '\x1b')
  t.match(text.join('\n'), `deleted   ${made.real}/old name (7 bytes)`)
  t.match(text.at(-1) ?? '', /^6 changes: 1 deleted, 3 added, 2 modified; \d to look at twice$/)
  t.end()
})

t.test('volatile directories are no part of it, and folders are folded in the text alone', { skip }, (t) => {
  const made = makeBranch((real) => {
    mkdirSync(join(real, 'node_modules'))
    mkdirSync(join(real, 'cache'))
  })
  t.teardown(made.remove)
  made.inside((path) => {
    for (let file = 0; file < 20; file++) writeFileSync(join(path, 'node_modules', String(file)), '')
    mkdirSync(join(path, 'node_modules/.git/hooks'), { recursive: true })
    writeFileSync(join(path, 'node_modules/.git/hooks/pre-commit'), '')
    writeFileSync(join(path, 'cache/f'), '')
    symlinkSync('/etc/shadow', join(path, 'out'))
  })
  const branch = { ...made.branch, volatile: [join(made.real, 'cache')] }
  const list = surveyBranch(syscalls, made.directory, branch).changes
  t.notOk(list.some(({ path }) => Buffer.from(path).toString().startsWith('cache')))
  t.equal(list.filter(({ path }) => Buffer.from(path).toString().startsWith('node_modules/')).length, 23)
  const text = changesText([made.real], list, { folded: ['node_modules'] })
  t.ok(
    text.some((line) => line.startsWith(`folder    ${made.real}/node_modules/ (20 added)`)),
    text.join('\n'),
  )
  t.ok(text.some((line) => line.includes('pre-commit') && line.includes('the host runs or obeys it')))
  t.ok(text.some((line) => line.includes('-> /etc/shadow') && line.includes('leads out of the branch')))
  t.end()
})

t.test('what has to be looked at twice', (t) => {
  const facts = { type: 'file' as const, mode: 0o644, uid: 0, gid: 0, sizeBytes: 0, modifiedNs: 0n }
  const flags = (path: string, change: object = {}): string[] =>
    flagsOf('/w', `/w/${path}`, { ...facts, ...change }, [])
  for (const path of [
    ...[
      '.git/hooks/post-checkout',
      '.git/config',
      '.gitmodules',
      '.envrc',
      '.vscode/tasks.json',
      '.mcp.json',
    ],
    ...['home/.bashrc', '.ssh/authorized_keys', '.config/autostart/x.desktop', 'sub/.git/config'],
  ])
    t.strictSame(flags(path), ['runs_on_host'], path)
  for (const path of [
    ...[
      'etc/cron.d/x',
      'etc/systemd/system/x.service',
      'etc/profile.d/x.sh',
      'etc/sudoers.d/x',
      'etc/ld.so.preload',
    ],
    ...[
      'etc/udev/rules.d/1.rules',
      'etc/init.d/x',
      'usr/lib/systemd/system/x.service',
      'var/spool/cron/root',
    ],
  ])
    t.strictSame(flagsOf('/', `/${path}`, facts, []), ['runs_on_host'], path)
  for (const path of [
    ...['.sass-edge/agent.key', '.vimrc', '.gdbinit', '.netrc', '.rhosts', '.forward', '.kube/config'],
    ...['.aws/config', '.cargo/config.toml', '.pre-commit-config.yaml', 'lib/sitecustomize.py', 'x/evil.pth'],
    ...['CLAUDE.md', 'sub/agents.md', 'GEMINI.md', '.cursorrules', '.github/copilot-instructions.md'],
    ...['.claude/settings.json', '.cursor/rules/x.mdc', '.codex/config.toml', '.docker/config.json'],
    ...[
      '.zed/tasks.json',
      'a.code-workspace',
      '.opencode/x',
      'opencode.json',
      '.pnpmfile.cjs',
      '.yarn/releases/y.cjs',
    ],
    ...['.gradle/init.gradle', 'lefthook.yml', '.hg/hgrc', '.psqlrc', '.local/bin/ls', '.ssh/id_ed25519'],
    ...[
      '.local/share/systemd/user/x.service',
      '.config/Code/settings.json',
      '.newest-tool.json',
      'a/.tool-of-tomorrow/x',
    ],
    // What leads git to another directory, in which it obeys what is configured.
    ...[
      'wt/commondir',
      '.git/worktrees/wt/commondir',
      '.git/worktrees/wt/gitdir',
      'x/config.worktree',
      'sub/.git',
    ],
    ...[
      '.git/rebase-merge/git-rebase-todo',
      '.git/modules/a/config',
      '.git/modules/a/hooks/x',
      '.git/info/attributes',
    ],
    ...[
      '.git/objects/info/alternates',
      '.git/config.lock',
      '.git/modules/objects/config',
      'node_modules/a/.envrc',
    ],
  ])
    t.strictSame(flags(path), ['runs_on_host'], path)
  for (const path of [
    'CLAUDE.md.txt',
    'docs/agents.html',
    'vimrc',
    'cargo/config.toml',
    'path.pths',
    'aws/config',
    ...[
      '.gitignore',
      '.editorconfig',
      '.cache/x/.y',
      'node_modules/a/.whatever.json',
      '.venv/lib/.z',
      'bin/tool',
    ],
    ...[
      '.git/objects/ab/cd',
      '.git/HEAD',
      '.git/index',
      '.git/logs/HEAD',
      '.git/refs/heads/config',
      '.git/info/exclude',
    ],
    ...[
      '.git/worktrees/wt/HEAD',
      '.git/modules/a/index',
      '.git/packed-refs',
      '.git/MERGE_MSG',
      '.github/README',
    ],
  ])
    t.strictSame(flags(path), [], path)
  t.strictSame(flagsOf('/w', '/w/f', facts, ['system.posix_acl_access']), ['access_list'])
  for (const path of ['src/main.ts', 'README', 'gitconfig', 'x.git/hooks/a'])
    t.strictSame(flags(path), [], path)
  t.strictSame(flags('f', { mode: 0o6755 }), ['setuid', 'setgid'])
  t.strictSame(flags('f', { mode: 0o666 }), ['world_writable'])
  t.strictSame(flags('d', { type: 'directory', mode: 0o1777 }), [])
  t.strictSame(flags('f', { type: 'fifo' }), ['fifo'])
  t.strictSame(flags('a/l', { type: 'symlink', target: Buffer.from('../b') }), [])
  t.strictSame(flags('a/l', { type: 'symlink', target: Buffer.from('../../b') }), ['leaves_root'])
  t.strictSame(flags('l', { type: 'symlink', target: Buffer.from('/w/x') }), [])
  t.strictSame(flags('a/l', { type: 'symlink', target: Buffer.from('.././b/c') }), [])
  // What a name leads to is not seen in a text: behind one `..` can be anywhere.
  for (const target of ['b/../c', '/w/b/../c', '../b/up/../../../etc/shadow'])
    t.strictSame(flags('a/l', { type: 'symlink', target: Buffer.from(target) }), ['leaves_root'], target)
  for (const path of ['/etc/gitconfig', '/etc/anything', '/usr/local/bin/x', '/boot/x'])
    t.strictSame(flagsOf('/etc', path, facts, []), ['runs_on_host'], path)
  t.strictSame(flagsOf('/home/u/.hidden', '/home/u/.hidden/src/x', facts, []), [])
  t.strictSame(flagsOf('/w', '/w/f', facts, ['security.capability']), ['file_capability'])
  const change: Change = { root: 0, path: Buffer.from('f'), kind: 'added', after: facts, flags: ['setuid'] }
  t.ok(isHeldBack(change))
  t.notOk(isHeldBack({ ...change, flags: ['world_writable'] }))
  t.notOk(isHeldBack({ ...change, kind: 'deleted' }))
  t.end()
})

t.test("a copy: what others have done since is not the branch's", (t) => {
  const made = makeBranch(
    (real) => {
      mkdirSync(join(real, 'd'))
      for (const name of ['mine', 'theirs', 'both', 'd/f', 'gone']) writeFileSync(join(real, name), name)
    },
    { level: 'copy' },
  )
  t.teardown(made.remove)
  made.inside((path) => {
    for (const name of ['mine', 'both', 'new']) appendFileSync(join(path, name), 'branch')
  })
  afterTick(made.home)
  for (const name of ['theirs', 'both', 'd/new of them']) appendFileSync(join(made.real, name), 'human')
  t.strictSame(
    told(made).filter((line) => !line.startsWith('metadata')),
    ['modified both changed', 'modified mine', 'added new'],
  )
  t.end()
})
