/**
 * Files through a real daemon over TLS, in the branch of a session: the library and `sass-edge cp`, whole and cut off.
 * @module
 */
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { type Client, connect } from '../../src/client/client.node.ts'
import { cutLink } from './cutting.node.ts'
import { type Daemon, install, sassEdge, startDaemon, startNew, temporary } from './daemon.node.ts'
import { filesBelow } from './living.node.ts'

const MIB = 1_048_576
const daemon = await startNew(t, {
  capabilities: {
    default: { allowed_paths: ['*'], denied_paths: ['/etc/hostname'], max_file_size_bytes: 64 * MIB },
  },
})
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function open(port = daemon.port, more: Partial<Parameters<typeof connect>[0]> = {}): Promise<Client> {
  const { fingerprint: pin } = daemon
  // Cuts are looked at one by one.
  const own = { agent: 'agent', privateKey: daemon.seed(), pin, reconnect: false }
  return connect({ host: '127.0.0.1', port, ...own, ...more })
}

async function stdoutOf(device: Client, command: string): Promise<string> {
  const { stdout } = await device.execute('sh', ['-c', command])
  return Buffer.from(stdout).toString()
}

/** Every partial that is left anywhere in the state directory and the workspace. */
function partials(one: Daemon): string[] {
  const from = join(one.directory, '.sass-edge')
  return [...filesBelow(from)].map((path) => relative(from, path)).filter((path) => path.endsWith('.part'))
}

t.test(
  'what is uploaded is there for the commands of the session, and for nobody else (SS-30)',
  async (t) => {
    const device = await open()
    const bytes = randomBytes(3 * MIB + 7)
    const shown: number[] = []
    const done = await device.upload(bytes, 'big', { mode: 0o640, onProgress: (at) => shown.push(at) })
    t.match(done, { size: bytes.length, sha256: digest(bytes), startedAt: 0 })
    t.equal(shown.at(-1), bytes.length)
    t.match(await stdoutOf(device, 'sha256sum big; stat -c %a big'), `${digest(bytes)}  big\n640\n`)
    t.notOk(existsSync(join(daemon.workspace, 'big')), 'the device has it when it is merged')

    await stdoutOf(device, 'tr a b <big >other; chmod 604 other')
    const directory = temporary(t)
    const local = join(directory, 'other')
    await device.download('other', local)
    t.equal(digest(readFileSync(local)), (await stdoutOf(device, 'sha256sum other')).slice(0, 64))
    t.equal(statSync(local).mode & 0o777, 0o604)
    t.strictSame(readdirSync(directory), ['other'])
    await device.close()
  },
)

t.test('empty, sparse and packed files, directories and links (SS-30)', async (t) => {
  const device = await open()
  await device.upload(new Uint8Array(0), 'empty')
  const sparse = Buffer.alloc(8 * MIB)
  sparse.write('x', 5 * MIB)
  await device.upload(sparse, 'sparse')
  t.equal(
    await stdoutOf(device, 'stat -c %s empty sparse; test $(stat -c %b sparse) -lt 1000 && echo holes'),
    '0\n8388608\nholes\n',
  )
  await device.upload(Buffer.from('text '.repeat(50_000)), 'text', { compress: true })
  t.equal(await stdoutOf(device, 'wc -c <text'), '250000\n')
  await device.makeDirectory('a/b', 0o700)
  await device.makeLink('a/l', 'b')
  t.match(await device.list('a'), {
    entries: [
      { name: 'b', kind: 'directory', mode: 0o700 },
      { name: 'l', kind: 'link', target: 'b' },
    ],
  })
  t.equal(await device.list('text'), undefined)
  const back = join(temporary(t), 'sparse')
  await device.download('sparse', back)
  t.ok(readFileSync(back).equals(sparse))
  t.ok(statSync(back).blocks < 1_000)
  await device.close()
})

t.test('what is refused: too large, missing, no file, denied', async (t) => {
  const device = await open()
  const local = join(temporary(t), 'x')
  await t.rejects(device.download('none', local), { code: 'FILE_NOT_FOUND' })
  await t.rejects(device.download('/dev/null', local), { code: /^FILE_/ })
  await t.rejects(device.upload(Buffer.from('x'), 'no/where'), { code: 'FILE_CREATE_DIR_FAILED' })
  await t.rejects(device.upload(Buffer.from('x'), '/nowhere-x'), { code: 'FILE_PATH_DENIED' })
  await t.rejects(device.upload(Buffer.from('x'), '../../../../../../../../../x'), {
    code: 'FRAME_MALFORMED',
  })
  await stdoutOf(device, 'mkfifo fifo; truncate -s 65M large')
  await t.rejects(device.upload(Buffer.from('x'), 'fifo'), { code: 'FILE_IO' })
  await t.rejects(device.download('fifo', local), { code: 'FILE_IO' })
  await t.rejects(device.download('large', local), { code: 'FILE_TOO_LARGE' })
  t.notOk(existsSync(local))
  const abort = new AbortController()
  setTimeout(() => abort.abort(), 200)
  const stalled = device.download('/etc/hostname', local, { signal: abort.signal })
  await t.rejects(stalled, { code: 'CONNECTION_LOST' }, 'a denied path stalls until somebody gives up')
  const why = daemon.audit().findLast(({ action, response }) => action === 'download' && response === 'R4')
  t.match((await daemon.cli(['why', String(why?.['seq'])])).stdout.toString(), 'download /etc/hostname')
  await device.close()
})

t.test('an upload goes on where the link was cut, wherever that was', { timeout: 60_000 }, async (t) => {
  const bytes = randomBytes(2 * MIB)
  const local = join(temporary(t), 'f')
  writeFileSync(local, bytes)
  const cuts = [5_000, 100_000, 700_000, 1_500_000].map((cut) => ({ way: 'up' as const, bytes: cut }))
  const link = await cutLink(t, daemon.port, cuts)
  const started: number[] = []
  let session: string | undefined
  for (;;) {
    const device = await open(link.port, { resumeSessionId: session })
    session = device.sessionId
    try {
      const { startedAt, sha256 } = await device.upload(local, 'cut', {
        onProgress: (at) => started.push(at),
      })
      t.equal(sha256, digest(bytes))
      t.ok(startedAt > 0, `${startedAt} bytes were there`)
      t.match(await stdoutOf(device, 'sha256sum cut'), digest(bytes))
      await device.close()
      break
    } catch (cause) {
      t.match(cause, { code: 'CONNECTION_LOST' })
    }
  }
  t.ok(link.links >= 4)
  t.strictSame(
    partials(daemon).filter((path) => !path.includes('work/')),
    [],
    'nothing is left',
  )
})

t.test('wherever a link is cut, what arrives is whole', { timeout: 90_000 }, async (t) => {
  const bytes = randomBytes(300_000)
  const here = temporary(t)
  const local = join(here, 'f')
  const back = join(here, 'back')
  writeFileSync(local, bytes)
  // The same places in every run: some in the handshake, most in the file, some behind it.
  let state = 20
  const draw = () => {
    state = (state * 48_271) % 2_147_483_647
    return state % 330_000
  }
  const cuts = Array.from({ length: 40 }, (_, index) => ({
    way: index % 3 === 0 ? ('down' as const) : ('up' as const),
    bytes: draw(),
  }))
  const link = await cutLink(t, daemon.port, cuts)
  let branch: string | undefined
  let sent = 0
  let received = 0
  while (link.links <= cuts.length) {
    try {
      const device = await open(link.port, { branch: branch ?? 'new' })
      branch ??= device.sessionId
      t.match(await device.upload(local, `any${sent % 3}`), { sha256: digest(bytes) })
      sent++
      await device.download(`any${(sent - 1) % 3}`, back)
      received++
      if (!readFileSync(back).equals(bytes)) t.fail('another file')
      await device.close()
    } catch (cause) {
      // No link, or no session yet: that one will not be found again.
      if (!/^CONNECT/.test((cause as { code: string }).code)) throw cause
    }
    if (existsSync(back) && !readFileSync(back).equals(bytes)) t.fail('another file')
  }
  t.ok(sent > 5 && received > 0, `${sent} sent and ${received} received over ${link.links} links`)
})

t.test('a daemon that is killed finds what it had', { timeout: 60_000 }, async (t) => {
  const directory = await install(t)
  const here = temporary(t)
  const bytes = randomBytes(40 * MIB)
  writeFileSync(join(here, 'f'), bytes)
  const first = await startDaemon(t, directory)
  const device = await connect({
    host: '127.0.0.1',
    port: first.port,
    agent: 'agent',
    privateKey: first.seed(),
    pin: first.fingerprint,
    reconnect: false,
  })
  const sending = device.upload(join(here, 'f'), 'killed', {
    onProgress: (at) => at > 10 * MIB && first.signal('SIGKILL'),
  })
  await t.rejects(sending, { code: 'CONNECTION_LOST' })
  await first.ended
  const second = await startDaemon(t, directory)
  const again = await second.cli(['cp', '--json', join(here, 'f'), ':killed'])
  t.equal(again.code, 0, again.stderr)
  t.ok(JSON.parse(again.stdout.toString()).resumed_bytes > MIB, again.stdout.toString())
  t.match((await second.cli(['exec', '--', 'sha256sum', 'killed'])).stdout.toString(), digest(bytes))
})

t.test('a download goes on where the link was cut, unless the file is another one by then', async (t) => {
  const device = await open()
  const bytes = randomBytes(2 * MIB)
  await device.upload(bytes, 'down')
  const directory = temporary(t)
  const local = join(directory, 'down')
  const link = await cutLink(t, daemon.port, [
    { way: 'down', bytes: 600_000 },
    { way: 'down', bytes: 600_000 },
  ])
  const cut = async () => {
    const other = await open(link.port, { branch: device.sessionId })
    await t.rejects(other.download('down', local), { code: 'CONNECTION_LOST' })
  }
  await device.execute('true')
  await cut()
  t.strictSame(readdirSync(directory), ['.down.sass-edge.part'])
  const { startedAt } = await device.download('down', local)
  t.ok(startedAt > 200_000, `${startedAt}`)
  t.ok(readFileSync(local).equals(bytes))

  await cut()
  const next = randomBytes(MIB)
  await device.upload(next, 'down')
  t.match(await device.download('down', local), { startedAt: 0, size: MIB })
  t.ok(readFileSync(local).equals(next))
  await device.close()
})

t.test('what is not whole yet is no change of the branch', async (t) => {
  const device = await open()
  await device.upload(Buffer.from('x'), 'whole')
  const link = await cutLink(t, daemon.port, [{ way: 'up', bytes: 300_000 }])
  const cut = await open(link.port, { branch: device.sessionId })
  await t.rejects(cut.upload(randomBytes(MIB), 'cut'), { code: 'CONNECTION_LOST' })
  t.match(await stdoutOf(device, 'ls -A'), /^\.sass-edge-[0-9a-f]{32}\.part$/m)
  const diff = await daemon.cli(['branch', 'diff', device.sessionId, '--json'])
  t.equal(diff.code, 0, diff.stderr)
  t.match(diff.stdout.toString(), '/whole"')
  t.notMatch(diff.stdout.toString(), '.part')
  await device.close()
  await cut.closed
  const merged = await daemon.cli(['branch', 'merge', device.sessionId, '--yes', '--json'])
  t.equal(merged.code, 0, `${merged.stdout}${merged.stderr}`)
  t.equal(readFileSync(join(daemon.workspace, 'whole'), 'utf8'), 'x')
  t.strictSame(
    readdirSync(daemon.workspace).filter((name) => name.endsWith('.part')),
    [],
  )
})

t.test('transfers leave no descriptor open, however they end', async (t) => {
  const device = await open()
  const directory = temporary(t)
  await device.upload(randomBytes(MIB), 'kept')
  await device.download('kept', join(directory, 'x'))
  const before = daemon.descriptors()
  for (let turn = 0; turn < 10; turn++) {
    await device.upload(randomBytes(100_000), `kept${turn}`)
    await device.download('kept', join(directory, `x${turn}`))
    await device.list('.')
    await device.makeDirectory('kept.d/e')
    await device.makeLink('kept.l', 'kept')
    await t.rejects(device.upload(Buffer.from('x'), 'kept.d'), { code: 'FILE_IO' })
    await t.rejects(device.upload(Buffer.from('x'), 'no/x'), { code: 'FILE_CREATE_DIR_FAILED' })
    await t.rejects(device.download('no', join(directory, 'no')), { code: 'FILE_NOT_FOUND' })
    const abort = new AbortController()
    const taken = device.upload(randomBytes(MIB), 'taken', {
      signal: abort.signal,
      onProgress: (at) => at > 0 && abort.abort(),
    })
    await t.rejects(taken, { code: 'CONNECTION_LOST' })
  }
  for (let turn = 0; turn < 100 && daemon.descriptors() > before; turn++) await device.ping()
  t.ok(daemon.descriptors() <= before, `${daemon.descriptors()} open, ${before} before`)
  await device.close()
})

t.test('what is taken back leaves nothing', async (t) => {
  const device = await open()
  const before = partials(daemon).length
  const abort = new AbortController()
  const sending = device.upload(randomBytes(20 * MIB), 'taken', {
    signal: abort.signal,
    onProgress: (at) => at > MIB && abort.abort(),
  })
  await t.rejects(sending, { code: 'CONNECTION_LOST' })
  for (let turn = 0; turn < 200 && partials(daemon).length > before; turn++) await device.ping()
  t.equal(partials(daemon).length, before)
  // A signal that was given before says nothing any more.
  const signal = AbortSignal.abort()
  await t.rejects(device.upload(randomBytes(9), 'taken', { signal }), { code: 'CONNECTION_LOST' })
  await t.rejects(
    device.changes(() => {}, { signal }),
    { code: 'CONNECTION_LOST' },
  )
  t.equal(await stdoutOf(device, 'ls taken 2>&1 | wc -l'), '1\n')
  await device.close()
})

function tree(t: Test): string {
  const root = join(temporary(t), 'tree')
  for (const directory of ['', 'a', 'a/b', 'empty']) mkdirSync(join(root, directory))
  for (let file = 0; file < 40; file++) writeFileSync(join(root, `a/f${file}`), randomBytes(100 * file))
  writeFileSync(join(root, 'run'), '#!/bin/sh\n')
  chmodSync(join(root, 'run'), 0o755)
  symlinkSync('a/f1', join(root, 'inside'))
  symlinkSync('/etc/passwd', join(root, 'outside'))
  chmodSync(join(root, 'a/b'), 0o500)
  return root
}

t.test('cp: a file each way, into a directory, and what it says', async (t) => {
  const here = temporary(t)
  const bytes = randomBytes(100_000)
  writeFileSync(join(here, 'f'), bytes)
  const cp = (...args: string[]) => daemon.cli(['cp', ...args])
  const put = await cp('--json', join(here, 'f'), ':cp/')
  t.equal(put.code, 255, put.stderr)
  t.match(
    put.stderr,
    /^sass-edge: cp\/f: The directory that the file belongs in does not exist: make it first\.\n$/,
  )
  t.match(JSON.parse(put.stdout.toString()), { error: 'FILE_CREATE_DIR_FAILED' })
  await daemon.cli(['exec', '--', 'mkdir', 'cp'])
  for (const to of [':cp', ':cp/', ':cp/f']) t.equal((await cp(join(here, 'f'), to)).code, 0, to)
  const got = await cp('--json', ':cp/f', join(here, 'back'))
  t.match(JSON.parse(got.stdout.toString()), { files: 1, bytes: 100_000, sha256: digest(bytes), skipped: [] })
  t.equal(got.stderr, '')
  t.ok(readFileSync(join(here, 'back')).equals(bytes))
  const same = await cp('--json', join(here, 'f'), ':cp/f')
  t.match(
    JSON.parse(same.stdout.toString()),
    { bytes: 100_000, resumed_bytes: 100_000 },
    'it is there already',
  )
  t.equal((await cp(':cp/f', `${here}/`)).code, 0)
  const quiet = await cp(':cp/f', join(here, 'again'))
  t.match(quiet.stderr, /^1 file, 100 kB in \d+:\d\d\n$/, 'no progress in a pipe')
  for (const args of [[], ['a'], ['a', 'b'], [':a', ':b'], [join(here, 'none'), ':x'], [here, ':x']])
    t.equal((await cp(...args)).code, 125, args.join(' '))
  t.equal((await cp(':cp', join(here, 'x'))).code, 125)
  t.match(await cp(':cp/none', join(here, 'x')), {
    code: 255,
    stderr: /^sass-edge: cp\/none: There is no such file on the device\.\n$/,
  })
})

t.test('cp -r: a tree with its modes there and back, and what cannot be copied', async (t) => {
  const root = tree(t)
  const back = join(temporary(t), 'back')
  const put = await daemon.cli(['cp', '-r', '--json', root, ':tree'])
  t.equal(put.code, 125)
  t.match(put.stderr, /outside was not copied, since it is a link that leads out/)
  t.match(JSON.parse(put.stdout.toString()), {
    files: 41,
    directories: 4,
    links: 1,
    skipped: [{ path: 'outside' }],
  })
  await daemon.cli(['exec', '--', 'ln', '-s', '../../elsewhere', 'tree/a/away'])
  const got = await daemon.cli(['cp', '-r', ':tree', back])
  t.equal(got.code, 125)
  t.match(got.stderr, /a\/away was not copied/)
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    if (path === 'outside') continue
    const [a, b] = [lstatSync(join(root, path)), lstatSync(join(back, path))]
    t.equal(a.mode, b.mode, path)
    if (a.isFile() && !readFileSync(join(root, path)).equals(readFileSync(join(back, path)))) t.fail(path)
  }
  t.equal(readlinkSync(join(back, 'inside')), 'a/f1')
  t.notOk(existsSync(join(back, 'a/away')))
  const odd = Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff])])
  writeFileSync(odd, 'x')
  t.match((await daemon.cli(['cp', '-r', root, ':odd'])).stderr, /its name is not UTF-8/)
})

t.test('cp comes back by itself when the link breaks, both ways', { timeout: 60_000 }, async (t) => {
  const here = temporary(t)
  const bytes = randomBytes(3 * MIB)
  writeFileSync(join(here, 'f'), bytes)
  const link = await cutLink(t, daemon.port, [
    { way: 'up', bytes: 1_000_000 },
    { way: 'up', bytes: 1_000_000 },
    { way: 'up', bytes: 10_000_000 },
    { way: 'down', bytes: 1_000_000 },
  ])
  const options = ['--json', '--yes', '--port', String(link.port), '--key']
  const key = join(daemon.directory, '.sass-edge/keys/agent.key')
  const put = await sassEdge(['cp', ...options, key, join(here, 'f'), 'agent@127.0.0.1:broken'], {
    cwd: here,
  })
  t.equal(put.code, 0, put.stderr)
  const sent = JSON.parse(put.stdout.toString())
  t.match(sent, { bytes: bytes.length, sha256: digest(bytes) })
  t.ok(sent.resumed_bytes > 1_000_000, `${sent.resumed_bytes} bytes were there`)
  t.match(put.stderr, /^sass-edge: link was lost for [0-9.]+ s$/m)
  const got = await sassEdge(['cp', ...options, key, 'agent@127.0.0.1:broken', join(here, 'back')], {
    cwd: here,
  })
  t.equal(got.code, 0, got.stderr)
  t.ok(JSON.parse(got.stdout.toString()).resumed_bytes > 500_000)
  t.ok(readFileSync(join(here, 'back')).equals(bytes))
})

t.test('every transfer is in the record, without a name, and is decided again the same', async (t) => {
  const text = JSON.stringify(daemon.audit())
  for (const name of ['big', 'sparse', '/etc/hostname', 'broken']) t.notMatch(text, `"${name}"`)
  const ended = daemon.audit().filter(({ type }) => type === 'transfer_ended')
  t.ok(ended.length > 50)
  for (const { path_digest, warrant } of ended) {
    t.match(path_digest, /^[0-9a-f]{64}$/)
    t.match(warrant, /^[0-9a-f]{64}$/)
  }
  const replayed = await daemon.cli(['audit', 'replay', '--json'])
  t.equal(replayed.code, 0, replayed.stderr)
})
