/**
 * A session's view for the tests of file work: a real directory stands for its root, and beside it lies what nobody
 * may ever reach from there.
 * @module
 */
import { closeSync, constants, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { SessionView } from '../../../src/ports.ts'

/** Linux; the same on every machine. */
const O_PATH = 0o10000000

export type StagedView = {
  readonly view: SessionView
  /** Where the view's `/` really is, and its writable `/work`. */
  readonly root: string
  readonly work: string
  readonly outside: string
}

export function stageView(t: Test): StagedView {
  const base = mkdtempSync(join(tmpdir(), 'sass-files-'))
  const root = join(base, 'root')
  const work = join(root, 'work')
  const outside = join(base, 'outside')
  for (const directory of [root, work, outside, join(root, 'etc')]) mkdirSync(directory)
  writeFileSync(join(outside, 'secret'), 'of the host')
  writeFileSync(join(root, 'etc/motd'), 'hello')
  const rootDescriptor = openSync(root, constants.O_DIRECTORY | O_PATH)
  t.teardown(() => {
    closeSync(rootDescriptor)
    rmSync(base, { recursive: true, force: true })
  })
  return { view: { rootDescriptor, writable: ['/work'] }, root, work, outside }
}
