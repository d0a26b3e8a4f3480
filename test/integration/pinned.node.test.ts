/**
 * Pinned programs while somebody in the same branch rewrites them: what runs is what was digested, or nothing. And what
 * is pinned where nobody can write runs as it is.
 * @module
 */
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Client } from '../../src/client/client.node.ts'
import { everyone, give, PYTHON, run, startBranched } from './branched.node.ts'

const TIMES = 300
const AT_ONCE = 4
const SCRIPT = '#!/bin/sh\necho GOOD "$@"\n'
/** As long, so that its size tells nothing. */
const OTHER = '#!/bin/sh\necho EVIL "$@"\n'
const ECHO = '/bin/echo'
const NODE = '/usr/bin/node'

/**
 * Puts the other content there and the right one back: in place, by renaming, and through a mapping, which does not
 * change the time of the last change; with the right one long enough for a look now and then.
 */
const REWRITES = `import mmap, os, shutil, time
paths = [("tool", ${JSON.stringify(SCRIPT)}.encode(), ${JSON.stringify(OTHER)}.encode())]
good = open("program", "rb").read()
evil = open("evil", "rb").read().ljust(len(good), b"\\0")[:len(good)]
paths.append(("program", good, evil))
maps = {}
for path, right, other in paths:
    with open(path, "r+b") as file:
        file.write(right)
        file.flush()
        maps[path] = mmap.mmap(file.fileno(), len(right))
open("ready", "w")
while not os.path.exists("stop"):
    for path, right, other in paths:
        view = maps[path]
        for _ in range(3):
            view[:] = other
            time.sleep(0.001)
            view[:] = right
            time.sleep(0.002)
    for path, right, other in paths:
        for content in (other, right):
            fd = os.open(path, os.O_WRONLY)
            os.write(fd, content)
            os.close(fd)
            time.sleep(0.002)
`
const RENAMES = `import os, time
right, other = open("tool", "rb").read(), ${JSON.stringify(OTHER)}.encode()
open("ready", "w")
while not os.path.exists("stop"):
    for content in (other, right):
        fd = os.open("new", os.O_WRONLY | os.O_CREAT, 0o755)
        os.write(fd, content)
        os.close(fd)
        os.rename("new", "tool")
        time.sleep(0.002)
`

const digestOf = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex')

type Told = { readonly good: number; readonly evil: number; readonly refused: number; readonly odd: string[] }

/** Runs it so often, whatever comes of it. */
async function often(client: Client, command: string, args: readonly string[]): Promise<Told> {
  const told = { good: 0, evil: 0, refused: 0, odd: [] as string[] }
  const one = async (): Promise<void> => {
    try {
      const result = await client.execute(command, args, { timeoutSeconds: 60 })
      const said = Buffer.from(result.stdout).toString()
      if (said.includes('EVIL')) told.evil++
      else if (said === 'GOOD x\n') told.good++
      else told.odd.push(`${result.exitCode} ${said} ${Buffer.from(result.stderr)}`)
    } catch (cause) {
      // Altered when it is decided about, when it is started, or between two names.
      if (/pinned|nothing was done|no such program/.test(String(cause))) told.refused++
      else told.odd.push(String(cause))
    }
  }
  for (let done = 0; done < TIMES; done += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, one))
  return told
}

function judgeTold(t: Test, { good, refused, evil, odd }: Told, what: string): void {
  t.strictSame({ evil, odd }, { evil: 0, odd: [] }, what)
  t.ok(good > 0 && refused > 0, `good ${good}, refused ${refused}`)
}

async function whileRewritten(
  t: Test,
  client: Client,
  script: string,
  work: () => Promise<void>,
): Promise<void> {
  await run(client, 'rm', ['-f', 'ready', 'stop'])
  const writing = client.execute(PYTHON ?? '', ['-c', script], { timeoutSeconds: 300 })
  await run(client, 'sh', ['-c', 'until [ -e ready ]; do sleep 0.05; done'])
  try {
    await work()
  } finally {
    await run(client, 'touch', ['stop'])
    const ended = await writing
    t.equal(ended.exitCode, 0, Buffer.from(ended.stderr).toString())
  }
}

t.test('what was not found is not started, by its bare name either', async (t) => {
  const who = everyone(t)[0]
  if (who === undefined) return
  const daemon = await startBranched(t, who, {
    defense: { deny_response: 'reason', levels: { automatic: false } },
    security: {
      questions: 'permissive',
      opaque: 'allow',
      pinned_only: true,
      executables: [{ path: '/usr/bin/env', sha256: digestOf(readFileSync('/usr/bin/env')) }],
    },
  })
  daemon.put('evil', OTHER)
  const client = await daemon.open()
  t.teardown(() => client.close())
  for (const command of ['evil', './evil', join(daemon.workspace, 'evil'), 'none', './none'])
    await t.rejects(client.execute(command, []), Error, command)
})

t.test('Node runs a pinned script of the workspace where its first line lets it keep the name', async (t) => {
  const who = everyone(t)[0]
  if (who === undefined) return
  if (!existsSync(NODE)) return t.comment(`skipped: ${NODE} is not here`)
  const script = `#!${NODE} --preserve-symlinks-main\nconsole.log('GOOD', ...process.argv.slice(2))\n`
  const daemon = await startBranched(t, who, (home) => ({
    security: {
      opaque: 'allow',
      executables: [{ path: join(home, '.sass-edge/workspace/tool'), sha256: digestOf(script) }],
    },
  }))
  daemon.put('tool', script)
  const client = await daemon.open()
  t.teardown(() => client.close())
  t.equal(await run(client, './tool', ['x']), 'GOOD x\n')
})

for (const who of everyone(t))
  t.test(
    `what is pinned runs as what was pinned or not at all (JF-034, JF-F12, JF-R27), as ${who.name}`,
    { timeout: 600_000 },
    async (t) => {
      if (PYTHON === undefined) return void t.comment('skipped: no Python here')
      const daemon = await startBranched(t, who, (home) => ({
        defense: { deny_response: 'reason', levels: { automatic: false } },
        security: {
          questions: 'permissive',
          opaque: 'allow',
          executables: [
            { path: join(home, '.sass-edge/workspace/tool'), sha256: digestOf(SCRIPT) },
            { path: join(home, '.sass-edge/workspace/program'), sha256: digestOf(readFileSync(ECHO)) },
            { path: '/usr/bin/env', sha256: digestOf(readFileSync('/usr/bin/env')) },
          ],
        },
      }))
      daemon.put('tool', SCRIPT)
      for (const [name, from] of [
        ['program', ECHO],
        ['evil', '/bin/printenv'],
      ] as const) {
        copyFileSync(from, join(daemon.workspace, name))
        give(join(daemon.workspace, name), who)
      }
      const client = await daemon.open()
      t.teardown(() => client.close())
      t.equal(await run(client, './tool', ['x']), 'GOOD x\n')
      t.equal(await run(client, './program', ['GOOD', 'x']), 'GOOD x\n')
      t.match(await run(client, '/usr/bin/env', []), /^PATH=/m, 'what nobody can write runs as it is')

      await whileRewritten(t, client, RENAMES, async () => {
        const told = await often(client, './tool', ['x'])
        judgeTold(t, told, 'a script that is replaced')
      })
      await whileRewritten(t, client, REWRITES, async () => {
        judgeTold(t, await often(client, './tool', ['x']), 'a script that is altered')
        judgeTold(t, await often(client, './program', ['GOOD', 'x']), 'a program that is altered')
      })
    },
  )
