/**
 * The Node binary that goes into a single binary: out of `node_modules` where npm has put it, else fetched with npm as
 * the lock file pins it. Refuses any other bytes than those that the target names.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { readTar } from './archives.ts'
import type { Target } from './targets.ts'

export type NodeBinary = { readonly binary: Uint8Array; readonly license: Uint8Array }

const BINARY = 'bin/node'
const LICENSE = 'LICENSE'

function lockedIntegrity(root: string, name: string, version: string): string {
  const lock: unknown = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const { packages } = lock as { packages: Record<string, { version?: string; integrity?: string }> }
  const entry = packages[`node_modules/${name}`]
  if (entry?.version !== version || entry.integrity === undefined)
    throw new Error(`package-lock.json does not pin ${name} ${version}, which the target names.`)
  return entry.integrity
}

/** Fetches a package with npm into `directory`, once. */
function fetchPackage(root: string, { package: name, version }: Target['node'], directory: string): void {
  const integrity = lockedIntegrity(root, name, version)
  const stage = mkdtempSync(join(tmpdir(), 'sass-edge-node-'))
  try {
    const listed = execFileSync(
      'npm',
      ['pack', `${name}@${version}`, '--json', '--silent', `--pack-destination=${stage}`],
      { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const [packed] = JSON.parse(listed) as { filename: string }[]
    const bytes = readFileSync(join(stage, packed?.filename ?? ''))
    const digest = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    if (digest !== integrity)
      throw new Error(
        `${name} ${version} from the registry is ${digest}, and package-lock.json has ${integrity}.`,
      )
    const files = readTar(gunzipSync(bytes))
    for (const path of [BINARY, LICENSE]) {
      const file = files.get(`package/${path}`)
      if (file === undefined) throw new Error(`${name} ${version} has no ${path}.`)
      const place = join(directory, path)
      mkdirSync(dirname(place), { recursive: true })
      // Whole or not there, also where two builds run at once.
      writeFileSync(`${place}.${process.pid}`, file)
      renameSync(`${place}.${process.pid}`, place)
    }
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

/** @throws Error where it cannot be had, or is not the one */
export function nodeBinary(root: string, target: Target): NodeBinary {
  const { package: name, version, sha256 } = target.node
  const installed = join(root, 'node_modules', name)
  const fetched = join(root, 'node_modules/.cache/sass-edge', `${name}-${version}`)
  const directory = existsSync(join(installed, BINARY)) ? installed : fetched
  if (!existsSync(join(directory, LICENSE)) || !existsSync(join(directory, BINARY)))
    fetchPackage(root, target.node, directory)
  const binary = readFileSync(join(directory, BINARY))
  const digest = createHash('sha256').update(binary).digest('hex')
  if (digest !== sha256)
    throw new Error(
      `${join(directory, BINARY)} has the SHA-256 ${digest}, and targets/${target.name}.json names ${sha256}.`,
    )
  return { binary, license: readFileSync(join(directory, LICENSE)) }
}
