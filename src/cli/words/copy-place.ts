/**
 * The two sides of a copy as they are typed: `[AGENT@]HOST:PATH` is a path on a device, `:PATH` one on the daemon of the
 * nearest configuration, everything else is here. A colon behind a slash belongs to a local name, as with scp.
 * @module
 */

export type CopyPlace =
  | { readonly kind: 'local'; readonly path: string }
  /** `target` as the other commands take it; undefined: the nearest daemon. */
  | { readonly kind: 'remote'; readonly target: string | undefined; readonly path: string }

const BRACKETED = /^(?:[^@/]*@)?\[[^\]/]*\]:/

export function readCopyPlace(word: string): CopyPlace {
  const bracketed = BRACKETED.exec(word)?.[0]
  const colon = bracketed === undefined ? word.indexOf(':') : bracketed.length - 1
  const slash = word.indexOf('/')
  if (colon < 0 || (slash >= 0 && slash < colon)) return { kind: 'local', path: word }
  const target = word.slice(0, colon)
  return { kind: 'remote', target: target === '' ? undefined : target, path: word.slice(colon + 1) }
}

/** The last name of a path; empty where it has none of its own (`.`, `..`, `/`). */
export function lastName(path: string): string {
  const name = path.replace(/\/+$/, '').split('/').at(-1) ?? ''
  return name === '.' || name === '..' ? '' : name
}

export function joinRemote(directory: string, name: string): string {
  if (name === '') return directory === '' ? '.' : directory
  return directory === '' || directory.endsWith('/') ? `${directory}${name}` : `${directory}/${name}`
}

/** Whether a link at that place of a tree (`a/b/link`) leads to a place in the same tree. */
export function staysInside(linkPath: string, target: string): boolean {
  if (target === '' || target.startsWith('/')) return false
  let depth = linkPath.split('/').length - 1
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue
    depth += part === '..' ? -1 : 1
    if (depth < 0) return false
  }
  return true
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** `1.2 MB`. */
export function sizeText(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1_000 && unit < UNITS.length - 1) {
    value /= 1_000
    unit++
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${UNITS[unit]}`
}

/** `0:07`, `12:30`, `3:04:05`. */
export function clockText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const two = (value: number) => String(value).padStart(2, '0')
  const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60]
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`
}
