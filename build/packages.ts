/**
 * What lies where on a device, and the forms in which it gets there: an archive to unpack, a package for dpkg, a package
 * for opkg. Bytes in, bytes out; the compression is given.
 * Sources: deb(5), deb-control(5), opkg's format (the same with another name), FHS 3.0.
 * @module
 */
import { ar, type Entry, tar } from './archives.ts'
import type { Target } from './targets.ts'

/** Files by the names that they have in the archive to unpack; `targets/install/install.sh` puts them in their places. */
export type Parts = ReadonlyMap<string, Uint8Array>

export type PackageInput = {
  readonly version: string
  readonly license: string
  readonly description: string
  readonly target: Target
  readonly parts: Parts
  readonly seconds: number
}

export type Compress = (bytes: Uint8Array) => Promise<Uint8Array>

const EXECUTABLE: ReadonlySet<string> = new Set([
  'sass-edge',
  'install.sh',
  'openrc/sass-edge',
  'procd/sass-edge',
])

/** Places on a device by name in the archive. The same list is in install.sh; a test compares what the two install. */
export const PLACES: Readonly<Record<string, string>> = Object.freeze({
  'sass-edge': 'usr/bin/sass-edge',
  'default-rules.json': 'usr/share/sass-edge/default-rules.json',
  'sass.edge.json': 'etc/sass-edge/sass.edge.json',
  'sass.edge.schema.json': 'etc/sass-edge/sass.edge.schema.json',
  'man/sass-edge.1': 'usr/share/man/man1/sass-edge.1',
  'man/sass-edge.json.5': 'usr/share/man/man5/sass-edge.json.5',
  LICENSE: 'usr/share/doc/sass-edge/copyright',
  'LICENSE.node': 'usr/share/doc/sass-edge/copyright.node',
  'sbom.cdx.json': 'usr/share/doc/sass-edge/sbom.cdx.json',
  'systemd/sass-edge.service': 'usr/lib/systemd/system/sass-edge.service',
  'systemd/sass-edge.socket': 'usr/lib/systemd/system/sass-edge.socket',
  'systemd/sysusers.conf': 'usr/lib/sysusers.d/sass-edge.conf',
  'systemd/tmpfiles.conf': 'usr/lib/tmpfiles.d/sass-edge.conf',
  'systemd/unprivileged.conf': 'usr/share/doc/sass-edge/examples/unprivileged.conf',
  'openrc/sass-edge': 'usr/share/doc/sass-edge/examples/openrc/sass-edge',
  'procd/sass-edge': 'usr/share/doc/sass-edge/examples/procd/sass-edge',
  'fail2ban/filter.conf': 'usr/share/doc/sass-edge/examples/fail2ban/filter.conf',
  'fail2ban/jail.conf': 'usr/share/doc/sass-edge/examples/fail2ban/jail.conf',
})

/** What an administrator changes: an upgrade leaves it as it is. */
const CONFIGURATION: readonly string[] = ['sass.edge.json', 'sass.edge.schema.json']
/** The shared libraries that the Node binary needs, as Debian and OpenEmbedded name them. */
const LIBRARIES: readonly string[] = ['libatomic1', 'libgcc-s1 | libgcc1', 'libstdc++6']

function partOf(parts: Parts, name: string): Uint8Array {
  const bytes = parts.get(name)
  if (bytes === undefined) throw new Error(`${name} is missing, so nothing can be packed.`)
  return bytes
}

function fileEntry(path: string, name: string, bytes: Uint8Array): Entry {
  return { kind: 'file', path, mode: EXECUTABLE.has(name) ? 0o755 : 0o644, bytes }
}

/** The archive that install.sh installs from, without anything from the network. */
export function archiveTar({ version, target, parts, seconds }: PackageInput): Uint8Array {
  const root = `sass-edge-${version}-${target.name}`
  const names = [...Object.keys(PLACES), 'install.sh']
  return tar(
    names.map((name) => fileEntry(`${root}/${name}`, name, partOf(parts, name))),
    '',
    seconds,
  )
}

/** The files of a package, in their places. */
export function dataTar({ parts, seconds }: PackageInput): Uint8Array {
  const entries: Entry[] = Object.entries(PLACES).map(([name, path]) =>
    fileEntry(path, name, partOf(parts, name)),
  )
  return tar(entries, './', seconds)
}

function controlText(
  { version, license, description, target, parts }: PackageInput,
  form: 'deb' | 'ipk',
): string {
  const bytes = [...parts.values()].reduce((sum, { length }) => sum + length, 0)
  // opkg knows no alternatives for a library's older name.
  const libraries = form === 'deb' ? LIBRARIES : LIBRARIES.map((name) => name.split(' ')[0] ?? '')
  const [first = '', ...rest] = description.split(': ')
  return [
    'Package: sass-edge',
    `Version: ${version}`,
    `Architecture: ${target.packageArchitecture[form]}`,
    'Maintainer: The sass-edge developers',
    `Installed-Size: ${Math.ceil(bytes / 1024)}`,
    `Depends: ${[`libc6 (>= ${target.libc.minimum})`, ...libraries].join(', ')}`,
    'Recommends: util-linux',
    'Section: admin',
    'Priority: optional',
    ...(form === 'ipk' ? [`License: ${license}`] : []),
    `Description: ${first}`,
    ...rest.map((line) => ` ${line}`),
    '',
  ].join('\n')
}

/**
 * A package whose files are `data`, packed.
 * @param gzip for what describes the package: every dpkg and opkg reads it
 */
export function packageOf(
  input: PackageInput,
  form: 'deb' | 'ipk',
  data: Uint8Array,
  gzip: (bytes: Uint8Array) => Uint8Array,
): Uint8Array {
  const text = (value: string) => Uint8Array.from(value, (character) => character.charCodeAt(0))
  const scripts = ['postinst', 'prerm', 'postrm'] as const
  const control: Entry[] = [
    { kind: 'file', path: 'control', mode: 0o644, bytes: text(controlText(input, form)) },
    {
      kind: 'file',
      path: 'conffiles',
      mode: 0o644,
      bytes: text(CONFIGURATION.map((name) => `/${PLACES[name]}\n`).join('')),
    },
    ...scripts.map(
      (name): Entry => ({
        kind: 'file',
        path: name,
        mode: 0o755,
        bytes: partOf(input.parts, `package/${name}`),
      }),
    ),
  ]
  return ar(
    [
      { name: 'debian-binary', bytes: text('2.0\n') },
      { name: 'control.tar.gz', bytes: gzip(tar(control, './', input.seconds)) },
      { name: 'data.tar.zst', bytes: data },
    ],
    input.seconds,
  )
}
