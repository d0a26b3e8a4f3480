/**
 * The table of mounts, and where in which file system a path lies. A file has one name on a device only as long as its
 * file system is mounted once: a second mount, a bind, the layers of an overlay and the top of a btrfs show it elsewhere,
 * which only the table tells.
 * Source: proc_pid_mountinfo(5), overlayfs.rst.
 * @module
 */

import { isWithin } from '../../base/text/lexical-path.ts'

export type Mount = {
  /** `MAJOR:MINOR` of the file system, the same for all of its mounts. */
  readonly device: string
  /** Which directory of the file system is mounted. */
  readonly root: string
  readonly point: string
  readonly type: string
  /** Directories that an overlay consists of, as they were named when it was mounted; none of anything else. */
  readonly layers: readonly string[]
}

/** A directory or file of a file system, whatever its path is. */
export type Location = { readonly device: string; readonly path: string }

/** Overlays that lie over overlays: the kernel allows two. */
const LAYERS_DEPTH = 3
const LAYER_OPTIONS: readonly string[] = ['lowerdir', 'lowerdir+', 'upperdir', 'datadir+']

/** Blanks, backslashes and line ends are written in octal there. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}

function layersOf(options: string): string[] {
  return options.split(',').flatMap((option) => {
    const at = option.indexOf('=')
    return at > 0 && LAYER_OPTIONS.includes(option.slice(0, at))
      ? option
          .slice(at + 1)
          .split(':')
          .filter((path) => path.startsWith('/'))
      : []
  })
}

/** `text`: mountinfo. The last one at a place is the one that is seen there. */
export function parseMounts(text: string): readonly Mount[] {
  const mounts = new Map<string, Mount>()
  for (const line of text.split('\n')) {
    const [before = '', after = ''] = line.split(' - ')
    const [, , device, root, point] = before.split(' ')
    const [type, , options = ''] = after.split(' ')
    if (device === undefined || root === undefined || point === undefined || type === undefined) continue
    const path = unescaped(point)
    mounts.delete(path)
    mounts.set(path, {
      device,
      root: unescaped(root),
      point: path,
      type,
      layers: type === 'overlay' ? layersOf(unescaped(options)) : [],
    })
  }
  return [...mounts.values()]
}

const join = (directory: string, rest: string): string =>
  rest === '' ? directory : `${directory === '/' ? '' : directory}${rest}`
/** What of `path` lies below `directory`: empty, or with a slash before it. */
const below = (directory: string, path: string): string =>
  directory === '/' ? (path === '/' ? '' : path) : path.slice(directory.length)

export function mountOf(mounts: readonly Mount[], path: string): Mount | undefined {
  let found: Mount | undefined
  for (const mount of mounts)
    if (isWithin(mount.point, path) && (found === undefined || mount.point.length >= found.point.length))
      found = mount
  return found
}

/** Every place of a file system where `path` (absolute, without links) really lies: one, and those of an overlay's layers. */
export function locationsOf(mounts: readonly Mount[], path: string, depth = LAYERS_DEPTH): Location[] {
  const mount = mountOf(mounts, path)
  if (mount === undefined) return []
  const rest = below(mount.point, path)
  const here = { device: mount.device, path: join(mount.root, rest) }
  if (depth === 0) return [here]
  return [
    here,
    ...mount.layers.flatMap((layer) => locationsOf(mounts, join(layer, below('/', here.path)), depth - 1)),
  ]
}

/** What a place shows of protected locations: paths beneath it, or `all` where it lies within one. */
export function exposedIn(
  mounts: readonly Mount[],
  place: string,
  locations: readonly Location[],
): readonly string[] | 'all' {
  const found = new Set<string>()
  for (const shown of locationsOf(mounts, place)) {
    for (const { device, path } of locations) {
      if (device !== shown.device) continue
      if (isWithin(path, shown.path)) return 'all'
      if (isWithin(shown.path, path)) found.add(join(place, below(shown.path, path)))
    }
  }
  return [...found]
}
