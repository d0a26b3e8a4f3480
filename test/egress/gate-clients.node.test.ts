import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { createClock } from '../../src/edge/host/clock.node.ts'
import type { EgressRecord } from '../../src/egress/gate-events.ts'
import { createEgressGate } from '../../src/egress/gate-server.node.ts'
import { listenedPorts } from '../../src/egress/lists/egress-list.ts'
import { createResolver } from '../../src/egress/names/resolver.node.ts'
import { listOf, sockets } from './gate-world.node.ts'
import { openNamespace } from './network-namespace.node.ts'

const run = promisify(execFile)
const HOST = '127.88.0.9'

type Outcome = { readonly code: number; readonly out: string; readonly error: string }

t.test('real clients in a network namespace of their own', async (t) => {
  const directory = t.testdir({
    files: {},
    hosts: `${HOST} a.example c.example\n`,
    resolv: 'nameserver 127.0.0.1\n',
  })
  const list = listOf(['a.example', '*.b.example', `${HOST}:8088`])
  const namespace = await openNamespace(listenedPorts(list), (reason) => t.comment(reason))
  if (namespace === undefined) return
  const key = join(directory, 'key.pem')
  const certificate = join(directory, 'certificate.pem')
  await run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-subj', '/CN=a.example', '-addext', 'subjectAltName=DNS:a.example,DNS:c.example'],
    ...['-keyout', key, '-out', certificate],
  ])
  const asked: string[] = []
  const answer: RequestListener = (request, response) => {
    asked.push(`${request.method} ${request.headers.host} ${request.url}`)
    if (request.url?.startsWith('/repository/') !== true) {
      response.end('hello\n')
      return
    }
    const path = join(directory, 'files', new URL(request.url, 'http://a.example').pathname)
    try {
      response.end(readFileSync(path))
    } catch {
      response.writeHead(404).end()
    }
  }
  const servers = [
    createHttp(answer).listen(80, HOST),
    createHttps({ key: readFileSync(key), cert: readFileSync(certificate) }, answer).listen(443, HOST),
    createHttp(answer).listen(8088, HOST),
  ]
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const lines: EgressRecord[] = []
  const clock = createClock()
  const resolver = createResolver(clock, { hostsFile: join(directory, 'hosts'), servers: ['127.0.0.1:1'] })
  const gate = createEgressGate(
    { clock, sockets, resolver, relaySource: undefined },
    { ask: () => () => {}, record: (_session, line) => lines.push(line), tell: () => {} },
  )
  const rules = {
    unlisted: 'deny',
    refusesInternal: true,
    reachable: [],
    ownPorts: [],
    ownAddresses: () => [],
  } as const
  gate.open('s1', [...list, ...listOf([`${HOST}:80`, `${HOST}:443`])], rules, namespace.descriptors)
  t.teardown(async () => {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
    await gate.close()
    await namespace.close()
  })
  const inside = async (command: string): Promise<Outcome> => {
    const script = `mount --bind ${join(directory, 'resolv')} /etc/resolv.conf && ${command}`
    try {
      const { stdout, stderr } = await run(
        'nsenter',
        [`--net=${namespace.path}`, 'unshare', '-m', 'sh', '-c', script],
        {
          timeout: 20_000,
          env: { PATH: process.env['PATH'], CURL_CA_BUNDLE: certificate, GIT_SSL_CAINFO: certificate },
        },
      )
      return { code: 0, out: stdout, error: stderr }
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
      return { code, out: stdout, error: stderr }
    }
  }

  t.match(await inside('curl -sS http://a.example/x'), { code: 0, out: 'hello\n' }, 'curl')
  t.match(await inside('curl -sS https://a.example/x'), { code: 0, out: 'hello\n' }, 'curl over TLS')
  t.match(await inside(`curl -sS http://${HOST}:8088/x`), { code: 0, out: 'hello\n' }, 'a listed address')
  t.match(
    await inside(`wget -qO- --ca-certificate=${certificate} https://a.example/x`),
    { out: 'hello\n' },
    'wget',
  )
  const python = `import ssl,urllib.request as u; print(u.urlopen("https://a.example/x",context=ssl.create_default_context(cafile="${certificate}")).read().decode())`
  t.match(await inside(`python3 -c '${python}'`), { code: 0, out: 'hello\n' }, 'urllib')
  const fetching = 'fetch("https://a.example/x").then(r=>r.text()).then(console.log)'
  t.match(
    await inside(`NODE_EXTRA_CA_CERTS=${certificate} ${process.execPath} -e '${fetching}'`),
    { code: 0, out: 'hello\n' },
    'fetch',
  )
  mkdirSync(join(directory, 'files/repository'))
  const repository = join(directory, 'files/repository')
  const git = (...args: string[]) =>
    run('git', ['-C', repository, '-c', 'user.name=x', '-c', 'user.email=x@x', ...args])
  await git('init', '-q')
  writeFileSync(join(repository, 'file'), 'text\n')
  await git('add', 'file')
  await git('commit', '-qm', 'one')
  await git('update-server-info')
  const clone = `git clone -q https://a.example/repository/.git ${directory}/clone`
  t.match(await inside(clone), { code: 0, error: '' }, 'git')
  t.equal(readFileSync(join(directory, 'clone/file'), 'utf8'), 'text\n')

  asked.length = 0
  for (const [command, what] of [
    ['curl -sS http://c.example/', 'a name that is not listed'],
    [
      'curl -sS --resolve c.example:443:127.64.0.1 https://c.example/',
      "a listed name's address with another SNI",
    ],
    ['curl -sS -H "Host: c.example" http://a.example/', 'another Host'],
    ['curl -sS -H "Host:" http://a.example/', 'no Host'],
    ['curl -sS -x http://a.example:80 http://c.example/', 'a proxy'],
    ['curl -sS -p -x http://a.example:80 https://c.example/', 'a tunnel'],
    ['curl -sS http://127.0.0.1/', "the device's own"],
    ['curl -sS http://0.0.0.0/', 'no address'],
    ['curl -sS http://192.0.2.1/', 'a bare address'],
    ['curl -sS "http://[2001:db8::1]/"', 'a bare address of IPv6'],
    ['curl -sS http://a.example:8080/', 'a port that nobody named'],
  ] as const) {
    const { code, out } = await inside(command)
    t.ok(code !== 0 && out === '', `${what}: ${code}`)
  }
  t.strictSame(asked, [])
  t.match(await inside('getent hosts a.example.'), { out: /^127\.64\.0\.\d+ / })
  t.match(await inside('getent hosts A.EXAMPLE'), { out: /^127\.64\.0\.\d+ / })
  t.match(
    await inside(
      `${process.execPath} -e 'require("http").createServer((q,r)=>r.end("own\\n")).listen(8099,()=>fetch("http://localhost:8099").then(r=>r.text()).then(t=>{console.log(t);process.exit()}))'`,
    ),
    { out: 'own\n' },
    'servers of the session are its own',
  )
  const reasons = lines
    .filter(({ verdict }) => verdict === 'refused')
    .map(({ name, address, reason }) => `${name ?? address} ${reason}`)
  t.strictSame(
    [...new Set(reasons)].sort(),
    [
      'a.example hello_other_name',
      'a.example http_method',
      'a.example http_other_host',
      'c.example unlisted',
      '127.0.0.1 unlisted',
      '192.0.2.1 unlisted',
      '2001:db8::1 unlisted',
    ].sort(),
  )
})
