/**
 * What is reached from the workspace of a daemon as it is installed: by files that are moved, and by commands.
 * @module
 */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { outcome } from './agentic.node.ts'
import { client } from './agents.node.ts'
import { startNew, temporary } from './daemon.node.ts'

/** What is refused is told, and each refusal is judged by itself; all else is as it is installed. */
const TOLD = {
  defense: {
    ...{ deny_response: 'reason', levels: { automatic: false } },
    tarpit: { chunk_bytes: 64, total_bytes: 128, delay_ms: 50 },
  },
}

t.test(
  'paths above the workspace and those of other systems are refused by their words, and lead a command nowhere (OS-04)',
  async (t) => {
    const daemon = await startNew(t, TOLD)
    const secret = join(daemon.workspace, '../secret.key')
    writeFileSync(secret, 'above')
    const agent = await client(daemon)
    const local = join(temporary(t), 'file')
    for (const [path, code] of [
      ['../secret.key', 'CAPABILITY_PATH_DENIED'],
      ['data/../../secret.key', 'CAPABILITY_PATH_DENIED'],
      ['/etc/passwd', 'CAPABILITY_PATH_DENIED'],
      ['C:\\Windows\\System32', 'FRAME_MALFORMED'],
      ['\\\\host\\share', 'FRAME_MALFORMED'],
    ] as const) {
      t.equal(await outcome(agent.download(path, local)), code, `${path} fetched`)
      if (path !== '/etc/passwd')
        t.equal(await outcome(agent.upload(Buffer.from('changed'), path)), code, `${path} written`)
    }
    const hostile = await client(daemon)
    t.not(await outcome(hostile.upload(Buffer.from('changed'), '/etc/passwd')), 'done', 'that is an attack')
    await hostile.close()
    t.notOk(existsSync(local))
    t.equal(readFileSync(secret, 'utf8'), 'above')

    // What is not read off the words is not there for the command.
    writeFileSync(join(daemon.workspace, 'look.sh'), 'cat "$@"; ls -a ..\n')
    const seen = async (path: string) => {
      const { stdout } = await agent.execute('sh', ['look.sh', path])
      return Buffer.from(stdout).toString()
    }
    t.equal(await outcome(agent.execute('cat', ['../secret.key'])), 'CAPABILITY_PATH_DENIED')
    writeFileSync(join(daemon.workspace, 'above.sh'), 'p=..; cat $p/secret.key $p/sass.edge.json; ls -a $p\n')
    const above = await agent.execute('sh', ['above.sh'])
    t.same(
      Buffer.from(above.stdout).toString().trim().split('\n'),
      ['.', '..', 'workspace'],
      'above the workspace is nothing but the way to it',
    )
    t.notMatch(await seen('C:\\Windows\\System32'), 'Windows')
    const names = await seen('/etc/passwd')
    const real = readFileSync('/etc/passwd', 'utf8')
    t.ok(
      real.split('\n').some((line) => (line.split(':')[4] ?? '') !== ''),
      'this device tells of its users',
    )
    for (const line of names.split('\n').filter((one) => one.includes(':')))
      t.equal(line.split(':')[4], '', `names and numbers alone: ${line}`)
    await agent.close()
  },
)

t.test(
  'as it is installed a command writes nowhere but in its workspace and in memory, and reads no more of the device than is listed (OS-02)',
  async (t) => {
    const daemon = await startNew(t, TOLD)
    const config = JSON.parse(readFileSync(join(daemon.directory, '.sass-edge/sass.edge.json'), 'utf8'))
    const listed = (config.sandbox.read as string[]).map((path) => path.split('/')[1] ?? '')
    const way = daemon.workspace.split('/')[1] ?? ''
    writeFileSync(join(daemon.workspace, '../above.txt'), 'above')
    mkdirSync(join(daemon.workspace, 'data'))
    symlinkSync('../../above.txt', join(daemon.workspace, 'data/link'))
    writeFileSync(
      join(daemon.workspace, 'work.sh'),
      `for d in / /etc /usr /usr/bin /var/log /sys /opt /root /home /srv; do
        (: > $d/claims-$$) 2>/dev/null && echo "written $d"
      done
      : > here && echo "written workspace"
      : > /tmp/there && echo "written memory"
      cat data/link 2>/dev/null
      for d in /*; do test -z "$(ls -A $d 2>/dev/null)" || echo "root $(basename $d)"; done
      : > ../up && : > ../../up; true\n`,
    )
    const agent = await client(daemon)
    const { stdout } = await agent.execute('sh', ['work.sh'])
    const said = Buffer.from(stdout).toString().trim().split('\n')
    t.same(
      said.filter((line) => line.startsWith('written')),
      ['written workspace', 'written memory'],
    )
    t.notOk(said.includes('above'), 'nor by a link')
    // What the kernel and the session make for themselves; of all others an empty directory is left.
    const made = new Set(['proc', 'dev', 'tmp', 'run', way, ...listed])
    t.same(
      said.filter((line) => line.startsWith('root ') && !made.has(line.slice('root '.length))),
      [],
    )
    t.notOk(existsSync(join(daemon.workspace, 'here')), 'and what it writes is in its branch')
    for (const up of ['../up', '../../up']) t.notOk(existsSync(join(daemon.workspace, up)), up)
    await agent.close()
  },
)

t.test(
  'temporary files and caches of tools lie in memory, unless the request says where (SS-47)',
  async (t) => {
    const daemon = await startNew(t, TOLD)
    const agent = await client(daemon)
    const names = ['TMPDIR', 'npm_config_cache', 'YARN_CACHE_FOLDER', 'CARGO_HOME', 'PIP_CACHE_DIR']
    writeFileSync(
      join(daemon.workspace, 'show.sh'),
      names.map((name) => `echo "${name}=$${name}"\n`).join(''),
    )
    const shown = async (environment: Readonly<Record<string, string>> = {}) => {
      const { stdout } = await agent.execute('sh', ['show.sh'], { environment })
      return Buffer.from(stdout).toString().trim().split('\n')
    }
    for (const line of await shown()) t.match(line, /=\/tmp(\/|$)/, line)
    t.ok((await shown({ PIP_CACHE_DIR: '/elsewhere' })).includes('PIP_CACHE_DIR=/elsewhere'))
    await agent.close()
  },
)
