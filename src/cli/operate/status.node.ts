/**
 * `sass-edge status [TARGET]`: what a daemon is doing and what it has decided; once, or again and again: on a terminal
 * as a screen of its own, elsewhere as one object a line.
 * @module
 */
import { isatty } from 'node:tty'
import type { Client } from '../../client/client.node.ts'
import { misuse } from '../../errors.ts'
import { connectOperator, DEVICE_OPTIONS } from '../common/device.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import { writeAll } from '../common/output.node.ts'
import { openScreen } from '../common/screen.node.ts'
import type { Command } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'
import { type Snapshot, screenLines, statusLines, statusObject } from '../words/status-text.node.ts'

const STDOUT_FD = 1
const WATCH_MS = 1_000
/** Where every byte is paid. */
const METERED_WATCH_MS = 60_000
/** How often the screen says whether the device is still heard. */
const DRAW_MS = 1_000

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function ask(client: Client): Promise<Snapshot> {
  const [status, ping, executions] = await Promise.all([client.status(), client.ping(), client.executions()])
  return { status, ping, executions, atMs: Date.now() }
}

function noteOf(client: Client, snapshot: Snapshot | undefined): string {
  if (!client.isConnected) return 'The link is lost and is being made again. q ends this.'
  if (snapshot === undefined) return 'Asking. q ends this.'
  return `${new Date(snapshot.atMs).toISOString().slice(0, 19)}Z  q ends this.`
}

async function watchScreen(client: Client, pauseMs: number): Promise<number> {
  let snapshot: Snapshot | undefined
  const draw = () => screen.draw(screenLines(snapshot, noteOf(client, snapshot), screen.size))
  const screen = openScreen(draw)
  const ticker = setInterval(draw, DRAW_MS)
  try {
    draw()
    for (;;) {
      const asked = await Promise.race([ask(client), screen.over])
      if (typeof asked === 'number') return asked
      snapshot = asked
      draw()
      const ended = await Promise.race([sleep(pauseMs), screen.over])
      if (typeof ended === 'number') return ended
    }
  } finally {
    clearInterval(ticker)
    screen.close()
  }
}

/** Until its reader has gone. */
async function watchLines(client: Client, pauseMs: number): Promise<number> {
  while (writeAll(STDOUT_FD, `${JSON.stringify(statusObject(await ask(client)))}\n`)) await sleep(pauseMs)
  await client.close()
  return EXIT.OK
}

export const command: Command = {
  usage: ['status [--watch] [TARGET]'],
  options: {
    '--watch':
      'again every second, with --metered every minute, until q or ^C; with --json one object a line',
    ...DEVICE_OPTIONS,
  },
  examples: {
    'sass-edge status': 'the daemon of the nearest .sass-edge, as its operator',
    'sass-edge status --watch edge7': 'the same of edge7, on the whole screen',
  },
  async run(context) {
    const { options } = context.arguments
    const isWatched = options.has('watch')
    if (isWatched && !context.output.json && !isatty(STDOUT_FD))
      throw misuse('status --watch draws on a terminal, and this is none: add --json for one object a line.')
    const client = await connectOperator(context, takeWords(context, 1)[0])
    const pauseMs = options.has('metered') ? METERED_WATCH_MS : WATCH_MS
    if (isWatched && context.output.json) return watchLines(client, pauseMs)
    if (isWatched) {
      const code = await watchScreen(client, pauseMs)
      await client.close()
      return code
    }
    const snapshot = await ask(client)
    context.output.result(statusObject(snapshot), statusLines(snapshot))
    await client.close()
    return EXIT.OK
  },
}
