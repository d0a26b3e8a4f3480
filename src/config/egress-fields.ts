/**
 * One entry of `sandbox.egress` in sass.edge.json, and the list as shipped: what commands may reach over a network that
 * the gate answers for (`sandbox.network`: `gate`). Judged by shape alone; what an entry means is read where the list is
 * put into force.
 * Rules: docs/configuration.md; docs/sandbox.md (the network).
 * @module
 */

import { EGRESS_ENTRIES, EGRESS_HOST_BYTES, EGRESS_METHODS, EGRESS_PORTS } from '../limits.ts'
import { choice, integer, type ListField, list, object, text, type ValueOf } from './field-kinds.ts'

/** The public registries, where they have their downloads, and the large public hosts of sources. */
export const EGRESS_SHIPPED: readonly string[] = [
  // Debian and what is made of it
  ...['deb.debian.org', 'security.debian.org', 'archive.debian.org', 'snapshot.debian.org'],
  ...['archive.ubuntu.com', 'security.ubuntu.com', 'ports.ubuntu.com', 'archive.raspberrypi.com'],
  // npm, Python, Rust, Go
  ...['registry.npmjs.org', 'registry.yarnpkg.com', 'nodejs.org'],
  ...['pypi.org', 'files.pythonhosted.org'],
  ...['crates.io', 'index.crates.io', 'static.crates.io', 'static.rust-lang.org'],
  ...['proxy.golang.org', 'sum.golang.org', 'go.dev', 'dl.google.com', 'storage.googleapis.com'],
  // sources
  ...['github.com', 'api.github.com', 'codeload.github.com', '*.githubusercontent.com', 'gitlab.com'],
  ...['bitbucket.org', 'api.bitbucket.org'],
]

export const EGRESS_ENTRY = {
  short: 'host',
  ...object(
    'A host: `example.com`, `*.example.com` for all beneath it, an address or a range (`10.1.0.0/16`, `[2001:db8::]/32`), each with `:PORT` where it is not for 80 and 443, or `*`; or an object with the host and more.',
    {
      host: text('egress', EGRESS_HOST_BYTES, { doc: 'As the entry by itself (required).' }),
      ports: list(
        { kind: 'integer', min: 1, max: 65_535, default: null, doc: 'A port.' },
        EGRESS_PORTS,
        null,
        {
          doc: 'Its ports; null: that of the host, else 80 and 443.',
          absent: 'the port of the host, else 80 and 443',
          empty: 'refused: take the entry out',
          full: 'there is no wildcard: name each',
        },
      ),
      protocol: choice(['tcp', 'udp'], 'tcp', {
        doc: 'What may be sent there: connections, or datagrams, which need one address and name their ports.',
      }),
      methods: list(text('method', 16, { doc: 'A method of HTTP in upper case.' }), EGRESS_METHODS, null, {
        doc: 'The methods of HTTP that may be used there, on ports without TLS; null: all of them.',
        absent: 'all of them',
        empty: 'refused: take the entry out',
        full: 'leave the list out',
      }),
      bytes_per_hour: integer(1, Number.MAX_SAFE_INTEGER, null, {
        doc: 'Most bytes to and from it in an hour, of all sessions with one capability set; null: no bound.',
      }),
    },
  ),
}

/** Of the device. */
export const EGRESS = list(EGRESS_ENTRY, EGRESS_ENTRIES, EGRESS_SHIPPED, {
  doc: 'What commands may reach over a network of kind `gate`: names, asked for by the session and resolved by the daemon, and bare addresses. Whatever is not listed follows security.unlisted_domains.',
  absent:
    'the public registries of Debian, npm, Python, Rust and Go, and github.com, gitlab.com and bitbucket.org',
  empty: 'nothing is reached',
  full: '`["*"]`: every name and every address that is not inside, on 80 and 443',
})

/** Of a capability set. */
export const SET_EGRESS = {
  ...EGRESS,
  default: null,
  nullable: true,
  doc: 'What its commands may reach of what sandbox.egress lists: both must hold. null: all of it.',
  absent: 'what sandbox.egress lists',
  full: '`["*"]`: what sandbox.egress lists',
} as const satisfies ListField

/** As it is in a configuration that has been read. */
export type EgressItem = ValueOf<typeof EGRESS_ENTRY>

/** An entry as its author would write it: a text, or an object of what it says beside the host. */
export function writtenEgress({ host, ports, protocol, methods, bytes_per_hour }: EgressItem): unknown {
  if (ports === null && protocol === 'tcp' && methods === null && bytes_per_hour === null) return host
  return {
    host,
    ...(ports === null ? {} : { ports }),
    ...(protocol === 'tcp' ? {} : { protocol }),
    ...(methods === null ? {} : { methods }),
    ...(bytes_per_hour === null ? {} : { bytes_per_hour }),
  }
}
