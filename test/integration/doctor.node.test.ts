/**
 * `sass-edge doctor`: what it says of this machine is what a daemon then finds here, and it leaves nothing behind.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { changeConfig, sassEdge, startNew, temporary } from './daemon.node.ts'

type Findings = {
  readonly ok: boolean
  readonly findings: readonly { readonly name: string; readonly state: string; readonly text: string }[]
}

const leftovers = (directory: string): string[] =>
  readdirSync(directory).filter((name) => name.startsWith('.sass-edge-doctor-'))

t.test('its word on branches is what happens to a command', async (t) => {
  const daemon = await startNew(t)
  const said = await daemon.cli(['doctor', '--json'])
  const { ok, findings } = JSON.parse(said.stdout.toString()) as Findings
  const stateOf = (name: string) => findings.find((finding) => finding.name === name)?.state
  t.equal(said.code, ok ? 0 : 125)
  t.equal(ok, stateOf('branch') === 'ok')
  const ran = await daemon.cli(['exec', '--', 'sh', '-c', 'echo changed > file; cat file'])
  if (ok) t.match(ran, { code: 0, stdout: Buffer.from('changed\n') })
  else t.match(ran, { code: 255, stdout: Buffer.alloc(0) })
  t.same(readdirSync(daemon.workspace), [], 'the real directory is as it was')
  t.same(leftovers(join(daemon.directory, '.sass-edge/state')), [])
})

t.test('without an installation it tells of the device itself, each finding with a sentence', async (t) => {
  const cwd = temporary(t)
  const before = leftovers(tmpdir())
  const said = await sassEdge(['doctor', '--json'], { cwd })
  const { findings } = JSON.parse(said.stdout.toString()) as Findings
  t.same(
    findings.map(({ name }) => name),
    [
      'user',
      'branch',
      'view',
      'opaque',
      'landlock',
      'openat2',
      'memory',
      'processes',
      'cpu',
      'disk',
      'clock',
    ],
  )
  for (const { name, state, text } of findings) {
    t.match(state, /^(ok|missing|failed)$/, name)
    t.match(text, /^.{20,}\.$/s, name)
  }
  t.same(leftovers(tmpdir()), before)
  t.same(readdirSync(cwd), [])
})

t.test('where commands run on the real files it says so', async (t) => {
  const daemon = await startNew(t, { sandbox: { require: 'none' } })
  const said = await daemon.cli(['doctor', '--json'])
  const { findings } = JSON.parse(said.stdout.toString()) as Findings
  t.match(
    findings.find(({ name }) => name === 'branch'),
    { state: 'missing', text: /real files/ },
  )
  t.match(
    findings.find(({ name }) => name === 'opaque'),
    { state: 'missing', text: /since it runs on the real files: security.opaque says/ },
  )
})

t.test('of another device it says how it is reached', async (t) => {
  const daemon = await startNew(t)
  const key = join(daemon.directory, '.sass-edge/keys/agent.key')
  const said = await daemon.cli(['doctor', `agent@127.0.0.1:${daemon.port}`, '--key', key, '--yes', '--json'])
  t.equal(said.code, 0, said.stderr)
  t.match(JSON.parse(said.stdout.toString()), { version: /^\d/, os: /^Linux/ })
})

t.test('it makes a view of the lists, and says where that is weaker than it should be', async (t) => {
  if (process.geteuid?.() !== 0) return t.comment('skipped: only root mounts what no overlay lies over')
  const place = mkdtempSync('/var/lib/sass-edge-it-view-')
  t.teardown(() => rmSync(place, { recursive: true, force: true }))
  mkdirSync(join(place, 'plain'))
  const daemon = await startNew(t, { sandbox: { read: ['/usr', join(place, 'plain')] } })
  const view = async (read: readonly string[]) => {
    changeConfig(daemon.directory, { sandbox: { read } })
    const said = await daemon.cli(['doctor', '--json'])
    const { findings } = JSON.parse(said.stdout.toString()) as Findings
    return findings.filter(({ name }) => name === 'view')
  }
  t.match(await view(['/usr', join(place, 'plain')]), [
    { state: 'ok', text: /the 2 places of sandbox\.read/ },
  ])
  // The state under another name.
  const shown = join(place, 'shown')
  mkdirSync(shown)
  execFileSync('mount', ['--bind', join(daemon.directory, '.sass-edge/state'), shown])
  try {
    t.match(await view(['/usr', shown]), [
      { state: 'missing', text: /shown would show the daemon's own files/ },
    ])
    t.match(
      await view(['/usr', place]),
      [{ state: 'missing', text: /shown would show/ }],
      'within a place too',
    )
  } finally {
    execFileSync('umount', [shown])
  }
})
