/**
 * The launcher thread from its bundled text and from its source: what its children can and cannot have.
 * @module
 */

import { readFileSync } from 'node:fs'
import { buildSync } from 'esbuild'
import t from 'tap'
import { createSpawner } from '../../../src/sandbox/launcher/spawner.node.ts'
import { planFor, run, runDaemon, shell } from '../run-child.node.ts'

const bundled = buildSync({
  entryPoints: [`${import.meta.dirname}/../../../src/sandbox/launcher/launcher-thread.node.ts`],
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node26',
  write: false,
}).outputFiles[0]?.text

function fields(text: string): Record<string, string> {
  return Object.fromEntries(text.split('\n').map((line) => line.split(/:\s+/, 2) as [string, string]))
}

async function statusOf(spawner: Awaited<ReturnType<typeof createSpawner>>): Promise<Record<string, string>> {
  const { stdout } = await run(spawner, planFor(['/bin/cat', '/proc/self/status']))
  return fields(stdout.toString())
}

for (const [name, launcherSource] of [
  ['source file', undefined],
  ['bundled text', bundled],
] as const) {
  t.test(`from its ${name} the thread starts programs and ends when it is told`, async (t) => {
    const spawner = await createSpawner({ launcherSource })
    const { status, stdout } = await run(spawner, shell('echo hello'))
    t.same([status, stdout.toString()], [{ kind: 'exited', code: 0 }, 'hello\n'])
    await spawner.close()
  })
}

t.test('children have no_new_privs, and no ambient or inheritable capability', async (t) => {
  const spawner = await createSpawner({ launcherSource: bundled })
  const status = await statusOf(spawner)
  t.equal(status['NoNewPrivs'], '1')
  t.match(status['CapInh'], /^0+$/)
  t.match(status['CapAmb'], /^0+$/)
  t.equal(
    status['CapBnd'],
    fields(readFileSync('/proc/self/status', 'utf8'))['CapBnd'],
    'not cut unless asked',
  )
  t.equal(
    fields(readFileSync('/proc/self/status', 'utf8'))['NoNewPrivs'],
    '0',
    'the daemon itself is as it was',
  )
  await spawner.close()
})

t.test('the bounding set is cut to what is kept, for root', async (t) => {
  if (process.getuid?.() !== 0) {
    t.comment('skipped: cutting the bounding set needs root')
    t.pass()
    return
  }
  // CAP_CHOWN 0, CAP_KILL 5
  const spawner = await createSpawner({ launcherSource: bundled, keepCapabilities: [0, 5] })
  const status = await statusOf(spawner)
  t.equal(Number.parseInt(status['CapBnd'] ?? '', 16), 0b100001)
  t.equal(Number.parseInt(status['CapEff'] ?? '', 16), 0b100001)
  const mount = await run(spawner, shell('mount -t tmpfs none /mnt'))
  t.not(mount.status?.kind === 'exited' && mount.status.code, 0)
  await spawner.close()
})

t.test('a bounding set that cannot be cut means no launcher at all', async (t) => {
  if (process.getuid?.() !== 0) {
    t.comment('skipped: becoming another user needs root')
    t.pass()
    return
  }
  const { code, text } = await runDaemon(`process.setgid(65534); process.setuid(65534);
    try { await createSpawner({ keepCapabilities: [] }); console.log('started') } catch (error) { console.log(error.code) }`)
  t.same([code, text], [0, 'SANDBOX_UNAVAILABLE\n'])
})

t.test('the working directory of a child changes nobody else', async (t) => {
  const spawner = await createSpawner({ launcherSource: bundled })
  const before = process.cwd()
  await run(spawner, planFor(['/bin/true'], { cwd: '/tmp' }))
  t.equal(process.cwd(), before)
  await spawner.close()
})

t.test('ten thousand starts cost no memory that stays', async (t) => {
  // Small heap limits: else V8 lets garbage lie, and nothing could be told from the sum.
  const { code, text } = await runDaemon(
    `const spawner = await createSpawner()
     const plan = { file: '/bin/true', argv: ['true'], environment: ['A=1'], cwd: '/', stdin: 'pipe', terminal: undefined }
     const once = () => new Promise((resolve) => spawner.spawn(plan,
       { spawned() {}, failed() {}, output() {}, stdinDrained() {}, exited: resolve }))
     const batches = async (count) => {
       for (let batch = 0; batch < count; batch++) await Promise.all(Array.from({ length: 20 }, once))
       console.log(/Anonymous:\\s+(\\d+)/.exec(fs.readFileSync('/proc/self/smaps_rollup', 'utf8'))[1])
     }
     await batches(200); await batches(300); await spawner.close()`,
    undefined,
    ['--max-semi-space-size=1', '--max-old-space-size=32'],
  )
  const [before = Number.NaN, after = Number.NaN] = text.trim().split('\n').map(Number)
  t.comment(`anonymous memory ${before} KiB after 4,000 starts, ${after} KiB after 10,000`)
  t.equal(code, 0)
  t.ok(after - before < 6_144, 'less than 6 MiB more: not 1 KiB a start')
})
