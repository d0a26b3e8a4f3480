/**
 * Branches as an operator meets them: what an agent's commands change is shown, merged by the digest of what was shown,
 * taken back, dropped and purged, over real TLS, with real overlay mounts, and with a daemon that is killed meanwhile.
 * @module
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { publicKeyOf } from '../../src/base/crypto/ed25519.node.ts'
import { encodeBase64Url } from '../../src/base/encoding/base64.ts'
import { type Client, connect } from '../../src/client/client.node.ts'
import {
  changeConfig,
  configPath,
  type Daemon,
  install,
  type Json,
  type Result,
  sleep,
  startDaemon,
  startNew,
  until,
} from './daemon.node.ts'
import { filesBelow } from './living.node.ts'

const HOLD = { defense: { vi_swap: { hold_seconds: 1 } } }

function agent({ port, fingerprint: pin, seed }: Daemon, branch = 'new'): Promise<Client> {
  return connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: seed(), pin, branch })
}

const admin = ({ adminSocket }: Daemon): Promise<Client> => connect({ socketPath: adminSocket })

async function run(client: Client, script: string): Promise<string> {
  const { exitCode, stdout, stderr } = await client.execute('sh', ['-c', script])
  if (exitCode !== 0) throw new Error(`${script}: ${exitCode} ${Buffer.from(stderr)}`)
  return Buffer.from(stdout).toString()
}

/** Everything in a directory but its times of access: what a file is, and what is in it. */
function picture(directory: string): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()) {
    const path = join(directory, name)
    const { mode, uid, gid, mtimeNs, nlink } = lstatSync(path, { bigint: true })
    const isFile = lstatSync(path).isFile()
    found[name] = [mode, uid, gid, mtimeNs, nlink, isFile ? readFileSync(path).toString('base64') : ''].join(
      ' ',
    )
  }
  return found
}

const json = ({ stdout }: Result): Json => JSON.parse(stdout.toString()) as Json
const branchEvents = (daemon: Daemon) => daemon.audit().filter(({ type }) => type === 'branch')

async function digestOf(client: Client, id: string): Promise<string> {
  return (await client.branches.diff(id, 'stat', () => {})).digest
}

t.test(
  'what a command changes is in its branch, is shown, and reaches the host when it is merged (SS-46)',
  async (t) => {
    const daemon = await startNew(t, HOLD)
    const host = daemon.workspace
    writeFileSync(join(host, 'kept'), 'old\n')
    writeFileSync(join(host, 'gone'), 'x\n')
    const before = picture(host)
    const device = await agent(daemon)
    await run(
      device,
      'echo more >> kept; chmod 640 kept; rm gone; mkdir -p src/deep; head -c 300000 /dev/urandom > src/deep/blob; ln -s kept link; touch -d 2001-02-03T04:05:06 kept',
    )
    const inside = await run(device, 'sha256sum kept src/deep/blob; stat -c "%a %s %y" kept src/deep/blob')
    t.strictSame(picture(host), before, 'the host has nothing of it')

    const shown = json(await daemon.cli(['branch', 'diff', '--json']))
    const changes = shown['changes'] as Json[]
    t.strictSame(
      changes.map(({ path, change }) => [String(path).slice(host.length + 1), change]),
      [
        ['gone', 'deleted'],
        ['kept', 'modified'],
        ['link', 'added'],
        ['src', 'added'],
        ['src/deep', 'added'],
        ['src/deep/blob', 'added'],
      ],
    )
    t.match(shown, {
      session: device.sessionId,
      digest: /^[0-9a-f]{64}$/,
      total: 6,
      conflicts: 0,
      preview: false,
    })
    const text = await daemon.cli(['branch', 'diff'])
    t.match(text.stdout.toString(), /^deleted .*gone/, 'what goes comes first')
    t.match(text.stderr, String(shown['digest']))
    t.match(
      (await daemon.cli(['branch', 'diff', device.sessionId.slice(0, 6), 'src', '--stat'])).stdout.toString(),
      'blob',
    )
    // As other tools write it: a UUID, in capitals.
    const dashed = device.sessionId.toUpperCase().replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    t.equal((await daemon.cli(['branch', 'diff', dashed])).stdout.toString(), text.stdout.toString())
    const nowhere = await daemon.cli(['branch', 'diff', dashed, 'nowhere'])
    t.match(nowhere.stderr.toString(), /The branch changes nothing at nowhere: see sass-edge branch diff /)
    t.match(json(await daemon.cli(['branch', 'list', '--json'])), {
      branches: [
        {
          session: device.sessionId,
          agent: 'agent',
          level: 'overlay',
          sessions: 1,
          running: 0,
          empty: false,
        },
      ],
      total: 1,
    })

    const other = await daemon.cli(['branch', 'merge', '--yes', '--digest', '0'.repeat(64)])
    t.match(other, { code: 255, stderr: /Look at it again/ })
    t.strictSame(picture(host), before, 'another digest merges nothing')
    const asked = await daemon.cli(['branch', 'merge'])
    t.match(asked, { code: 125, stderr: /Nobody said yes/ })
    t.strictSame(picture(host), before, 'nobody said yes')

    const merged = await daemon.cli(['branch', 'merge', '--yes', '--digest', String(shown['digest'])])
    t.match(merged, { code: 0, stdout: /Merged: 4 added, 1 modified, 1 deleted/ }, merged.stderr)
    const outside = execFileSync(
      'sh',
      ['-c', 'sha256sum kept src/deep/blob; stat -c "%a %s %y" kept src/deep/blob'],
      { cwd: host, encoding: 'utf8' },
    )
    t.equal(outside, inside, 'byte for byte, with mode and times')
    t.notOk(existsSync(join(host, 'gone')))
    t.equal(
      await run(device, 'cat kept link; ls'),
      'old\nmore\nold\nmore\nkept\nlink\nsrc\n',
      'the session goes on',
    )
    const after = picture(host)

    t.match(await daemon.cli(['branch', 'undo', '--yes']), { code: 0, stdout: /taken back/ })
    t.strictSame(picture(host), before, 'as it was before, times included')
    t.equal(
      await run(device, 'cat kept; ls'),
      'old\nmore\nkept\nlink\nsrc\n',
      'and changed in the branch again',
    )
    t.match(
      json(await daemon.cli(['branch', 'diff', '--json'])),
      { digest: shown['digest'] },
      'the same changes',
    )
    t.equal((await daemon.cli(['branch', 'merge', '--yes'])).code, 0)
    t.strictSame(picture(host), after)
    await device.close()

    const records = branchEvents(daemon)
    t.strictSame(
      records.map(({ what }) => what),
      ['merge_other_digest', 'merged', 'undone', 'merged'],
    )
    t.match(records[1], {
      branch: device.sessionId,
      by: 'admin',
      digest: shown['digest'],
      modified: 1,
      deleted: 1,
    })
    t.match(
      daemon.audit().filter(({ type, action }) => type === 'decision' && action === 'merge')[1],
      { branch: device.sessionId, shown: shown['digest'], agent: 'admin', category: 'human' },
      'decided and recorded before',
    )
    t.notMatch(JSON.stringify(daemon.audit()), /kept|blob/, 'no path in the chain')
    await daemon.stop()
    t.equal((await daemon.cli(['audit', 'replay'])).code, 0, 'every decision comes out again')
    t.equal((await daemon.cli(['audit', 'verify'])).code, 0)
  },
)

t.test('what the host changed meanwhile is a conflict: named, and only merged by name', async (t) => {
  const daemon = await startNew(t, HOLD)
  const at = (name: string) => join(daemon.workspace, name)
  for (const name of ['one', 'two', 'three']) writeFileSync(at(name), 'old\n')
  const device = await agent(daemon)
  await run(device, 'for name in one two three; do echo agent > $name; done')
  await sleep(20)
  writeFileSync(at('two'), 'somebody else\n')
  const refused = await daemon.cli(['branch', 'merge', '--yes', '--json'])
  t.match(refused, { code: 255 })
  t.match(json(refused), {
    error: 'BRANCH_REFUSED',
    conflicts: [{ path: at('two'), conflict: 'changed' }],
    conflicts_total: 1,
  })
  t.equal(readFileSync(at('one'), 'utf8'), 'old\n', 'all or nothing')
  t.equal((await daemon.cli(['branch', 'merge', 'one', '--yes'])).code, 0, 'one of them alone')
  t.equal(readFileSync(at('one'), 'utf8'), 'agent\n')
  t.equal(readFileSync(at('three'), 'utf8'), 'old\n')
  t.equal((await daemon.cli(['branch', 'merge', '--yes', '--force', at('two')])).code, 0)
  for (const name of ['two', 'three']) t.equal(readFileSync(at(name), 'utf8'), 'agent\n', name)
  await device.close()
})

t.test('a branch that is merged completely goes on from the files as they are then', async (t) => {
  const daemon = await startNew(t, HOLD)
  const file = join(daemon.workspace, 'file')
  writeFileSync(file, 'one\n')
  const device = await agent(daemon)
  const boss = await admin(daemon)
  const merge = async () => boss.branches.merge(device.sessionId, await digestOf(boss, device.sessionId))
  await run(device, 'echo two >> file')
  t.match(await merge(), { success: true })
  writeFileSync(file, 'of the host\n')
  await boss.branches.checkpoints(device.sessionId)
  t.match(await boss.branches.undo(device.sessionId), { success: false, conflictsTotal: 1 })
  t.equal(await run(device, 'cat file; echo three >> file'), 'of the host\n')
  t.match(await boss.branches.diff(device.sessionId, 'stat', () => {}), { changes: 1, conflicts: 0 })
  writeFileSync(file, 'and again\n')
  t.match(await boss.branches.diff(device.sessionId, 'stat', () => {}), { changes: 1, conflicts: 1 })
  await Promise.all([device.close(), boss.close()])
})

t.test('nothing is merged while a command runs, and the branch is named that it runs in', async (t) => {
  const daemon = await startNew(t, HOLD)
  const device = await agent(daemon)
  await run(device, 'echo x > x')
  const busy = device.stream('sleep', ['300'], { output() {} })
  busy.exit.catch(() => {})
  const id = await busy.started
  const boss = await admin(daemon)
  t.match((await boss.branches.diff(device.sessionId, 'text', () => {})).isPreview, true)
  const digest = await digestOf(boss, device.sessionId)
  for (const deed of [
    boss.branches.merge(device.sessionId, digest),
    boss.branches.undo(device.sessionId),
    boss.branches.drop(device.sessionId),
    boss.branches.checkpoint(device.sessionId),
  ])
    t.match(await deed, { success: false, message: new RegExp(`Commands run in this branch: ${id}`) })
  t.notOk(existsSync(join(daemon.workspace, 'x')))
  await device.cancel(busy.id)
  await busy.exit
  t.match(await boss.branches.merge(device.sessionId, digest), { success: true, merged: 1 })
  t.match(await boss.branches.merge('ab'.repeat(16), digest), { success: false, message: /no branch/ })
  await boss.close()
  await device.close()
})

t.test(
  'branches side by side: what is merged from one is seen in the other, and can be a conflict there',
  async (t) => {
    const daemon = await startNew(t, HOLD)
    writeFileSync(join(daemon.workspace, 'shared'), 'old\n')
    const [one, two] = [await agent(daemon), await agent(daemon)]
    await run(one, 'echo one > shared; echo 1 > only-one')
    await run(two, 'echo 2 > only-two')
    const boss = await admin(daemon)
    t.match(await boss.branches.merge(one.sessionId, await digestOf(boss, one.sessionId)), { success: true })
    t.equal(await run(two, 'cat shared only-one only-two'), 'one\n1\n2\n')
    await run(two, 'echo two > shared')
    const shown = await boss.branches.diff(two.sessionId, 'text', () => {})
    t.match(shown, { changes: 2, conflicts: 1 })
    t.match(await boss.branches.merge(two.sessionId, shown.digest), { success: false, conflictsTotal: 1 })
    await Promise.all([one.close(), two.close(), boss.close()])
  },
)

t.test('a drop leaves the base as it was, at once, and its files go', async (t) => {
  const daemon = await startNew(t, HOLD)
  for (let count = 0; count < 50; count++) writeFileSync(join(daemon.workspace, `f${count}`), `${count}`)
  utimesSync(daemon.workspace, 1, 1)
  const before = picture(daemon.workspace)
  const device = await agent(daemon)
  await run(device, 'rm -f f1*; for i in $(seq 3000); do echo $i > new$i; done; mkdir d; mv f2 d')
  t.match(await daemon.cli(['branch', 'drop']), { code: 125, stderr: /Nobody said yes/ })
  const begin = performance.now()
  t.equal((await daemon.cli(['branch', 'drop', '--yes'])).code, 0)
  t.comment(`dropped in ${Math.round(performance.now() - begin)} ms with the command line`)
  t.strictSame(picture(daemon.workspace), before)
  t.equal(lstatSync(daemon.workspace).mtimeMs, 1_000)
  t.equal(await run(device, 'ls | wc -l'), '50\n', 'the session has a new branch')
  const branches = join(daemon.directory, '.sass-edge/state/branches')
  await until('its files to be gone', () =>
    readdirSync(branches).every((name) => !name.startsWith('dropped-')),
  )
  await device.close()
  await until('the empty one to be gone', () => readdirSync(branches).length === 0)
})

t.test('checkpoints: a state that one can go back to', async (t) => {
  const daemon = await startNew(t, HOLD)
  const device = await agent(daemon)
  await run(device, 'echo good > file')
  t.match(await daemon.cli(['branch', 'checkpoint', 'before', 'lunch']), {
    code: 0,
    stdout: /Checkpoint \d+ is made/,
  })
  await run(device, 'echo bad > file; echo more > other')
  const listed = json(await daemon.cli(['branch', 'checkpoint', '--list', '--json']))['checkpoints'] as Json[]
  t.match(listed, [{ label: 'before lunch', files: 1 }])
  const number = String(listed[0]?.['number'])
  t.equal((await daemon.cli(['branch', 'checkpoint', '--restore', number, '--yes'])).code, 0)
  t.equal(await run(device, 'cat file; ls'), 'good\nfile\n')
  t.equal((await daemon.cli(['branch', 'checkpoint', '--remove', number])).code, 0)
  t.match(await daemon.cli(['branch', 'checkpoint', '--restore', number, '--yes']), { code: 255 })
  await device.close()
})

t.test('a patch is what git apply takes', async (t) => {
  const daemon = await startNew(t, HOLD)
  const lines = (marks: Record<number, string>) =>
    Array.from({ length: 40 }, (_none, index) => `${marks[index] ?? `line ${index}`}\n`).join('')
  writeFileSync(join(daemon.workspace, 'text'), lines({}))
  writeFileSync(join(daemon.workspace, 'gone'), 'bye\n')
  const copy = t.testdir({ text: lines({}), gone: 'bye\n' })
  const device = await agent(daemon)
  await run(
    device,
    'sed -i s/line.7$/changed/ text; rm gone; mkdir d; head -c 5000 /dev/urandom > d/blob; chmod 755 text',
  )
  const { stdout, code } = await daemon.cli(['branch', 'diff', '--patch'])
  t.equal(code, 0)
  // Not as a part of whatever repository these tests lie in.
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(copy) }
  execFileSync('git', ['apply', '--binary', '-'], { cwd: copy, input: stdout, env })
  t.equal((await daemon.cli(['branch', 'merge', '--yes'])).code, 0)
  for (const name of ['text', 'd/blob'])
    t.strictSame(readFileSync(join(copy, name)), readFileSync(join(daemon.workspace, name)), name)
  t.notOk(existsSync(join(copy, 'gone')))
  t.equal(lstatSync(join(copy, 'text')).mode & 0o777, 0o755)
  await device.close()
})

t.test('an agent that calls what is the operator’s gets silence, and nothing happens', async (t) => {
  const daemon = await startNew(t, HOLD)
  const victim = await agent(daemon)
  await run(victim, 'echo x > x')
  const boss = await admin(daemon)
  const digest = await digestOf(boss, victim.sessionId)
  for (const deed of [
    (device: Client) => device.branches.merge(victim.sessionId, digest),
    (device: Client) => device.branches.list(),
    (device: Client) => device.branches.drop(victim.sessionId),
  ]) {
    const device = await agent(daemon)
    const answered = deed(device).then(
      () => 'answered',
      (cause: { code: string }) => cause.code,
    )
    t.not(await Promise.race([answered, sleep(500).then(() => 'silence')]), 'answered')
    await device.close()
    await boss.operator.setLevel({ scope: 'agent', name: 'agent', level: 'NORMAL' })
  }
  t.notOk(existsSync(join(daemon.workspace, 'x')))
  t.ok((await boss.branches.list()).branches.some(({ id }) => id === victim.sessionId))
  t.match(
    daemon.audit().filter(({ rule }) => rule === 'method.operator'),
    Array.from({ length: 3 }, () => ({ response: 'R4', agent: 'agent' })),
  )
  await Promise.all([victim.close(), boss.close()])
})

t.test('an operator with a key does all of it over TLS', async (t) => {
  const directory = await install(t, HOLD)
  const seed = new Uint8Array(32).fill(9)
  const { agents } = JSON.parse(readFileSync(configPath(directory), 'utf8'))
  const boss = { name: 'boss', role: 'operator', public_key: encodeBase64Url(publicKeyOf(seed)) }
  changeConfig(directory, { agents: [...agents.filter(({ name }: Json) => name !== 'boss'), boss] })
  const daemon = await startDaemon(t, directory)
  const device = await agent(daemon)
  await run(device, 'for i in $(seq 2000); do echo $i > "a-rather-long-name-of-a-file-$i"; done')
  const { port, fingerprint: pin } = daemon
  const operator = await connect({
    host: '127.0.0.1',
    port,
    agent: 'boss',
    privateKey: seed,
    pin,
    window: 4_096,
  })
  let bytes = 0
  const slow = async (piece: Uint8Array) => {
    bytes += piece.length
    await sleep(1)
  }
  const shown = await operator.branches.diff(device.sessionId, 'json', slow)
  t.equal(shown.changes, 2_000)
  t.ok(bytes > 400_000, `${bytes} bytes under a credit of 4 KiB`)
  t.match(await operator.branches.merge(device.sessionId, shown.digest), { success: true, merged: 2_000 })
  t.match(branchEvents(daemon).at(-1), { what: 'merged', by: 'boss' })
  t.match(await operator.branches.undo(device.sessionId), { success: true })
  t.match(await operator.branches.drop(device.sessionId), { success: true })
  t.strictSame(readdirSync(daemon.workspace), [])
  await Promise.all([device.close(), operator.close()])
})

/** Every file beneath the state directory that holds those bytes. */
function holding(directory: string, canary: string): string[] {
  return [...filesBelow(directory)].filter((path) => readFileSync(path).includes(canary))
}

t.test('a purge takes the branch along: no byte of it is left', async (t) => {
  const daemon = await startNew(t, HOLD)
  const state = join(daemon.directory, '.sass-edge/state')
  const canary = 'canary-7f3a91'
  const device = await agent(daemon)
  await run(device, `for i in $(seq 500); do echo ${canary} $i > file$i; done`)
  const boss = await admin(daemon)
  t.match(await boss.branches.checkpoint(device.sessionId, 'x'), { success: true })
  t.ok(holding(state, canary).length >= 500)
  const busy = device.stream('sleep', ['300'], { output() {} })
  busy.exit.catch(() => {})
  await busy.started
  t.match(await boss.operator.purge(device.sessionId), { success: false })
  await device.cancel(busy.id)
  await busy.exit
  t.match(await boss.operator.purge(device.sessionId), { success: true, message: /its branch too/ })
  t.strictSame(holding(state, canary), [])
  t.strictSame(readdirSync(join(state, 'branches')), [])
  t.match(
    daemon
      .audit()
      .filter(({ type }) => type === 'purge')
      .at(-1),
    { branch: 'erased', session: device.sessionId },
  )
  await boss.close()
  t.equal((await daemon.cli(['audit', 'verify'])).code, 0)
})

const FILES = 2_000
const oldText = (index: number) => `old ${index}\n`.repeat(20)
const newText = (index: number) => `new ${index}\n`.repeat(20)

/** Makes all of them new in a branch. */
const newFiles = `i=0; while [ $i -lt ${FILES} ]; do l="new $i\n"; printf "$l$l$l$l$l$l$l$l$l$l$l$l$l$l$l$l$l$l$l$l" > f$i; i=$((i+1)); done`

/** How many of the files are new; every one must be old or new as a whole. */
function countNew(t: Test, directory: string): number {
  let count = 0
  const odd: string[] = []
  for (let index = 0; index < FILES; index++) {
    const text = readFileSync(join(directory, `f${index}`), 'utf8')
    if (text === newText(index)) count++
    else if (text !== oldText(index)) odd.push(`f${index}`)
  }
  t.strictSame(odd, [], 'every file is old or new')
  return count
}

t.test('a daemon that is told to stop brings a merge to its end first', async (t) => {
  const directory = await install(t, HOLD)
  const workspace = join(directory, '.sass-edge/workspace')
  for (let index = 0; index < FILES; index++) writeFileSync(join(workspace, `f${index}`), oldText(index))
  const daemon = await startDaemon(t, directory)
  const device = await agent(daemon)
  await run(device, newFiles)
  const boss = await admin(daemon)
  const digest = await digestOf(boss, device.sessionId)
  const merged = boss.branches.merge(device.sessionId, digest).catch(({ code }) => code)
  await until('the merge to begin', () =>
    existsSync(join(directory, '.sass-edge/state/branches', device.sessionId, 'merge.json')),
  )
  daemon.signal('SIGTERM')
  t.match(await daemon.ended, { code: 0 })
  t.comment(JSON.stringify(await merged))
  t.equal(countNew(t, workspace), FILES)
  t.match(branchEvents(daemon).at(-1), { what: 'merged' })
  const again = await startDaemon(t, directory)
  t.match(branchEvents(again).at(-1), { what: 'merged' }, 'nothing had to be resumed')
})

t.test(
  'a daemon that is killed in the middle of a merge brings it to an end at its next start',
  async (t) => {
    const directory = await install(t, HOLD)
    const workspace = join(directory, '.sass-edge/workspace')
    mkdirSync(workspace, { recursive: true })
    const isNew = (index: number) => readFileSync(join(workspace, `f${index}`), 'utf8') === newText(index)
    const branches = join(directory, '.sass-edge/state/branches')
    const moments: Readonly<Record<string, (id: string) => boolean>> = {
      'its journal is there': (id) => existsSync(join(branches, id, 'merge.json')),
      'its steps are decided': (id) => /"state":"committed"/.test(journal(id)),
      'the first file is new': () => isNew(0) || isNew(1) || isNew(10) || isNew(999),
      'most files are new': () => isNew(FILES - 1) || isNew(998),
    }
    function journal(id: string): string {
      try {
        return readFileSync(join(branches, id, 'merge.json'), 'utf8').slice(0, 400)
      } catch {
        return ''
      }
    }
    for (const [moment, isNow] of Object.entries(moments)) {
      for (let index = 0; index < FILES; index++) {
        writeFileSync(join(workspace, `f${index}`), oldText(index))
        chmodSync(join(workspace, `f${index}`), 0o644)
      }
      const daemon = await startDaemon(t, directory)
      const device = await agent(daemon)
      await run(device, newFiles)
      const boss = await admin(daemon)
      const digest = await digestOf(boss, device.sessionId)
      boss.branches.merge(device.sessionId, digest).catch(() => {})
      for (const end = performance.now() + 10_000; performance.now() < end && !isNow(device.sessionId); )
        await new Promise((resolve) => setImmediate(resolve))
      daemon.signal('SIGKILL')
      await daemon.ended
      const half = countNew(t, workspace)
      const again = await startDaemon(t, directory)
      const whole = countNew(t, workspace)
      t.ok(whole === 0 || whole === FILES, `${moment}: ${half} of ${FILES} were new, now ${whole}`)
      const last = branchEvents(again).at(-1)
      const isResumed = String(last?.['what']).startsWith('resume_')
      t.comment(`${moment}: ${half} then ${whole}, ${isResumed ? last?.['what'] : 'nothing to resume'}`)
      if (isResumed) {
        t.equal(last?.['what'], whole === 0 ? 'resume_rolled_back' : 'resume_merge_finished')
        t.ok(again.log().some((line) => line.includes(' merge_resumed ') && line.includes(device.sessionId)))
      } else t.ok(half === 0 || half === FILES, 'nothing was half done')
      const shown = json(await again.cli(['branch', 'diff', device.sessionId, '--json']))
      t.equal((shown['changes'] as Json[]).length, whole === 0 ? FILES : 0, 'the branch agrees')
      t.equal((await again.cli(['branch', 'drop', device.sessionId, '--yes'])).code, 0)
      await again.stop()
    }
  },
)
