/**
 * A branch is not to be noticed: the same work of every day is done in one and beside it, on a plain copy, and says the
 * same and leaves the same. Where a user's branch differs, because the kernel gives it no more, this says so.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, linkSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import type { Client } from '../../src/client/client.node.ts'
import { READ_PLACES } from '../../src/config/sandbox-fields.ts'
import { DEFAULT_PATH } from '../../src/sandbox/places/environment.ts'
import { at, treeOf } from '../sandbox/branch/made-branch.node.ts'
import { everyone, give, homeFor, inSession, PYTHON, run, startBranched, type Who } from './branched.node.ts'
import { runProgram, until } from './daemon.node.ts'

const DIRECTORY = join(import.meta.dirname, 'attacks')
const WORK = ['everyday', 'manifest']
  .map((name) => readFileSync(join(DIRECTORY, `${name}.py`), 'utf8'))
  .join('\n')

/** What is there before, all of it beneath the branch. */
const SEED = `set -e
mkdir repository; cd repository; git init -q -b main; git config user.name a; git config user.email a@b
mkdir dir; echo inner > dir/inner; echo file > file; echo gone > gone
GIT_AUTHOR_DATE=2024-01-01T00:00:00Z GIT_COMMITTER_DATE=2024-01-01T00:00:00Z sh -c 'git add -A; git commit -qm first'; cd ..
mkdir -p c project/packages/linked project/packages/packed target/old tree/there/deep linked watched
printf '#include "part.h"\\n#include <stdio.h>\\nint main(void) { printf("%%d\\\\n", part()); return 0; }\\n' > c/main.c
echo 'int part(void);' > c/part.h; printf '#include "part.h"\\nint part(void) { return 42; }\\n' > c/part.c
printf 'program: main.o libpart.a\\n\\t$(CC) -o $@ main.o libpart.a\\nlibpart.a: part.o\\n\\t$(AR) rcsD $@ part.o\\nclean-objects:\\n\\trm -f *.o\\n' > c/Makefile
echo '{ "name": "project", "version": "1.0.0" }' > project/package.json
for name in linked packed; do
  echo "{ \\"name\\": \\"$name\\", \\"version\\": \\"1.0.0\\" }" > project/packages/$name/package.json
  echo "module.exports = '$name'" > project/packages/$name/index.js
done
for number in 1 2 3 4 5 6; do echo $number > target/old/old-$number; done
for name in plain saved single untouched attributed lock mapped; do seq 500 > tree/$name; done
touch -d '2001-02-03 04:05:06.789012345' tree/untouched tree/plain
for name in 1 2 3; do echo $name > tree/there/$name; echo $name > tree/there/deep/$name; done
truncate -s 8M tree/hole; echo a > linked/a; ln linked/a linked/b; echo old > watched/old
`

type Outcome = { readonly steps: Record<string, unknown>; readonly tree: readonly string[] }

function outcome(said: string): Outcome {
  const [first = '{}', ...tree] = said.trimEnd().split('\n')
  return { steps: JSON.parse(first) as Record<string, unknown>, tree }
}

/** The tree as the session sees it, through one of its processes. */
async function viewOf(client: Client, path: string): Promise<ReturnType<typeof treeOf>> {
  const seconds = `600.${process.pid}`
  const sleeping = client.stream('sleep', [seconds], { output() {} })
  await sleeping.started
  // It has started before it is the program: until execve its command line is that of its parent.
  let pid: string | undefined
  await until('it is the program', () => {
    pid = readdirSync('/proc').find((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'latin1') === `sleep\0${seconds}\0`
      } catch {
        return false
      }
    })
    return pid !== undefined
  })
  const tree = treeOf(`/proc/${pid}/root${path}`)
  await client.cancel(sleeping.id)
  await sleeping.exit
  return tree
}

/** This Node.js at a place that a session sees too: what lies in /tmp, as a checkout may, is not there for it. */
function nodeFor(t: Test, who: Who): string {
  const path = join(homeFor(t, who), 'node')
  try {
    linkSync(realpathSync(process.execPath), path)
  } catch {
    copyFileSync(process.execPath, path)
  }
  return path
}

async function everyday(t: Test, who: Who): Promise<void> {
  const node = nodeFor(t, who)
  // It lies where nobody has listed anything.
  const daemon = await startBranched(t, who, {
    sandbox: { read: [...READ_PLACES, dirname(node)] },
  })
  const { workspace } = daemon
  execFileSync('sh', ['-c', SEED], { cwd: workspace, stdio: ['ignore', 'ignore', 'inherit'] })
  for (const name of ['user.old', 'user.kept'])
    at.setAttribute(Buffer.from(join(workspace, 'tree/attributed')), Buffer.from(name), Buffer.from(name))
  const copy = join(homeFor(t, who), 'copy')
  const script = (here: string): string =>
    `import sys\nsys.argv[1:] = ${JSON.stringify([node, here])}\n${WORK}`
  daemon.put('everyday.py', script(workspace))
  give(workspace, who)
  execFileSync('cp', ['-a', workspace, copy])
  writeFileSync(join(copy, 'everyday.py'), script(copy))
  give(copy, who)
  const before = treeOf(workspace)

  const { inside, view } = await inSession(daemon, async (client) => {
    const inside = outcome(await run(client, PYTHON ?? '', ['./everyday.py']))
    return { inside, view: await viewOf(client, workspace) }
  })
  t.strictSame(treeOf(workspace), before, 'nothing of it is in the real files')
  const argv = [
    '--reuid',
    String(who.uid),
    '--regid',
    String(who.uid),
    '--clear-groups',
    PYTHON ?? '',
    'everyday.py',
  ]
  const plain =
    process.geteuid?.() === 0
      ? await runProgram('setpriv', argv, { cwd: copy, env: { PATH: DEFAULT_PATH }, timeoutMs: 100_000 })
      : await runProgram(PYTHON ?? '', ['everyday.py'], {
          cwd: copy,
          env: { PATH: DEFAULT_PATH },
          timeoutMs: 100_000,
        })
  t.equal(plain.code, 0, plain.stderr)
  const outside = outcome(plain.stdout.toString())

  const differs: Record<string, unknown> =
    who.uid === 0
      ? {}
      : {
          // The kernel redirects no directory in a user namespace, and keeps no index of links.
          'rename of a directory': 'EXDEV',
          'links that were there': inside.steps['links that were there'],
        }
  for (const [name, found] of Object.entries(inside.steps))
    t.strictSame(found, name in differs ? differs[name] : outside.steps[name], name)
  t.strictSame(Object.keys(inside.steps), Object.keys(outside.steps))
  // Nor does it give both names of a file that was linked there the same number, so that tools see two files.
  const shared = ({ tree }: Outcome): string[] =>
    who.uid === 0
      ? [...tree]
      : tree
          .filter((line) => !/^linked\/[ab] /.test(line))
          .map((line) => (line.startsWith('tree/single-2 ') ? line.replace(/is .*$/, '') : line))
  t.strictSame(shared(inside), shared(outside), 'the same tree')
  t.ok(inside.tree.length > 500, `${inside.tree.length} files`)
  const merged = await daemon.cli(['branch', 'merge', '--yes', '--with-special'])
  t.equal(merged.code, 0, merged.stderr)
  const linked = view['tree/single-2']
  // In a user namespace the kernel shows two numbers for one file; what is merged is one file again.
  const expected =
    who.uid === 0 || linked === undefined
      ? view
      : { ...view, 'tree/single-2': { ...linked, link: 'tree/single' } }
  t.strictSame(treeOf(workspace), expected, 'and after the merge the real files are what the session saw')
  for (const [name, found] of Object.entries(outside.steps))
    if (Array.isArray(found) && typeof found[0] === 'number' && ['git', 'make', 'npm', 'tar'].includes(name))
      t.equal(found[0], 0, `${name}: ${JSON.stringify(found)}`)
}

for (const who of everyone(t)) {
  if (PYTHON === undefined) {
    t.comment('skipped: the work of every day needs python3')
    break
  }
  await t.test(`a daemon of ${who.name}`, { timeout: 200_000 }, (t) => everyday(t, who))
}
