/**
 * Where a daemon has the control groups of its sessions: beneath one of its own, named by its process, in each hierarchy.
 * @module
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Control groups of the daemon's sessions, in every hierarchy that this machine has. */
export function sessionGroups(pid: number): string[] {
  const find = (directory: string, depth: number): string[] => {
    if (depth === 0) return []
    try {
      const within = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory())
      return within.flatMap(({ name }) => {
        const path = join(directory, name)
        return directory.endsWith(`/sass-edge-${pid}`) ? [path] : find(path, depth - 1)
      })
    } catch {
      // Those of other daemons come and go.
      return []
    }
  }
  return find('/sys/fs/cgroup', 6)
}
