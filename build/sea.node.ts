/**
 * `npm run build:sea [-- linux-x64 | linux-arm64 ...]`: the program and its Node as one binary a target, and what
 * installs it. Without a target: all of `targets/`. Makes in dist/release/
 *   TARGET/sass-edge                     the binary
 *   sass-edge-VERSION-TARGET.tar.zst     to unpack, with install.sh
 *   sass-edge_VERSION_ARCH.deb, .ipk     packages of dpkg and opkg
 *   sass-edge-VERSION-TARGET.cdx.json    what it is made of
 *   SHA256SUMS                           of all these
 * The bytes follow from the sources and the lock file alone, on whichever machine: two builds, one digest.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { Script } from 'node:vm'
import { constants, gzipSync, zstdCompress } from 'node:zlib'
import { build, SOURCES, shippedRules } from './bundle.node.ts'
import { adoptCodeCache, CACHE_FLAGS } from './code-cache.ts'
import { stripElf } from './elf-strip.ts'
import { nodeBinary } from './node-binary.node.ts'
import { archiveTar, type Compress, dataTar, type PackageInput, packageOf } from './packages.ts'
import { type LockedPackages, sbom } from './sbom.ts'
import { readTarget, type Target } from './targets.ts'

/** What a board on a metered link has to fetch. */
const DOWNLOAD_BUDGET_BYTES = 34_000_000
/** The best that needs no more than 8 MiB to unpack: one percent larger than with a window of 128. */
const ZSTD_LEVEL = 19
const ZSTD_WINDOW_LOG = 23
/** Of every file in the archives where SOURCE_DATE_EPOCH says nothing: 2026-01-01. */
const DEFAULT_SECONDS = 1_767_225_600

export type ReleaseOptions = {
  readonly root: string
  /** Where the files go. */
  readonly out: string
  readonly targets: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  /** Zstandard's; a test that does not measure takes a quick one. */
  readonly level?: number
}

type Manifest = {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly description: string
}

/** Names of all targets there are. */
export function targetNames(root: string): readonly string[] {
  return globSync('*.json', { cwd: join(root, 'targets') })
    .map((name) => basename(name, '.json'))
    .sort()
}

export function loadTarget(root: string, name: string): Target {
  const known = targetNames(root)
  if (!known.includes(name)) throw new Error(`${name} is no target; there are ${known.join(', ')}.`)
  return readTarget(name, readFileSync(join(root, 'targets', `${name}.json`), 'utf8'))
}

function secondsOf(environment: NodeJS.ProcessEnv): number {
  const text = environment['SOURCE_DATE_EPOCH']
  if (text === undefined) return DEFAULT_SECONDS
  if (!/^\d{1,10}$/.test(text)) throw new Error('SOURCE_DATE_EPOCH is no number of seconds since 1970.')
  return Number(text)
}

/**
 * The single binary at `path`, of the bundle as it is in dist/.
 * @returns the licence of the Node in it
 */
export function makeBinary(root: string, target: Target, path: string): Uint8Array {
  const { version } = target.node
  if (process.versions.node !== version)
    throw new Error(
      `This is Node ${process.versions.node}, and a binary is made by the one in it: run npm ci, then npm run build:sea.`,
    )
  const { binary, license } = nodeBinary(root, target)
  const stage = mkdtempSync(join(root, SOURCES.outDirectory, '.sea-'))
  try {
    const executable = join(stage, 'node')
    const output = join(stage, 'sass-edge')
    writeFileSync(executable, stripElf(binary))
    const config = {
      // Relative: the path goes into the binary.
      main: join(SOURCES.outDirectory, 'sass-edge.mjs'),
      mainFormat: 'module',
      executable,
      output,
      disableExperimentalSEAWarning: true,
      useCodeCache: true,
      useSnapshot: false,
      execArgv: target.execArgv,
      // Neither NODE_OPTIONS nor an option in front of the command changes what was built.
      execArgvExtension: 'none',
    }
    writeFileSync(join(stage, 'sea.json'), JSON.stringify(config))
    execFileSync(process.execPath, [...CACHE_FLAGS, '--build-sea', join(stage, 'sea.json')], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const made = readFileSync(output)
    const text = readFileSync(join(root, config.main), 'utf8')
    adoptCodeCache(made, Buffer.from(binary), text.length, new Script('').createCachedData())
    writeFileSync(output, made)
    chmodSync(output, 0o755)
    mkdirSync(join(path, '..'), { recursive: true })
    renameSync(output, path)
    return license
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

/** Everything that goes with the binary, by name in the archive. */
function partsOf(root: string, binary: Uint8Array, nodeLicense: Uint8Array, sbomText: string) {
  const parts = new Map<string, Uint8Array>()
  const installers = join(root, 'targets/install')
  for (const name of globSync('**/*', { cwd: installers }))
    if (statSync(join(installers, name)).isFile()) parts.set(name, readFileSync(join(installers, name)))
  for (const name of ['sass.edge.json', 'sass.edge.schema.json', 'LICENSE'])
    parts.set(name, readFileSync(join(root, name)))
  for (const name of globSync('*', { cwd: join(root, 'docs/man') }))
    parts.set(`man/${name}`, readFileSync(join(root, 'docs/man', name)))
  parts.set('default-rules.json', Buffer.from(shippedRules(SOURCES)))
  parts.set('LICENSE.node', nodeLicense)
  parts.set('sbom.cdx.json', Buffer.from(sbomText))
  parts.set('sass-edge', binary)
  return parts
}

function sbomOf(root: string, manifest: Manifest, target: Target, seconds: number): string {
  const read = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'))
  const { packages: bundled } = read('dist/.inputs') as { packages: string[] }
  const { packages: locked } = read('package-lock.json') as { packages: LockedPackages }
  const bundle = readFileSync(join(root, 'dist/sass-edge.mjs'))
  const bundleSha256 = createHash('sha256').update(bundle).digest('hex')
  return sbom({ ...manifest, target, seconds, bundled, locked, bundleSha256 })
}

const compressAt =
  (level: number): Compress =>
  async (bytes) =>
    promisify(zstdCompress)(bytes, {
      pledgedSrcSize: bytes.length,
      params: {
        [constants.ZSTD_c_compressionLevel]: level,
        [constants.ZSTD_c_windowLog]: ZSTD_WINDOW_LOG,
        [constants.ZSTD_c_checksumFlag]: 1,
      },
    })

/** Makes the files of one target; their names. */
async function makeTarget(options: ReleaseOptions, name: string): Promise<readonly string[]> {
  const { root, out, environment } = options
  const target = loadTarget(root, name)
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const seconds = secondsOf(environment)
  const binaryPath = join(out, name, 'sass-edge')
  const nodeLicense = makeBinary(root, target, binaryPath)
  const sbomText = sbomOf(root, manifest, target, seconds)
  const parts = partsOf(root, readFileSync(binaryPath), nodeLicense, sbomText)
  const { version, license, description } = manifest
  const input: PackageInput = { version, license, description, target, parts, seconds }
  const compress = compressAt(options.level ?? ZSTD_LEVEL)
  // Both at once: each takes one processor for half a minute.
  const [archive, data] = await Promise.all([compress(archiveTar(input)), compress(dataTar(input))])
  const gzip = (bytes: Uint8Array) => gzipSync(bytes, { level: 9 })
  const { deb, ipk } = target.packageArchitecture
  const files: readonly [string, Uint8Array][] = [
    [`sass-edge-${version}-${name}.tar.zst`, archive],
    [`sass-edge_${version}_${deb}.deb`, packageOf(input, 'deb', data, gzip)],
    [`sass-edge_${version}_${ipk}.ipk`, packageOf(input, 'ipk', data, gzip)],
    [`sass-edge-${version}-${name}.cdx.json`, Buffer.from(sbomText)],
  ]
  for (const [file, bytes] of files) {
    if (options.level === undefined && bytes.length > DOWNLOAD_BUDGET_BYTES)
      throw new Error(
        `${file} has ${bytes.length} bytes, more than the ${DOWNLOAD_BUDGET_BYTES} it may have.`,
      )
    writeFileSync(join(out, file), bytes)
  }
  return files.map(([file]) => file)
}

/**
 * Makes the release files of some targets.
 * @returns digest by path relative to `out`
 */
export async function release(options: ReleaseOptions): Promise<Readonly<Record<string, string>>> {
  const { out } = options
  mkdirSync(out, { recursive: true })
  const names: string[] = []
  for (const name of options.targets) names.push(...(await makeTarget(options, name)), `${name}/sass-edge`)
  const digestOf = (file: string) =>
    createHash('sha256')
      .update(readFileSync(join(out, file)))
      .digest('hex')
  const made = Object.fromEntries(names.sort().map((file) => [file, digestOf(file)]))
  // Also what another run has made for another target.
  const listed = readdirSync(out).filter((file) => file.startsWith('sass-edge'))
  const sums = listed.sort().map((file) => `${made[file] ?? digestOf(file)}  ${file}\n`)
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
  return made
}

if (import.meta.main) {
  const { root } = SOURCES
  const out = join(root, SOURCES.outDirectory, 'release')
  try {
    const wanted = process.argv.slice(2)
    const targets = wanted.length > 0 ? wanted : targetNames(root)
    for (const name of targets) loadTarget(root, name)
    await build(SOURCES)
    const made = await release({ root, out, targets, environment: process.env })
    for (const [file, digest] of Object.entries(made)) {
      const { size } = statSync(join(out, file))
      console.error(`${relative(root, join(out, file))} ${(size / 1e6).toFixed(1)} MB sha256 ${digest}`)
    }
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error))
    process.exitCode = 1
  }
}
