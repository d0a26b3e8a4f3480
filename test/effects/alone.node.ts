/**
 * Lines without the daemon: each on its own overlay of a world that has none, with the same programs, files, variables and
 * network, so that its end can be compared with the one in a session.
 * @module
 */
import type { Form } from './driver-protocol.ts'
import type { Line } from './lines.node.ts'
import type { Pace } from './measure.node.ts'
import type { Ending } from './shape.ts'
import { type Bare, HOME, openBare, type Place } from './stage.node.ts'
import { DROPPED_UNCONFINED, RUN_UNCONFINED } from './world-scripts.ts'

const TIMED_OUT = 124
const KILLED = 137
/** What a session sets; caches lie where it has memory. */
const ENVIRONMENT = {
  HOME,
  ...{ SHELL: '/bin/sh', LOGNAME: 'root', USER: 'root', LANG: 'C.UTF-8', TMPDIR: '/tmp' },
  ...{ npm_config_cache: '/tmp/.cache/npm', YARN_CACHE_FOLDER: '/tmp/.cache/yarn' },
  ...{ CARGO_HOME: '/tmp/.cache/cargo', PIP_CACHE_DIR: '/tmp/.cache/pip' },
}
const KEPT_BYTES = 65_536
/** As in a session, output goes to pipes, which a line can open again by /dev/stdout; what Node makes are sockets. */
const INTO_PIPES = ['bash', '-o', 'pipefail', '-c', '"$@" 2> >(cat >&2) | cat', 'bash'] as const

async function runAlone({ world }: Bare, line: Line, form: Form, seconds: number): Promise<Ending> {
  const ended = await world.run(
    [
      ...INTO_PIPES,
      ...['unshare', '--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child'],
      ...['sh', '-c', RUN_UNCONFINED],
    ],
    {
      env: {
        ...ENVIRONMENT,
        LINE: line.text,
        BY_FILE: form === 'file' ? '1' : '',
        SECONDS_MAX: String(seconds),
        DROPPED: DROPPED_UNCONFINED,
      },
    },
  )
  const timedOut = ended.code === TIMED_OUT || ended.code === KILLED
  return {
    exitCode: timedOut ? undefined : (ended.code ?? undefined),
    signal: undefined,
    timedOut,
    stdout: ended.stdout.subarray(0, KEPT_BYTES).toString('latin1'),
  }
}

export type Alone = {
  /** By their places in `lines`. */
  run(lines: readonly Line[], form: Form, pace: Pace): Promise<readonly Ending[]>
  end(): Promise<void>
}

/** A world without a daemon, for lines that are run one by one from the same beginning. */
export async function openAlone(place: Place): Promise<Alone> {
  const bare = await openBare(place)
  return {
    async run(lines, form, { seconds, parallel }) {
      const endings: Ending[] = []
      let at = 0
      const worker = async (): Promise<void> => {
        for (let index = at++; index < lines.length; index = at++) {
          const line = lines[index]
          if (line !== undefined) endings[index] = await runAlone(bare, line, form, seconds)
        }
      }
      await Promise.all(Array.from({ length: parallel }, worker))
      return endings
    },
    end: bare.end,
  }
}
