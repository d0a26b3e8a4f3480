/**
 * Programs that people have, as they are, through the gate of a real daemon to servers of the test: nothing is configured
 * but whom to trust, which is an authority of the test. Programs that this machine has not are left out, with a line.
 * @module
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { join, normalize } from 'node:path'
import t, { type Test } from 'tap'
import { type Branched, everyone, inSession, run, type Who } from './branched.node.ts'
import { until } from './daemon.node.ts'
import { egressOf, missing, openWorld, type World } from './egress-world.node.ts'

const has = (program: string): boolean => existsSync(`/usr/bin/${program}`)

function shell(directory: string, line: string): string {
  return execFileSync('sh', ['-ec', line], {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Files of a directory, and what `made` says for a path. */
function files(directory: string, made: Readonly<Record<string, string>> = {}): RequestListener {
  return (request, response) => {
    const path = normalize(decodeURIComponent((request.url ?? '/').split('?')[0] ?? '/'))
    const body = made[path]
    if (body !== undefined) {
      response.setHeader('content-type', body.startsWith('<') ? 'text/html' : 'application/json')
      response.end(body)
      return
    }
    try {
      response.end(readFileSync(join(directory, path)))
    } catch {
      response.statusCode = 404
      response.end()
    }
  }
}

/** A repository that is served as files. */
function repository(world: World): string {
  const directory = join(world.directory, 'git')
  mkdirSync(directory)
  shell(
    directory,
    'git init -q work; cd work; echo text > file; git add file; git -c user.name=a -c user.email=a@b commit -qm first; git clone -q --bare . ../project.git; cd ../project.git; git update-server-info',
  )
  return directory
}

/** A wheel of one module. */
function wheel(world: World): string {
  const directory = join(world.directory, 'pip')
  mkdirSync(join(directory, 'tiny-1.0.dist-info'), { recursive: true })
  writeFileSync(join(directory, 'tiny.py'), 'WORD = "tiny wheel"\n')
  const info = join(directory, 'tiny-1.0.dist-info')
  writeFileSync(join(info, 'METADATA'), 'Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n')
  writeFileSync(
    join(info, 'WHEEL'),
    'Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  )
  writeFileSync(
    join(info, 'RECORD'),
    'tiny.py,,\ntiny-1.0.dist-info/METADATA,,\ntiny-1.0.dist-info/WHEEL,,\ntiny-1.0.dist-info/RECORD,,\n',
  )
  shell(
    directory,
    `/usr/bin/python3 -c 'import zipfile, os
z = zipfile.ZipFile("tiny-1.0-py3-none-any.whl", "w")
for n in ["tiny.py"] + ["tiny-1.0.dist-info/" + n for n in os.listdir("tiny-1.0.dist-info")]: z.write(n)
z.close()'`,
  )
  return directory
}

/** A package of npm, and what its registry says of it. */
function npmPackage(world: World): { directory: string; document: string } {
  const directory = join(world.directory, 'npm')
  mkdirSync(join(directory, 'package'), { recursive: true })
  const about = { name: 'tiny', version: '1.0.0', main: 'index.js' }
  writeFileSync(join(directory, 'package/package.json'), JSON.stringify(about))
  writeFileSync(join(directory, 'package/index.js'), 'module.exports = "tiny package"\n')
  shell(directory, 'tar czf tiny-1.0.0.tgz package')
  const integrity = `sha512-${createHash('sha512')
    .update(readFileSync(join(directory, 'tiny-1.0.0.tgz')))
    .digest('base64')}`
  const dist = { tarball: 'https://npm.example/tiny-1.0.0.tgz', integrity }
  const document = JSON.stringify({
    ...{ name: 'tiny', 'dist-tags': { latest: '1.0.0' } },
    versions: { '1.0.0': { ...about, dist } },
  })
  return { directory, document }
}

/** A package of Debian in a flat repository. */
function debian(world: World): string {
  const directory = join(world.directory, 'deb')
  mkdirSync(join(directory, 'tiny/DEBIAN'), { recursive: true })
  mkdirSync(join(directory, 'tiny/usr/share/tiny'), { recursive: true })
  writeFileSync(join(directory, 'tiny/usr/share/tiny/word'), 'tiny package of Debian\n')
  const control =
    'Package: tiny-of-the-test\nVersion: 1.0\nArchitecture: all\nMaintainer: a <a@b>\nDescription: tiny\n'
  writeFileSync(join(directory, 'tiny/DEBIAN/control'), control)
  shell(directory, 'dpkg-deb -b tiny tiny.deb')
  const bytes = readFileSync(join(directory, 'tiny.deb'))
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  writeFileSync(
    join(directory, 'Packages'),
    `${control.trim()}\nFilename: ./tiny.deb\nSize: ${bytes.length}\nSHA256: ${sha256}\n`,
  )
  shell(directory, 'gzip -k Packages')
  return directory
}

/** A server for ssh that lets one key in; what ends it. */
async function sshServer(t: Test, world: World): Promise<string> {
  const directory = join(world.directory, 'ssh')
  mkdirSync(directory)
  mkdirSync('/run/sshd', { recursive: true })
  shell(
    directory,
    'ssh-keygen -q -t ed25519 -N "" -f host; ssh-keygen -q -t ed25519 -N "" -f user; cp user.pub allowed',
  )
  chmodSync(join(directory, 'allowed'), 0o600)
  const options = [
    ...[`HostKey=${directory}/host`, `AuthorizedKeysFile=${directory}/allowed`, 'StrictModes=no'],
    ...['UsePAM=no', 'PidFile=none', 'PermitRootLogin=yes', 'ForceCommand=echo told by ssh'],
  ]
  const server = spawn(
    '/usr/sbin/sshd',
    [
      '-D',
      '-f',
      '/dev/null',
      '-p',
      '22',
      '-o',
      `ListenAddress=${world.address(6)}`,
      ...options.flatMap((one) => ['-o', one]),
    ],
    { stdio: 'ignore' },
  )
  t.teardown(() => server.kill())
  await until(
    'a server for ssh',
    () => spawnSync('ssh-keyscan', ['-T', '1', world.address(6)]).stdout.length > 0,
  )
  return directory
}

/** A broker that takes what is published. */
async function broker(world: World): Promise<string[]> {
  const published: string[] = []
  await world.tcp(7, 1883, (socket) => {
    socket.on('data', (bytes) => {
      if (bytes[0] === 0x10) socket.write(Uint8Array.of(0x20, 2, 0, 0))
      const at = bytes.indexOf('plant/')
      if (at >= 0) published.push(bytes.toString('latin1', at))
    })
  })
  return published
}

type Client = { readonly program: string; readonly lines: string; readonly says: RegExp }

const CA = './ca.pem'
const CLIENTS: readonly Client[] = [
  { program: 'curl', lines: `curl -sS --cacert ${CA} https://web.example/hello`, says: /^hello from web$/ },
  { program: 'curl', lines: 'curl -sS http://plc.example/hello', says: /^hello from plc$/ },
  {
    program: 'wget',
    lines: `wget -q -O - --ca-certificate=${CA} https://web.example/hello`,
    says: /^hello from web$/,
  },
  {
    program: 'git',
    lines: `rm -rf clone; GIT_SSL_CAINFO=$PWD/ca.pem git clone -q https://git.example/project.git clone && cat clone/file`,
    says: /^text$/m,
  },
  {
    program: 'pip3',
    lines: `/usr/bin/python3 -m pip install -q --no-cache-dir --disable-pip-version-check --index-url https://pip.example/simple --cert ${CA} --target ./wheels tiny 2>&1 && PYTHONPATH=wheels /usr/bin/python3 -c 'import tiny; print(tiny.WORD)'`,
    says: /^tiny wheel$/m,
  },
  {
    program: 'npm',
    lines: `mkdir -p project && cd project && echo '{}' > package.json && npm install --silent --no-audit --no-fund --registry https://npm.example/ --cafile ../ca.pem tiny && node -e 'console.log(require("tiny"))'`,
    says: /^tiny package$/m,
  },
  {
    program: 'node',
    lines: `NODE_EXTRA_CA_CERTS=${CA} node -e 'fetch("https://web.example/hello").then((r) => r.text()).then(console.log)'`,
    says: /^hello from web$/,
  },
  {
    program: 'python3',
    lines: `SSL_CERT_FILE=${CA} /usr/bin/python3 -c 'import urllib.request; print(urllib.request.urlopen("https://web.example/hello").read().decode())'`,
    says: /^hello from web$/,
  },
  {
    program: 'pip3',
    lines: `/usr/bin/python3 -c 'from pip._vendor import requests; print(requests.get("https://web.example/hello", verify="${CA}").text)'`,
    says: /^hello from web$/,
  },
]

async function clients(t: Test, who: Who): Promise<void> {
  const world = await openWorld(t)
  for (const [name, last] of [
    ['web', 1],
    ['git', 2],
    ['pip', 3],
    ['npm', 4],
    ['deb', 5],
    ['ssh', 6],
  ] as const)
    world.names.set(`${name}.example`, [world.address(last)])
  world.hosts(`${world.address(8)} plc.example\n`)
  await world.https(1, 443, (_request, response) => response.end('hello from web\n'))
  await world.http(8, 80, (_request, response) => response.end('hello from plc\n'))
  await world.https(2, 443, files(repository(world)))
  const index = '<a href="/tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>'
  await world.https(
    3,
    443,
    files(wheel(world), { '/simple/tiny/': `<!DOCTYPE html><html><body>${index}</body></html>` }),
  )
  if (has('npm')) {
    const { directory, document } = npmPackage(world)
    await world.https(4, 443, files(directory, { '/tiny': document }))
  }
  const published = await broker(world)
  const names = ['web', 'git', 'pip', 'npm'].map((name) => `${name}.example`)
  const egress = [...names, 'plc.example:80', 'ssh.example:22', `${world.address(7)}/32:1883`]
  const daemon = await world.start(who, { sandbox: { egress } })

  await inSession(daemon, async (client) => {
    for (const [number, { program, lines, says }] of CLIENTS.entries()) {
      if (!has(program)) {
        t.comment(`skipped: there is no ${program}`)
        continue
      }
      const name = `client${number}.sh`
      daemon.put(name, `${lines}\n`)
      t.match((await run(client, 'sh', [`./${name}`])).trim(), says, `${program}: ${lines.slice(0, 60)}`)
    }
    if (has('mosquitto_pub')) {
      daemon.put('publish.sh', `mosquitto_pub -h ${world.address(7)} -t plant/valve -m open\n`)
      await run(client, 'sh', ['./publish.sh'])
      await until('the broker has it', () => published.length > 0)
      t.match(published[0], /^plant\/valve.*open/s)
    } else t.comment('skipped: there is no mosquitto_pub')
    await ssh(t, daemon, world, (script) => run(client, 'sh', [script]))
  })
  const refused = egressOf(daemon).filter(({ what }) => what !== 'passed')
  t.strictSame(
    refused.filter(({ name }) => names.includes(String(name))),
    [],
    'nothing was refused on the way',
  )
  const asked = world.questions.map((question) => question.split(' ')[0] ?? '')
  t.notOk(asked.includes('plc.example'), 'a name of the device’s table is no question to anybody')
}

async function ssh(t: Test, daemon: Branched, world: World, sh: (script: string) => Promise<string>) {
  if (!has('ssh') || !existsSync('/usr/sbin/sshd'))
    return void t.comment('skipped: there is no ssh with a server')
  const directory = await sshServer(t, world)
  daemon.put('login.key', readFileSync(join(directory, 'user')), 0o600)
  // What Git and ssh would take for a configuration of the user's is none of the test's.
  const options = '-F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/tmp/known -o BatchMode=yes'
  daemon.put(
    'login.sh',
    `cp login.key /tmp/key; chmod 600 /tmp/key; ssh -q ${options} -i /tmp/key root@ssh.example\n`,
  )
  t.equal((await sh('./login.sh')).trim(), 'told by ssh')
}

async function apt(t: Test, who: Who): Promise<void> {
  if (!has('apt-get') || !has('dpkg-deb')) return void t.comment('skipped: there is no apt')
  const world = await openWorld(t)
  world.names.set('deb.example', [world.address(5)])
  await world.http(5, 80, files(debian(world)))
  const daemon = await world.start(who, { sandbox: { egress: ['deb.example'], branch_roots: ['/'] } })
  daemon.put(
    'apt.sh',
    `set -e
echo 'deb [trusted=yes] http://deb.example/ ./' > /etc/apt/sources.list
rm -f /etc/apt/sources.list.d/*
mkdir -p /tmp/lists /tmp/archives
# Root of a session has no capability: what belongs to apt's own user it may not write in.
options='-q -y -o APT::Sandbox::User=root -o Dir::State::Lists=/tmp/lists -o Dir::Cache::Archives=/tmp/archives'
apt-get $options update
apt-get $options install tiny-of-the-test
cat /usr/share/tiny/word
`,
  )
  const said = await inSession(daemon, (client) => run(client, 'sh', ['./apt.sh']))
  t.match(said, /^tiny package of Debian$/m)
  t.notOk(existsSync('/usr/share/tiny/word'), 'in the branch, and not on the device')
}

for (const who of everyone(t)) {
  const lacking = missing()
  if (lacking !== undefined) {
    t.comment(`skipped: ${lacking}`)
    break
  }
  await t.test(`programs as they are, daemon of ${who.name}`, (t) => clients(t, who))
  if (who.name === 'root') await t.test('apt into a branch', (t) => apt(t, who))
}
