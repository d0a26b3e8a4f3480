/**
 * `sass-edge decide`: one cycle of proposals, decided by the constitution as the daemon decides it, without one. What is
 * decided is printed and nothing is carried out; with --logs the cycle becomes part of a run, of which `--replay` decides
 * every cycle once more.
 * Rules: docs/proposals.md.
 * @module
 */
import { resolve } from 'node:path'
import { isatty } from 'node:tty'
import { type Json, parseStrictJson } from '../../base/encoding/strict-json.ts'
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { statOf } from '../../base/files.node.ts'
import { visible } from '../../base/text/visible.ts'
import { loadLaw } from '../../edge/intent/constitution.node.ts'
import { appendLogs, lookUp, readLogs } from '../../edge/intent/proposal-files.node.ts'
import { misuse, SassError } from '../../errors.ts'
import { begin, type CycleState, end, firstState } from '../../intent/proposals/cycle.ts'
import { askedPaths, type CycleInput, type Decided, type Law } from '../../intent/proposals/decide.ts'
import { isObject } from '../../intent/proposals/fields.ts'
import type { RealPaths } from '../../intent/proposals/gates.ts'
import { PROPOSED_UNITS } from '../../intent/proposals/limits.ts'
import { replay } from '../../intent/proposals/replay.ts'
import { artifactOf } from '../../intent/proposals/streams.ts'
import { DEVICE_OPTIONS } from '../common/device.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import { isGiven, optionValue } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'
import { readGiven } from './given.node.ts'

/** What was decided, as an exit code; everything else is EXIT.LOCAL. */
const EXIT_OF = Object.freeze({ ACTION: EXIT.OK, REFUSE: 1, EXIT: 2 })
/** The run does not come out as it is logged. */
const EXIT_DIFFERS = 1
/** What is proposed, as text in JSON once more, and what was observed. */
const FILE_BYTES = 2 * PROPOSED_UNITS
/** There is no session without a daemon. */
const NO_SESSION = 'none'

type Given = {
  readonly observations: readonly Json[]
  readonly proposed: string
  readonly cycle: number | undefined
  readonly realPaths: RealPaths | undefined
}

function unusable(path: string, since: string): SassError {
  return misuse(
    `The proposals in ${path} are not decided, since ${since}: write {"observations": [...], "candidates": [...], "cycle": 0}.`,
  )
}

/** @param path absent: stdin */
function bytesOf(context: CommandContext, path: string | undefined): Uint8Array {
  if (path === undefined && isatty(0)) throw unusable('stdin', 'it is a terminal')
  return readGiven(context, path ?? '-', FILE_BYTES)
}

function isPaths(value: Json | undefined): value is RealPaths {
  return isObject(value) && Object.values(value).every((real) => real === null || typeof real === 'string')
}

/** What a file of proposals holds: each member is checked here as far as the decision does not. */
function givenIn(path: string, bytes: Uint8Array): Given {
  const parsed = parseStrictJson(bytes, { size: FILE_BYTES })
  if (!parsed.ok) throw unusable(path, `it is no JSON: ${parsed.problem}`)
  const { value } = parsed
  if (!isObject(value)) throw unusable(path, 'it is no object')
  const known = ['observations', 'candidates', 'cycle', 'paths']
  const foreign = Object.keys(value).find((name) => !known.includes(name))
  if (foreign !== undefined) throw unusable(path, `${visible(foreign.slice(0, 64))} is no part of it`)
  const { observations, candidates = [], cycle, paths } = value
  if (!Array.isArray(observations)) throw unusable(path, 'observations is no list')
  if (cycle !== undefined && !(Number.isSafeInteger(cycle) && Number(cycle) >= 0))
    throw unusable(path, 'cycle is no whole number')
  if (paths !== undefined && !isPaths(paths)) throw unusable(path, 'paths does not say where each path leads')
  return {
    observations,
    proposed: typeof candidates === 'string' ? candidates : JSON.stringify(candidates),
    cycle: cycle === undefined ? undefined : Number(cycle),
    realPaths: paths,
  }
}

/** The state that the run in the logs has come to; the first where there are none. */
function stateOf(law: Law, logs: string | undefined, given: Given): CycleState {
  if (logs === undefined) return firstState(law, given.cycle ?? 0)
  const replayed = replay(law, readLogs(logs), NO_SESSION)
  if (!replayed.ok)
    throw new SassError(
      'INTEGRITY_RISK',
      `The run in ${logs} is not continued, since ${replayed.problem}: keep it as evidence, and begin another one.`,
    )
  const { state } = replayed
  if (state.lastDecision === 'EXIT')
    throw misuse(`The run in ${logs} has ended with an exit: begin another one.`)
  if (given.cycle !== undefined && given.cycle !== state.cycle)
    throw misuse(`The next cycle of the run in ${logs} is ${state.cycle} and not ${given.cycle}.`)
  return state
}

function linesOf({ decision, admission, selection }: Decided): readonly string[] {
  const artifact = artifactOf({ decision }) as Readonly<Record<string, Json>>
  const what =
    decision.type === 'ACTION'
      ? `${decision.warrant.action_type}  warrant ${decision.warrant.warrant_id}`
      : `${artifact['reason_code']}${decision.type === 'REFUSE' ? `  at ${decision.refusal.failed_gate}` : ''}`
  return [
    `${decision.type}  ${visible(what)}`,
    ...admission.map(
      ({ candidate_id: id, gate, result, reason_code: code }) =>
        `  ${result}  ${gate.padEnd(23)}  ${id.slice(0, 12)}${code === '' ? '' : `  ${code}`}`,
    ),
    ...(selection === null ? [] : [`  selected  ${selection.selected_bundle_hash}`]),
  ]
}

function tell(context: CommandContext, decided: Decided, state: CycleState, cycle: number): number {
  const { decision, admission, selection } = decided
  context.output.result(
    {
      decision: decision.type,
      cycle,
      artifact: artifactOf(decided),
      ...(decision.type === 'ACTION' ? { bundle: decision.bundle } : {}),
      admission,
      selection,
      state_hash: state.stateHash,
    },
    linesOf(decided),
  )
  return EXIT_OF[decision.type]
}

async function decideOne(context: CommandContext, law: Law, path: string | undefined): Promise<number> {
  const { options } = context.arguments
  const logs = optionValue(options, 'logs')
  const given = givenIn(path ?? 'stdin', bytesOf(context, path))
  const state = stateOf(law, logs, given)
  const asked: Omit<CycleInput, 'cycle' | 'realPaths'> = {
    session: NO_SESSION,
    observations: given.observations,
    proposed: given.proposed,
  }
  const directory = resolve(context.cwd, optionValue(options, 'directory') ?? '.')
  const realPaths = given.realPaths ?? lookUp(directory, askedPaths(law, { ...asked, cycle: state.cycle }))
  const input = { ...asked, realPaths }
  const decided = begin(law, state, input)
  const ended = end(law, state, {
    run: optionValue(options, 'run') ?? 'decide',
    input,
    decided,
    // Nothing is carried out here.
    executed: [],
  })
  if (logs !== undefined) {
    if (ended.uncovered > 0)
      throw new SassError('INTEGRITY_RISK', 'Lines of this cycle have no warrant; none of it was written.')
    appendLogs(logs, ended.appends, { cycle: state.cycle, session: NO_SESSION })
  }
  return tell(context, decided, ended.state, state.cycle)
}

function replayRun(context: CommandContext, law: Law, logs: string): number {
  const lines = readLogs(logs)
  // A run of no cycle comes out as logged wherever one looks: a mistyped directory would pass.
  if (Object.values(lines).every((stream) => stream.length === 0))
    throw misuse(
      `${logs} ${statOf(logs)?.isDirectory() ? 'holds no logs of a run' : 'is no directory'}, so there is nothing to decide once more: name one that decide --logs has written to.`,
      { path: logs },
    )
  const result = replay(law, lines, NO_SESSION)
  if (result.ok) {
    const { cycle, stateHash } = result.state
    return context.output.result({ ok: true, cycles: cycle, state_hash: stateHash }, [
      `${cycle} ${cycle === 1 ? 'cycle comes' : 'cycles come'} out as logged  ${stateHash}`,
    ])
  }
  context.output.result({ ok: false, problem: result.problem }, [`differs: ${visible(result.problem)}`])
  return EXIT_DIFFERS
}

export const command: Command = {
  usage: [
    'decide FILE [--logs DIR]',
    'decide --stdin [--logs DIR]',
    'decide --replay DIR',
    'decide --device FILE|--stdin [--said TEXT]',
  ],
  options: {
    '--stdin': 'the proposals come on stdin',
    '--logs DIR': 'make the cycle the next one of the run that is logged there',
    '--replay DIR': 'decide every cycle of that run once more, out of its logs alone',
    '--run NAME': 'the name of the run in its logs; decide where none is given',
    '--directory DIR': 'where artifacts, workspace and logs of proposals are; here',
    '--constitution FILE': 'another constitution, with FILE.sha256 beside it',
    '--pin SHA256': 'the SHA-256 that the constitution must have',
    '--device': 'have a device decide, which does what it permits',
    '--target TARGET': 'that device; else that of the nearest .sass-edge',
    '--said TEXT': 'with --device: what the proposals answer',
    ...DEVICE_OPTIONS,
  },
  examples: {
    'sass-edge decide proposals.json': 'exit code 0: ACTION, 1: REFUSE, 2: EXIT',
    'sass-edge decide --stdin --logs run1 < proposals.json': 'the same, as the next cycle of a run',
    'sass-edge decide --device --said "Hello" proposals.json':
      'the device decides and does it; what it read or said is on stdout',
    'sass-edge decide --replay run1': 'exit code 0: everything comes out as it is logged',
  },
  async run(context) {
    const { options } = context.arguments
    const [path] = takeWords(context, 1)
    const logs = optionValue(options, 'replay')
    const isStdin = isGiven(options, 'stdin')
    if ([path !== undefined, logs !== undefined, isStdin].filter(Boolean).length !== 1)
      throw misuse('decide takes one of a FILE, --stdin and --replay DIR: see --help.')
    if (isGiven(options, 'device') || options.has('target')) {
      const text = decodeUtf8(bytesOf(context, path))
      if (text === undefined) throw unusable(path ?? 'stdin', 'it is no UTF-8')
      const { decideOnDevice } = await import('./decide-device.node.ts')
      return EXIT_OF[await decideOnDevice(context, text)]
    }
    const law = loadLaw({ path: optionValue(options, 'constitution'), pin: optionValue(options, 'pin') })
    return logs === undefined ? decideOne(context, law, path) : replayRun(context, law, logs)
  },
}
