import t from 'tap'
import { type Config, parseConfig } from '../../../src/config/config.ts'
import { tellLists } from '../../../src/edge/setup/told-lists.ts'

type Given = { readonly [key: string]: unknown }

function read(given: Given): Config {
  const result = parseConfig(given, { configDirectory: '/etc/sass-edge' })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config
}

const lines = (given: Given): string[] =>
  tellLists(read(given)).map(({ check, detail }) => `${check}: ${detail}`)

t.test('each list is told in one line', (t) => {
  t.strictSame(lines({ security: { workspace_root: '/srv/work' } }), [
    'sandbox.read: commands see /usr, /bin, /sbin and 10 more, and nothing else of the device',
    'sandbox.hidden: the known places of secrets are not there',
    'sandbox.branch_roots: commands write in /srv/work, where the real files change by a merge alone, and in memory',
    'sandbox.devices: commands have no device',
    'sandbox.sockets: commands reach no socket of the device',
    'sandbox.egress: commands reach deb.debian.org, security.debian.org, archive.debian.org and 26 more, and a human is asked about anything else',
    'security.opaque: commands that nobody has read (code, build tools, a terminal) run, since they reach nothing but this',
  ])
  t.end()
})

t.test('what is given and what is hidden is named', (t) => {
  const told = lines({
    sandbox: {
      read: ['/usr'],
      hidden: ['/usr/x'],
      devices: ['/dev/ttyUSB0'],
      sockets: ['/run/valved.sock'],
      egress: [
        'a.example',
        { host: '*.b.example', ports: [8_443] },
        'c.example',
        '10.0.0.0/8:1883',
        'd.example',
      ],
    },
    security: { unlisted_domains: 'deny', opaque: 'deny' },
  })
  for (const line of [
    'sandbox.read: commands see /usr, and nothing else of the device',
    'sandbox.hidden: /usr/x are not there',
    'sandbox.devices: commands have /dev/ttyUSB0',
    'sandbox.sockets: commands reach /run/valved.sock',
    'sandbox.egress: commands reach a.example, *.b.example, c.example and 2 more, and anything else is refused',
    'security.opaque: commands that nobody has read could reach the device, so each is refused',
  ])
    t.ok(told.includes(line), line)
  t.end()
})

t.test('the network is told by its kind', (t) => {
  const network = (sandbox: Given) =>
    lines({ sandbox }).find((line) => /^sandbox\.(?:network|egress)/.test(line))
  t.equal(network({ network: 'none' }), 'sandbox.network: commands have no network')
  t.match(network({ network: 'host' }), /^sandbox.network: .* no list holds$/)
  t.match(network({ egress: [] }), /reach nothing, and a human/)
  const ntp = { host: '192.0.2.1', ports: [123], protocol: 'udp' }
  const log = { host: '[2001:db8::1]:514', protocol: 'udp' }
  t.match(
    network({ egress: [ntp, log] }),
    /reach 192\.0\.2\.1:123, \[2001:db8::1\]:514 over UDP, and a human/,
  )
  t.match(network({ egress: ['*', ntp] }), /reach every host outside, and 192\.0\.2\.1:123 over UDP, and/)
  t.match(network({ egress: ['*'] }), /reach every host outside, and a human/)
  t.strictSame(lines({ sandbox: { require: 'none' }, security: { opaque: 'allow' } }), [
    'sandbox.require: commands run on the real files of the device, and no list holds',
    'security.opaque: commands that nobody has read could reach the device, so each runs all the same',
  ])
  t.end()
})
