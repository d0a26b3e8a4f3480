/**
 * The version of this program: put in by the bundler, read from package.json where the sources run as they are.
 * @module
 */
import { readFileSync } from 'node:fs'

declare const VERSION: string | undefined

/** Semantic version of package.json. */
export function programVersion(): string {
  if (typeof VERSION === 'string') return VERSION
  const manifest: unknown = JSON.parse(
    readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
  )
  const version =
    typeof manifest === 'object' && manifest !== null && 'version' in manifest ? manifest.version : ''
  return typeof version === 'string' ? version : ''
}
