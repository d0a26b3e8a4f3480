/**
 * `sass-edge cp [-r] SRC DST`: files to a device or from it, with their modes, proven by their SHA-256, in their place in
 * one step, and gone on with where a link broke.
 * @module
 */

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf, errnoText } from '../../base/files.node.ts'
import { visible } from '../../base/text/visible.ts'
import type { Client, Transferred } from '../../client/client.node.ts'
import { asSassError, misuse, SassError } from '../../errors.ts'
import { MAX_WINDOW_BYTES } from '../../limits.ts'
import { connectDevice, DEVICE_OPTIONS, RECONNECT_OPTION, reconnecting } from '../common/device.node.ts'
import { createLinkLine } from '../common/link-line.node.ts'
import { createWaitingLine } from '../common/waiting-line.node.ts'
import { isGiven, optionValue, wholeNumber } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import {
  type CopyPlace,
  clockText,
  joinRemote,
  lastName,
  readCopyPlace,
  sizeText,
} from '../words/copy-place.ts'
import { EXIT } from '../words/exit-codes.ts'
import { createProgress } from './copy-progress.node.ts'
import type { Copier, Counts } from './copy-tree.node.ts'
import { receiveTree, sendTree } from './copy-tree.node.ts'

type Skipped = { readonly path: string; readonly reason: string }

function createCopier(
  context: CommandContext,
  client: Client,
  skipped: Skipped[],
): Copier & { readonly clear: () => void } {
  const progress = createProgress(context.output)
  const waiting = createWaitingLine(context.output)
  const { options } = context.arguments
  // Never by itself: what does not shrink becomes a third larger in this form.
  const compress = isGiven(options, 'compress')
  const count: Counts = { files: 0, directories: 0, links: 0, bytes: 0, resumed: 0 }

  async function counted(remote: string, work: Promise<Transferred>): Promise<Transferred> {
    const done = await work.catch((error: unknown) => {
      throw withPath(error, remote)
    })
    count.files++
    count.bytes += done.size
    count.resumed += done.startedAt
    return done
  }

  const onProgress = (name: string) => (done: number, total: number) => progress.show(name, done, total)
  return {
    client,
    count,
    send: (local, remote, name, mode) =>
      counted(
        remote,
        client.upload(local, remote, {
          mode,
          compress,
          onProgress: onProgress(name),
          onWaiting: waiting.show,
        }),
      ),
    receive: (remote, local, name, mode) =>
      counted(remote, client.download(remote, local, { mode, onProgress: onProgress(name) })),
    skip(path, reason) {
      skipped.push({ path, reason })
      progress.clear()
      context.output.warn(`${visible(path)} was not copied, since ${reason}.`)
    },
    clear() {
      progress.clear()
      waiting.clear()
    },
  }
}

/** EISDIR of asm-generic/errno-base.h, as the device tells it. */
const IS_DIRECTORY = 21

function namesDirectory(error: unknown): boolean {
  const details = asSassError(error)?.details['details'] as Readonly<Record<string, unknown>> | undefined
  return asSassError(error)?.code === 'FILE_IO' && details?.['1'] === IS_DIRECTORY
}

/** The device tells its reason alone; which of many files it is about is known here. */
function withPath(error: unknown, remote: string): unknown {
  const told = asSassError(error)
  if (told === undefined || !/^(FILE|CAPABILITY)_/.test(told.code)) return error
  return new SassError(told.code, `${visible(remote)}: ${told.message}`, { ...told.details, remote }, error)
}

async function localKind(path: string): Promise<'file' | 'directory' | 'missing'> {
  try {
    return (await stat(path)).isDirectory() ? 'directory' : 'file'
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return 'missing'
    throw misuse(`${path} cannot be looked at, since ${errnoText(errnoOf(cause))}.`, { path }, cause)
  }
}

async function isRemoteDirectory(client: Client, path: string): Promise<boolean> {
  try {
    return (await client.list(path)) !== undefined
  } catch (error) {
    if (asSassError(error)?.code === 'FILE_NOT_FOUND') return false
    throw error
  }
}

/** Before anybody is called. */
async function refuseUnsendable(local: string, deep: boolean): Promise<void> {
  const kind = await localKind(local)
  if (kind === 'missing') throw misuse(`There is no ${local} here to copy.`, { path: local })
  if (kind === 'directory' && !deep)
    throw misuse(`${local} is a directory; copy it with -r.`, { path: local })
}

/** Gives the digest where it was one file. */
async function send(copier: Copier, local: string, remote: string): Promise<string | undefined> {
  const name = lastName(local)
  if ((await localKind(local)) === 'directory') {
    const into = (await isRemoteDirectory(copier.client, remote === '' ? '.' : remote))
      ? joinRemote(remote, name)
      : remote
    await sendTree(copier, local, into)
    return undefined
  }
  if (remote === '' || remote.endsWith('/'))
    return (await copier.send(local, joinRemote(remote, name), name)).sha256
  try {
    return (await copier.send(local, remote, name)).sha256
  } catch (error) {
    if (!namesDirectory(error)) throw error
    return (await copier.send(local, joinRemote(remote, name), name)).sha256
  }
}

async function receive(
  copier: Copier,
  remote: string,
  local: string,
  deep: boolean,
): Promise<string | undefined> {
  const name = lastName(remote)
  const isInto = local.endsWith('/') || (await localKind(local)) === 'directory'
  const to = isInto ? join(local, name) : local
  if (deep && (await isRemoteDirectory(copier.client, remote === '' ? '.' : remote))) {
    await receiveTree(copier, remote, to)
    return undefined
  }
  if (name === '') throw misuse('The path on the device names a directory; copy it with -r.')
  return (await copier.receive(remote, to, name)).sha256
}

/** With `--port`, which a path after the host leaves no other place for. */
function withPort(context: CommandContext, target: string | undefined): string | undefined {
  const text = optionValue(context.arguments.options, 'port')
  if (text === undefined) return target
  if (target === undefined || wholeNumber(text, 1, 65_535) === undefined)
    throw misuse(`--port ${text} must be a number from 1 to 65535, and needs a HOST before the path.`)
  return `${target}:${text}`
}

function sidesOf(context: CommandContext): readonly [CopyPlace, CopyPlace] {
  const [from, to, ...more] = [...context.arguments.positionals, ...(context.arguments.rest ?? [])]
  if (from === undefined || to === undefined || more.length > 0)
    throw misuse('A copy has two sides: write sass-edge cp SRC DST, one of them as HOST:PATH.')
  if (from === '' || to === '')
    throw misuse('One side of the copy is an empty word, so nothing was copied: write sass-edge cp SRC DST.')
  const sides = [readCopyPlace(from), readCopyPlace(to)] as const
  if (sides[0].kind === sides[1].kind)
    throw misuse(
      'One side of a copy is on a device and the other is here: write one of them as HOST:PATH, or :PATH for the nearest daemon.',
    )
  return sides
}

export const command: Command = {
  usage: ['cp [-r] SRC [AGENT@]HOST:PATH', 'cp [-r] [AGENT@]HOST:PATH DST', 'cp [-r] SRC :PATH'],
  options: {
    '-r, --recursive': 'whole directories, with links that stay inside',
    '-z, --compress': 'compress what is sent',
    '--port PORT': 'the port of HOST, where it is not the usual one',
    ...RECONNECT_OPTION,
    ...DEVICE_OPTIONS,
  },
  examples: {
    'sass-edge cp app.tar edge7:/srv/app.tar': 'into the branch there; merge it to keep it',
    'sass-edge cp edge7:logs/app.log .': 'relative paths begin in the workspace',
    'sass-edge cp -r site :www': 'a directory to the daemon of the nearest .sass-edge',
  },
  async run(context) {
    const [from, to] = sidesOf(context)
    const deep = isGiven(context.arguments.options, 'recursive')
    const remote = from.kind === 'remote' ? from : to
    const began = performance.now()
    const target = remote.kind === 'remote' ? withPort(context, remote.target) : undefined
    if (from.kind === 'local') await refuseUnsendable(from.path, deep)
    let copier: ReturnType<typeof createCopier> | undefined
    const line = createLinkLine(context.output, {
      meanwhile: () => 'trying again, and the copy then goes on where it was',
      isRaw: () => false,
    })
    const client = await connectDevice(context, target, {
      ...reconnecting(context),
      // Bulk alone goes through it: nobody waits for a key to be echoed.
      window: MAX_WINDOW_BYTES,
      onLink(event) {
        copier?.clear()
        line.onLink(event)
      },
    })
    const skipped: Skipped[] = []
    copier = createCopier(context, client, skipped)
    try {
      const sha256 =
        from.kind === 'local'
          ? await send(copier, from.path, to.path)
          : await receive(copier, from.path, to.path, deep)
      const { files, directories, links, bytes, resumed } = copier.count
      const seconds = (performance.now() - began) / 1_000
      const digest = sha256 === undefined ? {} : { sha256 }
      copier.clear()
      const said = `${files} ${files === 1 ? 'file' : 'files'}, ${sizeText(bytes)} in ${clockText(seconds)}`
      if (context.output.json)
        context.output.result(
          { files, directories, links, bytes, resumed_bytes: resumed, seconds, skipped, ...digest },
          [],
        )
      else context.output.note(resumed > 0 ? `${said}, ${sizeText(resumed)} of them from before` : said)
      return skipped.length === 0 ? EXIT.OK : EXIT.LOCAL
    } finally {
      copier.clear()
      line.end()
      await client.close()
    }
  },
}
