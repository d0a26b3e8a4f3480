/**
 * A newer program over the state of an older one, and an older over that of a newer: real daemons, real kills, and the
 * script that installs in a root of its own.
 * @module
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  environment,
  install,
  PROGRAM,
  ROOT,
  sassEdge,
  sleep,
  startDaemon,
  temporary,
} from './daemon.node.ts'

const KILLS = 15
const REFUSAL =
  /^sass-edge: The state in \S+ has format 9, which sass-edge 9\.9\.9 made, and this is sass-edge \d\S+, which knows formats up to \d+: nothing was changed; install 9\.9\.9 or a later version again, or name another state_directory\.\n$/

const stateOf = (directory: string): string => join(directory, '.sass-edge/state')
const formatOf = (directory: string): string => join(stateOf(directory), 'format.json')

/** Every file of the state with what is in it. */
function digest(directory: string): Record<string, string> {
  const names = globSync('**', { cwd: stateOf(directory), dot: true } as { cwd: string }).sort()
  return Object.fromEntries(
    names.map((name) => {
      const path = join(stateOf(directory), name)
      return [
        name,
        statSync(path).isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : '/',
      ]
    }),
  )
}

t.test(
  'state that says no format is brought forward once, and everything in it is still there',
  async (t) => {
    const directory = await install(t)
    const before = await startDaemon(t, directory)
    t.match(JSON.parse(readFileSync(formatOf(directory), 'utf8')), { format: 1 })
    t.equal((await before.cli(['exec', '--id', 'a1'.repeat(16), '--', 'sh', '-c', 'exit 7'])).code, 7)
    await before.stop()
    t.same(
      before.audit().filter(({ what }) => what === 'migrated'),
      [],
      'a new one needs no migration',
    )
    rmSync(formatOf(directory))
    const checked = await sassEdge(['check'], { cwd: directory })
    t.match(checked.stdout.toString(), /ok +state: \S+ has format 0, and the daemon brings it to 1\n/)
    const after = await startDaemon(t, directory)
    t.match(
      after.audit().filter(({ what }) => what === 'migrated'),
      [{ type: 'daemon', from: 0, to: 1 }],
    )
    t.equal(after.fingerprint, before.fingerprint)
    t.equal((await after.cli(['attach', 'a1'.repeat(16)])).code, 7, 'its result is known')
    t.equal((await after.cli(['audit', 'verify'])).code, 0)
    await after.stop()
    const again = await startDaemon(t, directory)
    t.equal(again.audit().filter(({ what }) => what === 'migrated').length, 1)
  },
)

t.test(`killed ${KILLS} times while it begins, it begins the next time`, async (t) => {
  const directory = await install(t)
  const first = await startDaemon(t, directory)
  t.equal((await first.cli(['exec', '--id', 'b2'.repeat(16), '--', 'sh', '-c', 'exit 9'])).code, 9)
  await first.stop()
  const seen = new Set<string>()
  for (let kill = 0; kill < KILLS; kill++) {
    rmSync(formatOf(directory), { force: true })
    // As a crash leaves it that cut off a file.
    writeFileSync(join(stateOf(directory), '.00112233445566ff.tmp'), 'half')
    const child = spawn(PROGRAM, ['run'], { cwd: directory, env: environment(directory), stdio: 'ignore' })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    await sleep(60 + kill * 20 + Math.random() * 20)
    child.kill('SIGKILL')
    await ended
    try {
      seen.add(JSON.stringify(JSON.parse(readFileSync(formatOf(directory), 'utf8'))))
    } catch {
      seen.add('none')
    }
  }
  for (const state of seen)
    t.match(state, /^(none|\{"format":1,"program":"[^"]+"\}|\{"format":0,"towards":1,.*\})$/)
  const next = await startDaemon(t, directory)
  t.equal((await next.cli(['attach', 'b2'.repeat(16)])).code, 9)
  t.equal((await next.cli(['audit', 'verify'])).code, 0)
  t.match(JSON.parse(readFileSync(formatOf(directory), 'utf8')), { format: 1 })
})

t.test('an older program leaves newer state alone, and says so wherever it is asked', async (t) => {
  const directory = await install(t)
  const daemon = await startDaemon(t, directory)
  t.equal((await daemon.cli(['exec', '--', 'true'])).code, 0)
  const session = String(daemon.audit().find(({ action }) => action === 'execute')?.['session'])
  await daemon.stop()
  const own = readFileSync(formatOf(directory), 'utf8')
  writeFileSync(formatOf(directory), '{"format":9,"program":"9.9.9"}\n')
  const before = digest(directory)
  for (const words of [
    ['run'],
    ['audit', 'verify'],
    ['audit', 'tail'],
    ['audit', 'replay'],
    ['audit', 'export', session],
    ['why', '1'],
  ]) {
    const { code, stdout, stderr } = await sassEdge(words, { cwd: directory })
    t.match({ code, stdout: stdout.toString() }, { code: 125, stdout: '' }, words.join(' '))
    t.match(stderr, REFUSAL, words.join(' '))
  }
  for (const words of [['check'], ['check', '--state']]) {
    const { code, stdout } = await sassEdge(words, { cwd: directory })
    t.equal(code, 125)
    t.match(stdout.toString(), /^FAILED {2}state: .* format 9.*; install 9\.9\.9 or a later version again/m)
  }
  const doctor = await sassEdge(['doctor'], { cwd: directory })
  t.match(doctor.stdout.toString(), /FAILED +state +.* format 9/)
  t.equal(doctor.code, 125)
  t.same(digest(directory), before, 'nothing was touched')
  writeFileSync(formatOf(directory), own)
  t.equal((await sassEdge(['check', '--state'], { cwd: directory })).code, 0)
  const back = await startDaemon(t, directory)
  t.equal((await back.cli(['exec', '--', 'true'])).code, 0)
})

/** The script in a root that is this machine's, with whatever it writes in memory. */
function inOwnRoot(t: { comment(text: string): void }, directory: string, script: string) {
  const mounts = `set -e
    mkdir "${directory}/over" "${directory}/root"
    mount -t tmpfs tmpfs "${directory}/over"
    mkdir "${directory}/over/upper" "${directory}/over/work"
    mount -t overlay overlay -o "lowerdir=/,upperdir=${directory}/over/upper,workdir=${directory}/over/work" "${directory}/root"
    mount -t proc proc "${directory}/root/proc"
    mount --rbind /dev "${directory}/root/dev"
    mount --rbind "${ROOT}" "${directory}/root${ROOT}"
    mkdir -p "${directory}/root${directory}/archive"
    mount --rbind "${directory}/archive" "${directory}/root${directory}/archive"`
  const ran = spawnSync(
    'unshare',
    ['-m', 'sh', '-c', `${mounts} || exit 77\nchroot "${directory}/root" sh -c '${script}'`],
    {
      encoding: 'utf8',
      timeout: 120_000,
    },
  )
  if (ran.status === 77 || ran.error !== undefined || /unshare: /.test(ran.stderr)) {
    t.comment(`skipped: no root of its own can be made here (${ran.stderr.trim() || ran.error?.message})`)
    return undefined
  }
  return ran
}

t.test('install.sh: a newer program takes the place of an older one, and not the other way round', (t) => {
  const directory = temporary(t)
  const archive = join(directory, 'archive')
  mkdirSync(archive)
  cpSync(join(ROOT, 'targets/install'), archive, { recursive: true })
  const listed =
    /<<'END'\n([\s\S]*?)\nEND\n/.exec(readFileSync(join(archive, 'install.sh'), 'utf8'))?.[1] ?? ''
  for (const [name = ''] of listed.split('\n').map((line) => line.split(' '))) {
    const path = join(archive, name)
    if (globSync(path).length > 0) continue
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, '')
  }
  cpSync(join(ROOT, 'sass.edge.json'), join(archive, 'sass.edge.json'))
  const program = (name: string) => `#!/bin/sh\n# ${name}\nexec "${PROGRAM}" "$@"\n`
  writeFileSync(join(archive, 'sass-edge'), program('first'))
  chmodSync(join(archive, 'sass-edge'), 0o755)
  const ran = inOwnRoot(
    t,
    directory,
    `cd "${archive}" && rm -rf /etc/sass-edge /var/lib/sass-edge && umask 077
    ./install.sh >/dev/null && echo first $?
    sed "s/first/second/" sass-edge >/tmp/second && cat /tmp/second >sass-edge
    ./install.sh >/dev/null; echo upgraded $? $(grep -c second /usr/bin/sass-edge)
    echo "{\\"format\\":9,\\"program\\":\\"9.9.9\\"}" >/var/lib/sass-edge/format.json
    sed "s/second/third/" sass-edge >/tmp/third && cat /tmp/third >sass-edge
    ./install.sh; echo refused $? $(grep -c second /usr/bin/sass-edge)
    ./sass-edge check --state --config /etc/sass-edge/sass.edge.json
    rm /var/lib/sass-edge/format.json
    ./install.sh >/dev/null; echo again $? $(grep -c third /usr/bin/sass-edge)`,
  )
  if (ran !== undefined) {
    t.match(ran.stdout, /^first 0\nupgraded 0 1\nrefused 125 1\n/, ran.stderr)
    t.match(ran.stdout, /\nFAILED {2}state: The state in \/var\/lib\/sass-edge has format 9/)
    t.match(ran.stdout, /\nagain 0 1\n$/)
    t.match(
      ran.stderr,
      /^install\.sh: this version cannot use [^\n]*, and nothing was changed: \S+ check --state/m,
    )
  }
  t.end()
})
