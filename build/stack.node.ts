/**
 * `npm run stack -- FILE`, or a stack trace on stdin: gives each place in `sass-edge.mjs` its file and line in the sources
 * again. What the daemon runs has short names and few lines; made once more from the sources of its version it is the same,
 * byte for byte, and comes with a map. A thread is started from text that has no name: of its places every thread's are said.
 * @module
 */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildTraced, SOURCES } from './bundle.node.ts'

/** Of what is made here: where a line and a column of it are from, both counted from one. */
export type Origins = ReadonlyMap<string, (line: number, column: number) => string | undefined>

const PLACE = /(?:[^\s()]*\/)?(sass-edge\.mjs|\[worker eval\]):(\d+):(\d+)/g
const DAEMON = 'sass-edge.mjs'

/** @throws Error of the bundler */
export async function readOrigins(): Promise<Origins> {
  const directory = mkdtempSync(join(tmpdir(), 'sass-edge-stack-'))
  try {
    await buildTraced(SOURCES, directory)
    return new Map(
      globSync('*.map', { cwd: directory }).map((name) => {
        const payload = JSON.parse(readFileSync(join(directory, name), 'utf8')) as SourceMapPayload
        const map = new SourceMap(payload)
        const origin = (line: number, column: number): string | undefined => {
          const found = map.findOrigin(line, column)
          if (!('fileName' in found)) return undefined
          return `${found.fileName.replace(/^(?:\.\.\/)*.*?(?=src\/|node_modules\/)/, '')}:${found.lineNumber}`
        }
        return [name.replace(/\.map$/, ''), origin] as const
      }),
    )
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** The trace, with what each place is from behind it. */
export function withOrigins(trace: string, origins: Origins): string {
  return trace.replace(PLACE, (place, file: string, line: string, column: string) => {
    const from = [...origins].flatMap(([name, origin]) => {
      if ((name === DAEMON) !== (file === DAEMON)) return []
      const found = origin(Number(line), Number(column))
      if (found === undefined) return []
      return [file === DAEMON ? found : `${name}: ${found}`]
    })
    return from.length === 0 ? place : `${place} = ${from.join(', or ')}`
  })
}

if (import.meta.main) {
  const [file] = process.argv.slice(2)
  process.stdout.write(withOrigins(readFileSync(file ?? 0, 'utf8'), await readOrigins()))
}
