/**
 * What a session may do to its own files while the daemon writes and reads among them: nothing of it leads out.
 * @module
 */
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { asSassError } from '../../../src/errors.ts'
import { createFileWork } from '../../../src/sandbox/files/file-work.node.ts'
import { partialName } from '../../../src/sandbox/files/partial-name.ts'
import { ERRNO, loadSyscalls, type Syscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'
import { stageView } from './view.node.ts'

const FILES = 10_000
const work = createFileWork()
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function swapping(t: Test, pairs: readonly (readonly [string, string])[], during: () => Promise<void>) {
  const worker = new Worker(new URL('./swapper.node.ts', import.meta.url), { workerData: pairs })
  let swaps = 0
  await new Promise<void>((resolve) => {
    worker.on('message', (count: number) => {
      swaps = count
      resolve()
    })
  })
  try {
    await during()
  } finally {
    await worker.terminate()
  }
  t.ok(swaps > 1_000, `${swaps} swaps`)
}

t.test(
  'a directory that is swapped for a link while files are written never leads out (SS-20)',
  { timeout: 110_000 },
  async (t) => {
    const staged = stageView(t)
    const { view } = staged
    const at = (name: string) => join(staged.work, name)
    const bytes = Buffer.from('of the session')
    const key = 'ab'.repeat(16)
    for (const name of ['d', 'd/e']) mkdirSync(at(name))
    // The directory itself, one that lies deeper, the place, and the hidden name.
    symlinkSync(staged.outside, at('d-link'))
    symlinkSync(staged.outside, at('d/e-link'))
    writeFileSync(at('d/e/same'), '')
    symlinkSync(join(staged.outside, 'secret'), at('same-link'))
    symlinkSync(join(staged.outside, 'secret'), at('part-link'))
    writeFileSync(at(`d/e/${partialName(key)}`), '')
    const pairs = [
      [at('d'), at('d-link')],
      [at('d/e'), at('d/e-link')],
      [at('d/e/same'), at('same-link')],
      [at(`d/e/${partialName(key)}`), at('part-link')],
    ] as const
    let written = 0
    const refusals = new Map<string, number>()
    await swapping(t, pairs, async () => {
      for (let file = 0; file < FILES; file++) {
        const name = file % 2 === 0 ? `f${file % 50}` : 'same'
        try {
          const { real } = work.look(view, `/work/d/e/${name}`)
          const plan = {
            real,
            size: bytes.length,
            mode: 0o644,
            sha256: digest(bytes),
            offset: bytes.length,
            key,
          }
          const receiver = await work.receive(view, plan)
          try {
            if (receiver.offset === 0) await receiver.write(bytes.slice())
            await receiver.finish(view)
            written++
          } finally {
            await receiver.stop(true)
          }
        } catch (cause) {
          const code = asSassError(cause)?.code ?? String(cause)
          refusals.set(code, (refusals.get(code) ?? 0) + 1)
        }
      }
    })
    t.comment(`${written} written, ${JSON.stringify([...refusals])}`)
    t.ok(written > 0)
    t.strictSame(
      [...refusals.keys()].filter((code) => !code.startsWith('FILE_')),
      [],
    )
    t.strictSame(readdirSync(staged.outside), ['secret'])
    t.equal(readFileSync(join(staged.outside, 'secret'), 'utf8'), 'of the host')
    t.ok(lstatSync(join(staged.outside, 'secret')).isFile())
  },
)

t.test('a file that is swapped for a link while it is read never shows what is outside', async (t) => {
  const staged = stageView(t)
  const { view } = staged
  const at = (name: string) => join(staged.work, name)
  mkdirSync(at('d'))
  writeFileSync(at('d/secret'), 'of the view')
  symlinkSync(staged.outside, at('d-link'))
  writeFileSync(at('f'), 'of the view')
  symlinkSync(join(staged.outside, 'secret'), at('f-link'))
  let read = 0
  const pairs = [
    [at('d'), at('d-link')],
    [at('f'), at('f-link')],
  ] as const
  await swapping(t, pairs, async () => {
    for (let turn = 0; turn < 4_000; turn++) {
      try {
        const path = turn % 2 === 0 ? '/work/d/secret' : '/work/f'
        const { real } = work.look(view, path)
        const reader = await work.read(view, real, 0, undefined, 1_000)
        const target = Buffer.alloc(100)
        const text = target.subarray(0, await reader.read(target)).toString()
        reader.close()
        if (text !== 'of the view') t.fail(text)
        read++
      } catch (cause) {
        if (!asSassError(cause)?.code.startsWith('FILE_')) throw cause
      }
    }
  })
  t.ok(read > 0, `${read} read`)
})

t.test('a kernel without openat2 gives the same, or less', async (t) => {
  const syscalls = loadSyscalls()
  const old: Syscalls = {
    ...syscalls,
    byNumber: (name, ...args) => (name === 'openat2' ? -ERRNO.ENOSYS : syscalls.byNumber(name, ...args)),
  }
  const files = createFileWork(old)
  const staged = stageView(t)
  const { view } = staged
  mkdirSync(join(staged.work, 'd'))
  symlinkSync(staged.outside, join(staged.work, 'out'))
  symlinkSync('d', join(staged.work, 'in'))
  const bytes = Buffer.from('x')
  const put = async (path: string) => {
    const { real } = files.look(view, path)
    const plan = { real, size: 1, mode: undefined, sha256: digest(bytes), offset: 0, key: 'ab' }
    const receiver = await files.receive(view, plan)
    await receiver.write(bytes.slice())
    await receiver.finish(view)
  }
  await put('/work/d/f')
  t.equal(readFileSync(join(staged.work, 'd/f'), 'utf8'), 'x')
  for (const path of ['/work/out/f', '/work/in/f', '/etc/f', '/work/../../outside/f', '/proc/self/fd/1'])
    await t.rejects(put(path), { code: /^FILE_/ }, path)
  t.strictSame(readdirSync(staged.outside), ['secret'])
})

t.test('the links of /proc are no way out', async (t) => {
  const staged = stageView(t)
  const { execFileSync } = await import('node:child_process')
  mkdirSync(join(staged.root, 'proc'))
  try {
    execFileSync('mount', ['--bind', '/proc', join(staged.root, 'proc')], { stdio: 'ignore' })
  } catch {
    return t.comment('nothing may be mounted here')
  }
  try {
    const { view } = staged
    for (const path of [
      '/proc/self/root/etc/hostname',
      '/proc/self/cwd/package.json',
      `/proc/self/fd/${view.rootDescriptor}/../outside/secret`,
      '/proc/1/root/etc/hostname',
    ]) {
      const { real, kind } = work.look(view, path)
      t.not(kind, 'file', path)
      await t.rejects(work.read(view, real, 0, undefined, 1e6), { code: /^FILE_/ }, path)
    }
    await t.rejects(work.read(view, '/proc/cpuinfo', 0, undefined, 1e6), { code: 'FILE_IO' })
  } finally {
    execFileSync('umount', ['-l', join(staged.root, 'proc')])
  }
})
