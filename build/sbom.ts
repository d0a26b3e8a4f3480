/**
 * What a single binary is made of, as a CycloneDX document: the packages that the bundle took in and the Node binary.
 * Made from the lock file and not by npm, whose releases write different texts for the same tree.
 * Source: CycloneDX 1.6.
 * @module
 */
import { packageOfPath } from './bundle-checks.ts'
import type { Target } from './targets.ts'

export type LockedPackages = Readonly<
  Record<
    string,
    {
      readonly version?: string
      readonly license?: string
      readonly integrity?: string
      readonly resolved?: string
    }
  >
>

export type SbomInput = {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly target: Target
  readonly seconds: number
  /** Paths below node_modules that went into the bundle. */
  readonly bundled: readonly string[]
  readonly locked: LockedPackages
  /** SHA-256 in hexadecimal of the bundle itself. */
  readonly bundleSha256: string
}

/** As npm writes a package's address: the `@` of a scope is escaped. */
const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`

/** `sha512-<base64>` of a lock file as CycloneDX has it. */
function integrityHash(integrity: string): { alg: string; content: string } | undefined {
  const found = /^sha512-([A-Za-z0-9+/=]+)$/.exec(integrity)
  if (found?.[1] === undefined) return undefined
  const content = Array.from(atob(found[1]), (byte) => byte.charCodeAt(0).toString(16).padStart(2, '0'))
  return { alg: 'SHA-512', content: content.join('') }
}

function packageComponent(path: string, locked: LockedPackages): object {
  const entry = locked[path]
  const name = packageOfPath(`${path}/`)
  if (entry?.version === undefined || name === undefined) throw new Error(`${path} is not in the lock file.`)
  const hash = integrityHash(entry.integrity ?? '')
  const purl = purlOf(name, entry.version)
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version: entry.version,
    scope: 'required',
    licenses: [{ license: { id: entry.license } }],
    purl,
    ...(hash === undefined ? {} : { hashes: [hash] }),
  }
}

/** `node_modules/@noble/hashes` of a file in it; the innermost package where they nest. */
function packagePath(path: string): string {
  const name = packageOfPath(path)
  const at = path.lastIndexOf('node_modules/')
  // A tree whose node_modules is a link has a way in front of it.
  return `${path.slice(path.indexOf('node_modules/'), at)}node_modules/${name}`
}

/** The document. It has no serial number and the build's one date, so that the same binary has the same. */
export function sbom(input: SbomInput): string {
  const { node } = input.target
  const paths = [...new Set(input.bundled.map(packagePath))].sort()
  const components = paths.map((path) => packageComponent(path, input.locked))
  const nodePurl = purlOf(node.package, node.version)
  components.push({
    type: 'application',
    'bom-ref': nodePurl,
    name: 'node',
    version: node.version,
    scope: 'required',
    description: `bin/node of ${node.package}, without its symbols`,
    licenses: [{ license: { id: 'MIT' } }],
    purl: nodePurl,
    hashes: [{ alg: 'SHA-256', content: node.sha256 }],
  })
  const own = purlOf(input.name, input.version)
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: new Date(input.seconds * 1_000).toISOString(),
      lifecycles: [{ phase: 'build' }],
      component: {
        type: 'application',
        'bom-ref': own,
        name: input.name,
        version: input.version,
        description: `The single binary for ${input.target.name}; the hash is that of the program text in it.`,
        licenses: [{ license: { id: input.license } }],
        purl: own,
        hashes: [{ alg: 'SHA-256', content: input.bundleSha256 }],
      },
    },
    components,
    dependencies: [{ ref: own, dependsOn: [...paths.map((path) => refOf(path, input.locked)), nodePurl] }],
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

function refOf(path: string, locked: LockedPackages): string {
  return purlOf(packageOfPath(`${path}/`) ?? '', locked[path]?.version ?? '')
}
