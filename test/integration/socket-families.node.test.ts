/**
 * Which sockets a command can make: each family, type and protocol that there is, tried for real; and programs that use
 * those that are left, or know what to do without the others.
 * @module
 */
import { existsSync } from 'node:fs'
import t from 'tap'
import { everyone, PYTHON, startBranched } from './branched.node.ts'

const MAKES = `import errno, json, socket
def make(*args):
    try:
        socket.socket(*args).close()
        return "made"
    except OSError as error:
        return errno.errorcode[error.errno]
types = [1, 2, 3, 4, 5, 6, 10]
found = {"families": {}, "internet": {}, "netlink": {}, "pairs": {}}
for family in range(1, 64):
    found["families"][family] = sorted({make(family, type, 0) for type in types})
for family in (2, 10):
    for type in types:
        for protocol in (0, 1, 6, 17, 58, 2, 33, 115, 132, 136, 255, 262):
            if make(family, type, protocol) == "made":
                found["internet"].setdefault("%d %d" % (family, type), []).append(protocol)
found["netlink"] = [protocol for protocol in range(32) if make(16, 3, protocol) == "made"]
for family in range(1, 64):
    try:
        for one in socket.socketpair(family, 1): one.close()
        found["pairs"][family] = "made"
    except OSError as error:
        found["pairs"][family] = errno.errorcode[error.errno]
print(json.dumps(found))
`
/** Asks for large buffers of every kind of socket, and for a huge page. */
const GROWS = `import ctypes, json, os, socket
grown = []
for args in ((2, 1, 0), (2, 2, 0), (1, 1, 0), (16, 3, 0)):
    with socket.socket(*args) as one:
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF, 32, 33):
            before = [one.getsockopt(1, each) for each in (7, 8)]
            one.setsockopt(1, option, 64 << 20)
            if [one.getsockopt(1, each) for each in (7, 8)] != before: grown.append([args, option])
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
mapped = libc.mmap(None, 2 << 20, 3, 0x40022, -1, 0)
huge = [ctypes.get_errno()]
try: os.close(os.memfd_create("x", 4)); huge.append(0)
except OSError as error: huge.append(error.errno)
print(json.dumps([grown, huge]))
`
/** A server and whoever asks it, all in one session, whatever network that has. */
const SERVES = `import http.server, socket, subprocess, sys, threading
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = "http://localhost:%d/" % server.server_address[1]
assert socket.getaddrinfo("localhost", 80)
one, other = socket.socketpair()
one.sendall(b"x"); assert other.recv(1) == b"x"
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))
for argv in json_argv:
    ran = subprocess.run([word.replace("URL", url) for word in argv], capture_output=True, text=True, timeout=60)
    print(argv[0], ran.returncode, ran.stderr[-300:].strip() if ran.returncode else "")
`
type Found = {
  readonly families: Record<string, string[]>
  readonly internet: Record<string, number[]>
  readonly netlink: number[]
  readonly pairs: Record<string, string>
}

for (const who of everyone(t))
  t.test(`as ${who.name}`, async (t) => {
    if (PYTHON === undefined) return void t.comment('skipped: no Python here')
    const daemon = await startBranched(t, who)
    const found = JSON.parse(await daemon.python(MAKES)) as Found
    const { families, pairs } = found
    for (const [family, told] of Object.entries(families))
      if (!['1', '2', '10', '16'].includes(family)) t.strictSame(told, ['EAFNOSUPPORT'], `family ${family}`)
    for (const protocols of Object.values(found.internet))
      t.ok(
        protocols.every((protocol) => [0, 1, 6, 17, 58].includes(protocol)),
        'no other protocol',
      )
    t.ok(
      Object.keys(found.internet).every((key) => /^(2|10) [12]$/.test(key)),
      'connections and datagrams alone',
    )
    t.strictSame(found.internet['2 1'], [0, 6])
    t.strictSame(found.netlink, [0, 15])
    for (const [family, told] of Object.entries(pairs))
      t.equal(told, family === '1' ? 'made' : 'EAFNOSUPPORT', `a pair of family ${family}`)

    t.strictSame(JSON.parse(await daemon.python(GROWS)), [[], [1, 1]], 'buffers and pages')

    const programs = [
      ['ip', '/usr/sbin/ip', '-o', 'address'],
      ['ss', '/usr/bin/ss', '-tanx'],
      ['getent', '/usr/bin/getent', 'hosts', 'localhost'],
      ['curl', '/usr/bin/curl', '-sf', 'URL'],
      ['node', '/usr/bin/node', '-e', 'fetch("URL").then((r) => process.exit(r.ok ? 0 : 1))'],
      ['openssl', '/usr/bin/openssl', 'dgst', '-sha256', '/etc/hostname'],
      ['ssh', '/usr/bin/ssh', '-V'],
      ['systemd-detect-virt', '/usr/bin/systemd-detect-virt', '--list'],
      ['udevadm', '/usr/bin/udevadm', 'info', '--export-db'],
    ].filter(([, path = '']) => existsSync(path))
    const argv = programs.map(([, ...words]) => words)
    const script = SERVES.replace('json_argv', JSON.stringify(argv))
    const said = await daemon.python(script)
    for (const [, path = ''] of programs) t.match(said, `${path} 0 \n`, path)
    t.comment(said)
  })
