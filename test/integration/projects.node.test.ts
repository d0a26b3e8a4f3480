/**
 * Work as it is done: projects that are built by a real daemon in its workspace.
 * @module
 */
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ON_REAL_FILES, ROOT, startNew } from './daemon.node.ts'

const daemon = await startNew(t, ON_REAL_FILES)
const { workspace } = daemon

t.test('a project is built by the device: make and a compiler', async (t) => {
  if (!existsSync('/usr/bin/gcc') || !existsSync('/usr/bin/make')) {
    t.comment('skipped: gcc and make are not here')
    t.pass()
    return
  }
  const project = join(workspace, 'project')
  mkdirSync(project)
  writeFileSync(
    join(project, 'hello.c'),
    '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n',
  )
  writeFileSync(join(project, 'Makefile'), 'hello: hello.c\n\t$(CC) -O1 -o $@ $<\n')
  const { code, stderr } = await daemon.cli(['exec', '--cwd', 'project', '--', 'make', '-j2'])
  t.same([code, stderr], [0, ''])
  t.equal((await daemon.cli(['exec', '--', 'project/hello'])).stdout.toString(), 'hello\n')
})

t.test('this very project is built by the device, and what was built runs', async (t) => {
  const project = join(workspace, 'repository')
  for (const part of [
    'src',
    'build',
    'docs',
    'policy',
    'firewall',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.pure.json',
  ])
    cpSync(join(ROOT, part), join(project, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(project, 'node_modules'))
  const build = ['node_modules/.bin/node', 'build/bundle.node.ts']
  for (const round of ['first', 'forced']) {
    const args = round === 'first' ? build : [...build, '--force']
    const { code, stdout, stderr } = await daemon.cli(['exec', '--cwd', 'repository', '--', ...args])
    t.same([code, stdout.length], [0, 0])
    t.match(stderr, /^dist\/sass-edge\.mjs \d/m)
  }
  const bundle = ['repository/node_modules/.bin/node', 'repository/dist/sass-edge.mjs']
  t.match(await daemon.cli(['exec', '--', ...bundle, 'version']), { code: 0, stderr: '' })
})
