/**
 * A human was asked about one thing, and another one ran: whoever had asked put another program, link or directory in
 * its place while the question waited.
 * @module
 */
import { chmodSync, mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { known } from '../integration/connections.node.ts'
import { changeConfig, type Daemon, ON_REAL_FILES, startNew, until } from '../integration/daemon.node.ts'
import { command, EXECUTE, field, isOver, on } from './streams.node.ts'

type Swap = {
  readonly what: string
  readonly request: Parameters<typeof command>[2]
  readonly prepare: (workspace: string) => void
  readonly swap: (workspace: string, daemon: Daemon) => void | Promise<void>
  /** What the first request would have printed, and the one in its place. */
  readonly prints: string
}

function program(path: string, text: string): void {
  writeFileSync(path, `#!/bin/sh\necho ${text}\n`)
  chmodSync(path, 0o755)
}

const SWAPS: readonly Swap[] = [
  {
    what: 'its program',
    request: { command: './tool' },
    prepare: (at) => program(join(at, 'tool'), 'good'),
    swap(at) {
      program(join(at, 'other'), 'swapped')
      renameSync(join(at, 'other'), join(at, 'tool'))
    },
    prints: 'swapped\n',
  },
  {
    what: 'a link',
    request: { command: 'tac', args: ['notes'] },
    prepare(at) {
      writeFileSync(join(at, 'plain'), 'plain\n')
      writeFileSync(join(at, 'private'), 'private\n')
      symlinkSync('plain', join(at, 'notes'))
    },
    swap(at) {
      unlinkSync(join(at, 'notes'))
      symlinkSync('private', join(at, 'notes'))
    },
    prints: 'private\n',
  },
  {
    what: 'its directory',
    request: { command: 'tac', args: ['name'], cwd: 'sub' },
    prepare(at) {
      for (const name of ['sub', 'elsewhere']) {
        mkdirSync(join(at, name))
        writeFileSync(join(at, name, 'name'), `${name}\n`)
      }
    },
    swap(at) {
      renameSync(join(at, 'sub'), join(at, 'away'))
      symlinkSync('elsewhere', join(at, 'sub'))
    },
    prints: 'elsewhere\n',
  },
]

const SET = { allowed_commands: ['ls'], allowed_paths: ['$WORKSPACE'], allowed_env: ['*'] }
const start = (test: Test) =>
  startNew(test, {
    ...ON_REAL_FILES,
    capabilities: { default: SET },
    security: { opaque: 'allow', confirm_dangerous_actions: true },
  })

async function question(daemon: Daemon, not?: string): Promise<string> {
  let id: string | undefined
  await until('a question', async () => {
    const { stdout } = await daemon.cli(['confirm', 'list', '--json'])
    id = JSON.parse(stdout.toString()).confirmations[0]?.id
    return id !== undefined && id !== not
  })
  return id ?? ''
}

for (const { what, request, prepare, swap, prints } of SWAPS)
  t.test(`a yes is no yes any more when ${what} is another one`, async (t) => {
    const daemon = await start(t)
    prepare(daemon.workspace)
    const wire = await known(daemon)
    wire.socket.write(command(3, EXECUTE, request))
    const first = await question(daemon)
    await swap(daemon.workspace, daemon)
    t.equal((await daemon.cli(['confirm', 'approve', first, '--yes'])).code, 0)
    const second = await question(daemon, first)
    t.notOk(isOver(wire, 3), 'nothing has run')
    t.equal((await daemon.cli(['confirm', 'approve', second, '--yes'])).code, 0)
    await until('the end', () => isOver(wire, 3))
    t.equal(
      Buffer.from(field(on(wire, 3).at(-1), 2) as Uint8Array).toString(),
      prints,
      'what was asked about last',
    )
    wire.socket.destroy()
  })

t.test('a yes gives back no variable that a reload has taken away meanwhile', async (t) => {
  const daemon = await start(t)
  program(join(daemon.workspace, 'tool'), '$FOO')
  const wire = await known(daemon)
  wire.socket.write(command(3, EXECUTE, { command: './tool', env: new Map([['FOO', 'injected']]) }))
  const id = await question(daemon)
  changeConfig(daemon.directory, { capabilities: { default: { ...SET, allowed_env: [] } } })
  t.equal((await daemon.cli(['reload'])).code, 0)
  t.equal((await daemon.cli(['confirm', 'approve', id, '--yes'])).code, 0)
  await until('the end', () => isOver(wire, 3))
  t.equal(on(wire, 3).at(-1)?.kind, 'STATUS')
  t.notMatch(wire.received().toString('latin1'), /injected/)
  wire.socket.destroy()
})
