/**
 * A session's view of the device: a root of its own in memory, with a directory for each place that may be read or
 * written and nothing else. What may be read is an overlay without an upper directory, so that sockets and FIFOs in it
 * are others than the device's, and what is hidden is no file that something lies over but is not there. Whoever keeps
 * a descriptor when the session has ended finds no more by it than the session did.
 * Everything is put together beneath a directory of the daemon's own; keeper-thread.node.ts makes it the root.
 * Refuses places that show the daemon's own files under another name.
 * Rules: docs/sandbox.md (what a command sees); overlayfs.rst, tmpfs(5).
 * @module
 */

import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { isWithin, resolvePath } from '../../base/text/lexical-path.ts'
import type { HiddenPlaces } from './hidden-places.node.ts'
import { type Absent, makeHideLayer, type Substitute } from './hide-layer.node.ts'
import {
  type Kernel,
  MOUNT_ATTR_NODEV,
  MOUNT_ATTR_NOSUID,
  MOUNT_ATTR_RDONLY,
  MS_BIND,
  MS_NODEV,
  MS_NOSUID,
  MS_PRIVATE,
  MS_RDONLY,
  MS_REC,
  openPath,
  Refused,
} from './kernel.node.ts'
import { exposedIn, type Location, locationsOf, type Mount, parseMounts } from './mount-table.ts'
import type { NamespacePlan, RootMount, ViewGaps } from './namespace-plan.ts'
import { NAME_FILES, showNameFile } from './resolver.node.ts'
import { kernelPath, type seenFile, seenOnce } from './seen-file.node.ts'
import { systemGroups, systemUsers, USER_LISTS } from './system-users.ts'
import { layOut, type Placed, withoutHidden } from './view-layout.ts'
import { makeMemory, makeTarget } from './view-memory.node.ts'

/** File systems that can hold no socket and no FIFO, and that no overlay takes for its lower directory. */
const WITHOUT_SOCKETS: ReadonlySet<string> = new Set([
  'exfat',
  'iso9660',
  'msdos',
  'ntfs',
  'ntfs3',
  'udf',
  'vfat',
])

/** The init mounts them when there is one. */
const LATER_PLACES: readonly string[] = ['/proc', '/sys']

export type Held = {
  /** Descriptors that end with this turn, whatever becomes of it. */
  readonly passing: number[]
  /** Descriptors that the session keeps, unless a step fails. */
  readonly lasting: number[]
  /** A child of this process. */
  initPid: number
}

export type View = {
  /** Where its root lies until it is the root. */
  readonly root: string
  readonly gaps: ViewGaps
}

type Ground = {
  readonly kernel: Kernel
  readonly plan: NamespacePlan
  readonly held: Held
  readonly root: string
  /** A directory in memory, for the layers that hide. */
  readonly layers: string
  readonly mounts: readonly Mount[]
  readonly own: readonly Location[]
  readonly hidden: readonly string[]
  /** What lies on the device: looked at once for one view. */
  readonly seen: typeof seenFile
  readonly covered: string[]
  readonly refused: string[]
  /** Of branches. */
  readonly absent: string[]
}

/** What a path leads to; undefined where it leads nowhere. By the C library: Node asks for each part of each path. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

type Links = {
  readonly links: readonly { readonly path: string; readonly target: string }[]
  /** What the path leads to, which need not be there. */
  readonly end: string
}

/** The links on the way to a path and after it, which are there in the view as on the device. */
function followLinks(path: string, seen: typeof seenFile): Links {
  const links: Links['links'][number][] = []
  let rest = path.split('/').slice(1)
  let at = ''
  for (let steps = 0; rest.length > 0 && steps < 64; steps++) {
    const here = `${at}/${rest.shift()}`
    if (seen(here)?.isSymbolicLink() !== true) {
      at = here
      continue
    }
    const target = readlinkSync(here)
    links.push({ path: here, target })
    rest = [
      ...resolvePath(at === '' ? '/' : at, target)
        .split('/')
        .slice(1),
      ...rest,
    ]
    at = ''
  }
  return { links, end: at }
}

function makeLinks({ plan, root, seen }: Ground, placed: readonly Placed[]): void {
  const isPlaced = (path: string): boolean => placed.some((place) => isWithin(place.path, path))
  // Not those that lead to what is not listed: `/vmlinuz`.
  const top = readdirSync('/', { withFileTypes: true })
    .filter((entry) => entry.isSymbolicLink())
    .map(({ name }) => followLinks(`/${name}`, seen))
    .filter(({ end }) => isPlaced(end))
  const wanted = [...plan.read, ...plan.scratch, ...plan.homes, ...placed.map(({ path }) => path)]
  for (const { path, target } of [...top, ...wanted.map((one) => followLinks(one, seen))].flatMap(
    ({ links }) => links,
  )) {
    // Within a place it is there already.
    if (isPlaced(path) || existsSync(`${root}${path}`)) continue
    makeTarget(`${root}${dirname(path)}`, true)
    if (lstatSync(`${root}${path}`, { throwIfNoEntry: false }) === undefined)
      symlinkSync(target, `${root}${path}`)
  }
}

function topDirectories(): string[] {
  return readdirSync('/', { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `/${name}`)
}

/** The directories of the device that are not listed: there, and empty. */
function makeEmpty({ plan, root }: Ground): void {
  for (const path of topDirectories()) makeTarget(`${root}${path}`, true)
  for (const home of plan.homes) if (home.startsWith('/')) makeTarget(`${root}${home}`, true)
}

/** A descriptor's path: no character of a path means anything to a mount, and none is too long for its options. */
function open(held: Held, path: string): string {
  const descriptor = openPath(path)
  held.passing.push(descriptor)
  return `/proc/thread-self/fd/${descriptor}`
}

/** People are nobody's business who only runs commands; where /etc is branched, it is a file that can be changed. */
function substitutesIn(place: Placed, { userId }: NamespacePlan, isHiding: boolean): readonly Substitute[] {
  if (place.kind !== 'read' || !isHiding || !isWithin(place.path, USER_LISTS.users)) return []
  try {
    const users = systemUsers(readFileSync(USER_LISTS.users, 'utf8'), [userId])
    const groups = systemGroups(readFileSync(USER_LISTS.groups, 'utf8'), users.dropped)
    return [
      { path: USER_LISTS.users, text: users.text },
      { path: USER_LISTS.groups, text: groups },
    ]
  } catch {
    return []
  }
}

/** What is not there in a place: what is hidden in it, and the daemon's own by whatever name. Undefined: all of it is. */
function absentIn(
  { plan, mounts, own, hidden }: Ground,
  place: Placed,
  inner: readonly string[],
): Absent[] | undefined {
  const exposed = exposedIn(mounts, place.path, own)
  const isNamedRoot = place.kind === 'branch' && plan.own.some((path) => isWithin(path, place.path))
  if (exposed === 'all' && !isNamedRoot) return undefined
  const wanted = [...hidden, ...(exposed === 'all' ? [] : exposed)]
    .filter((path) => path !== place.path && isWithin(place.path, path))
    .filter((path) => !inner.some((other) => isWithin(other, path)))
    .sort((a, b) => a.length - b.length)
  const found: Absent[] = []
  for (const path of wanted) {
    const ways = inner.filter((other) => isWithin(path, other))
    const outer = found.find((one) => isWithin(one.path, path))
    // Of what is there but for the ways beneath it everything else is absent already.
    if (outer === undefined) found.push({ path, ways })
  }
  return found
}

/** Covers in the place of whiteouts, where the kernel takes no overlay. */
function coverAll({ kernel, root }: Ground, absent: readonly Absent[]): void {
  for (const { path, ways } of absent) {
    const target = `${root}${path}`
    if (!existsSync(kernelPath(target))) continue
    if (!lstatSync(kernelPath(target)).isDirectory()) {
      kernel.mount(`cover ${path}`, '/dev/null', target, '', MS_BIND, '')
      continue
    }
    kernel.mount(`cover ${path}`, 'tmpfs', target, 'tmpfs', MS_NOSUID | MS_NODEV, 'size=64k,mode=755')
    for (const way of ways) makeTarget(`${root}${way}`, true)
    kernel.change(target, MOUNT_ATTR_RDONLY, 0n)
  }
}

/** Binds a place to be read; what is mounted beneath comes along only where the kernel does not let it be left away. */
function bindToRead({ kernel, held, root }: Ground, path: string): void {
  const source = open(held, path)
  const target = `${root}${path}`
  try {
    kernel.mount(`bind ${path}`, source, target, '', MS_BIND, '')
  } catch {
    kernel.mount(`bind ${path}`, source, target, '', MS_BIND | MS_REC, '')
  }
  kernel.change(target, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0n, true)
}

/** The lower directories of a place, as options of an overlay: what hides first, then the real one. */
function lowerOf(
  ground: Ground,
  place: Placed,
  absent: readonly Absent[],
  number: number,
): { readonly lower: string; readonly needsUserMarks: boolean } {
  const { kernel, plan, held, layers } = ground
  const real = open(held, place.path)
  const substitutes = substitutesIn(place, plan, plan.hidesSecrets)
  const layer = `${layers}/${number}`
  if (absent.length > 0 || substitutes.length > 0) {
    mkdirSync(layer)
    const needsUserMarks = makeHideLayer(kernel, layer, place.path, absent, substitutes)
    return { lower: `${open(held, layer)}:${real}`, needsUserMarks }
  }
  if (place.kind === 'branch') return { lower: real, needsUserMarks: false }
  // An overlay without an upper directory has to have two lower ones.
  mkdirSync(layer)
  return { lower: `${real}:${open(held, layer)}`, needsUserMarks: false }
}

/** Whether the daemon's own files are seen there, or in what is mounted beneath and may come along. */
function showsOwn({ mounts, own }: Ground, path: string): boolean {
  const beneath = mounts.map(({ point }) => point).filter((point) => isWithin(path, point))
  return [path, ...beneath].some((place) => exposedIn(mounts, place, own).length > 0)
}

function mountRead(
  ground: Ground,
  place: Placed & { kind: 'read' },
  absent: readonly Absent[],
  number: number,
): void {
  const { kernel, root, covered, refused } = ground
  const { path, type } = place
  const target = `${root}${path}`
  const file = ground.seen(path)
  if (file === undefined) {
    refused.push(path)
    return
  }
  const isDirectory = file.isDirectory()
  makeTarget(target, isDirectory)
  if (!isDirectory) {
    if (file.isFile()) bindToRead(ground, path)
    return
  }
  try {
    const { lower, needsUserMarks } = lowerOf(ground, place, absent, number)
    const options = `lowerdir=${lower}${needsUserMarks ? ',userxattr' : ''}`
    kernel.mount(`overlay ${path}`, 'overlay', target, 'overlay', MS_RDONLY | MS_NOSUID | MS_NODEV, options)
  } catch (cause) {
    if (!(cause instanceof Refused) || !cause.step.startsWith('overlay ')) throw cause
    // A cover of the daemon's own files would fall off with the session.
    if (showsOwn(ground, path)) {
      refused.push(path)
      return
    }
    bindToRead(ground, path)
    coverAll(ground, absent)
    if (absent.length > 0 || !WITHOUT_SOCKETS.has(type)) covered.push(path)
  }
}

function mountBranch(
  ground: Ground,
  place: Placed & { kind: 'branch' },
  absent: readonly Absent[],
  number: number,
): void {
  const { kernel, held, root } = ground
  const { path, root: branch } = place
  const target = `${root}${path}`
  makeTarget(target, true)
  if (branch.kind === 'bind') {
    kernel.mount(`bind ${path}`, open(held, branch.source), target, '', MS_BIND, '')
    kernel.change(target, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0n)
    coverAll(ground, absent)
    return
  }
  const { lower } = lowerOf(ground, place, absent, number)
  const [upper, work] = [open(held, branch.upper), open(held, branch.work)]
  // An index belongs to one lower directory, and what hides is another one each time.
  const more = lower.includes(':') ? branch.options.replace('index=on', 'index=off') : branch.options
  const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}${more === '' ? '' : `,${more}`}`
  kernel.mount(`overlay ${path}`, 'overlay', target, 'overlay', MS_NOSUID | MS_NODEV, options)
}

/**
 * Directories of a branch on the way to what is mounted beneath. Renamed, they would take it with them, and the next
 * session of the branch would find what lies under it: as mount points of their own they cannot be renamed or removed.
 */
function holdWays({ kernel, plan, root }: Ground, branch: RootMount, placed: readonly Placed[]): void {
  const inner = placed.filter(({ path }) => path !== branch.path && isWithin(branch.path, path))
  const targets = [...plan.volatile, ...inner.map(({ path }) => path)]
  const ways = new Set<string>()
  for (const target of targets) {
    const isElsewhere = inner.some(({ path }) => path !== target && isWithin(path, target))
    if (target === branch.path || !isWithin(branch.path, target) || isElsewhere) continue
    for (let way = dirname(target); way !== branch.path && way !== '/'; way = dirname(way)) ways.add(way)
  }
  for (const way of [...ways].sort((a, b) => a.length - b.length)) {
    const target = `${root}${way}`
    if (lstatSync(target, { throwIfNoEntry: false })?.isDirectory() === true)
      kernel.mount(`bind ${way}`, target, target, '', MS_BIND | MS_REC, '')
  }
}

/** Sockets of the device that are listed: the very file, which no overlay shows. */
function showSockets({ kernel, plan, held, root, mounts, own, refused, seen }: Ground): void {
  for (const path of plan.sockets) {
    if (seen(path)?.isSocket() !== true) continue
    // Whoever reaches the daemon's own is its operator, whatever is listed.
    if (exposedIn(mounts, realPath(path) ?? path, own).length > 0) {
      refused.push(path)
      continue
    }
    makeTarget(`${root}${path}`, false)
    kernel.mount(`socket ${path}`, open(held, path), `${root}${path}`, '', MS_BIND, '')
  }
}

/** Puts the view together in the namespace that this thread is in; /proc and /sys are still empty in it. */
export function mountView(kernel: Kernel, plan: NamespacePlan, held: Held, places: HiddenPlaces): View {
  // What the host mounts from now on must not appear here, where it could be written.
  kernel.mount('make private', 'none', '/', '', MS_REC | MS_PRIVATE, '')
  const mounts = parseMounts(readFileSync('/proc/thread-self/mountinfo', 'utf8'))
  const listed = plan.read.flatMap((path) => (path === '/' ? topDirectories() : (realPath(path) ?? [])))
  const own = plan.own.flatMap((path) => locationsOf(mounts, realPath(path) ?? path))
  const all = layOut(listed, plan.shown, plan.roots, mounts)
  const seen = seenOnce()
  const hidden = places.find(
    plan,
    all.map(({ path }) => path),
    plan.homes,
    seen,
  )
  const placed = withoutHidden(all, hidden, mounts)
  const readable = placed.map(({ path }) => path)
  const memory = makeMemory(kernel, plan)
  const ground: Ground = {
    kernel,
    plan,
    held,
    mounts,
    own,
    ...{ root: memory.root, layers: memory.layers },
    ...{ hidden, seen },
    ...{ covered: [], refused: [], absent: [] },
  }
  makeEmpty(ground)
  makeLinks(ground, placed)
  memory.showScratch()
  for (const [number, place] of placed.entries()) {
    const inner = readable.filter((path) => path !== place.path && isWithin(place.path, path))
    const absent = absentIn(ground, place, inner)
    // What shows nothing but the daemon's own files is left away.
    if (absent === undefined) ground.refused.push(place.path)
    else if (place.kind === 'read') mountRead(ground, place, absent, number)
    else {
      mountBranch(ground, place, absent, number)
      ground.absent.push(...absent.map(({ path }) => path))
    }
  }
  memory.showVolatile()
  for (const place of placed) if (place.kind === 'branch') holdWays(ground, place.root, placed)
  memory.showDevices(held)
  showSockets(ground)
  memory.fill()
  for (const file of plan.network === 'gate' ? NAME_FILES : []) {
    const { end } = followLinks(file.path, seen)
    showNameFile(
      kernel,
      { stage: plan.stage, root: memory.root },
      file,
      end,
      readable.some((place) => isWithin(place, end)) && !plan.scratch.some((place) => isWithin(place, end)),
    )
  }
  for (const path of LATER_PLACES) makeTarget(`${memory.root}${path}`, true)
  const { covered, refused, absent } = ground
  return { root: memory.root, gaps: { covered, refused, absent } }
}
