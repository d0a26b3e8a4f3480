/**
 * What a service manager such as systemd is told and asks for: that the daemon is ready, that it is alive, that it
 * stops; and the port that was opened for it. Without one nothing of this is done.
 * Alive means: a connection to its own admin socket is taken, decided about and ended again, like anybody else's.
 * Rules: sd_notify(3), sd_watchdog_enabled(3), sd_listen_fds(3).
 * @module
 */
import { connect } from 'node:net'
import { SassError } from '../../errors.ts'
import { WATCHDOG_MIN_MS } from '../../limits.ts'
import { sendDatagram } from './datagram.node.ts'

/** For what comes after the drain: the last records, and their way to the disk. */
const STOP_SLACK_SECONDS = 20
/** The first descriptor that is handed over: SD_LISTEN_FDS_START. */
const FIRST_LISTENER = 3

export type ServiceManager = {
  /** There is one, and nobody at a terminal reads along. */
  readonly isPresent: boolean
  /** The listening socket that was handed over; undefined where the daemon is to make its own. */
  readonly listener: number | undefined
  /** The daemon serves; from now on it says that it is alive for as long as it is. */
  ready(status: string, adminSocket: string): void
  /** It ends, and may take so long. */
  stopping(seconds: number): void
}

/** Whether the daemon behind the socket takes a connection and ends it when asked to. */
function answers(adminSocket: string, waitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(adminSocket, () => socket.end())
    const tell = (isAnswered: boolean) => {
      resolve(isAnswered)
      socket.destroy()
    }
    socket.setTimeout(waitMs, () => tell(false))
    socket.once('end', () => tell(true))
    // Turned away because all places are taken is an answer too.
    socket.once('error', (error: NodeJS.ErrnoException) => tell(error.code === 'ECONNRESET'))
    socket.resume()
  })
}

/** Who was meant: a service manager names the process, and an environment is inherited further than that. */
const isMeant = (pid: string | undefined): boolean => pid === undefined || pid === String(process.pid)

function listenerOf({ LISTEN_FDS: count, LISTEN_PID: pid }: NodeJS.ProcessEnv): number | undefined {
  if (count === undefined || pid === undefined || !isMeant(pid)) return undefined
  if (count === '1') return FIRST_LISTENER
  throw new SassError(
    'CONFIG_INVALID',
    `The service manager hands over ${count.slice(0, 16)} sockets, and the daemon listens on one: leave one ListenStream in the socket unit.`,
  )
}

/** How often it wants to hear; undefined where it does not. */
function watchdogMs({ WATCHDOG_USEC: text, WATCHDOG_PID: pid }: NodeJS.ProcessEnv): number | undefined {
  if (text === undefined || !/^[1-9]\d{0,15}$/.test(text) || !isMeant(pid)) return undefined
  return Math.max(Number(text) / 1_000, WATCHDOG_MIN_MS)
}

/** @throws SassError CONFIG_INVALID where more than one socket is handed over */
export function serviceManager(environment: NodeJS.ProcessEnv): ServiceManager {
  const socket = environment['NOTIFY_SOCKET']
  const path = socket !== undefined && /^[/@]./.test(socket) ? socket : undefined
  const periodMs = watchdogMs(environment)
  let timer: NodeJS.Timeout | undefined
  let isAsked = false

  const tell = (message: string) => {
    if (path !== undefined) sendDatagram(path, message)
  }

  /** Twice in the time that it waits: one answer may be late. */
  function feed(adminSocket: string, everyMs: number): void {
    if (isAsked) return
    isAsked = true
    void answers(adminSocket, everyMs).then((isAlive) => {
      isAsked = false
      if (isAlive && timer !== undefined) tell('WATCHDOG=1')
    })
  }

  return {
    isPresent: path !== undefined,
    listener: listenerOf(environment),
    ready(status, adminSocket) {
      tell(`READY=1\nSTATUS=${status.replaceAll('\n', ' ')}`)
      if (path === undefined || periodMs === undefined) return
      const everyMs = periodMs / 2
      timer = setInterval(() => feed(adminSocket, everyMs), everyMs)
      timer.unref()
    },
    stopping(seconds) {
      clearInterval(timer)
      timer = undefined
      // More than the unit allows where the configuration says so.
      tell(`STOPPING=1\nEXTEND_TIMEOUT_USEC=${(seconds + STOP_SLACK_SECONDS) * 1_000_000}`)
    },
  }
}
