/**
 * `sass-edge check`: would the daemon start, and do what its configuration says? (Like `sshd -t`.) Every problem at
 * once; exit 0 or 125.
 * @module
 */
import { basename } from 'node:path'
import type { Config } from '../../config/config.ts'
import { unsoundKeys } from '../../config/keys.ts'
import { placesOf } from '../../config/places.ts'
import { enterOwnNamespaces } from '../../edge/host/own-namespaces.node.ts'
import {
  type ExaminedConfig,
  examineConfig,
  placeProblems,
  problemText,
} from '../../edge/setup/config-file.node.ts'
import { findNetworkContradictions } from '../../edge/setup/contradicting-networks.ts'
import { findPlaceContradictions } from '../../edge/setup/contradicting-places.ts'
import { findViewContradictions } from '../../edge/setup/contradicting-views.ts'
import { findContradictions } from '../../edge/setup/contradictions.ts'
import type { Finding } from '../../edge/setup/finding.ts'
import { checkMachine } from '../../edge/setup/preflight.node.ts'
import { checkSandbox, isBranchTried } from '../../edge/setup/preflight-device.node.ts'
import { checkFiles } from '../../edge/setup/preflight-files.node.ts'
import { checkPolicy } from '../../edge/setup/preflight-policy.node.ts'
import { checkRepository } from '../../edge/setup/preflight-repository.node.ts'
import { checkState } from '../../edge/setup/preflight-state.node.ts'
import { checkView } from '../../edge/setup/preflight-view.node.ts'
import { tellLists } from '../../edge/setup/told-lists.ts'
import { localConfigPath, takeWords } from '../common/local-config.node.ts'
import { isGiven, optionValue } from '../words/arguments.ts'
import type { Command } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'

/** A finding and, where its key is in the file, where. */
type PlacedFinding = Finding & { readonly line?: number; readonly column?: number }

function findingText({ check, ok, detail, remedy, line, column }: PlacedFinding, file: string): string {
  const name = check === '' ? 'the file' : check
  if (remedy === undefined) return `ok      ${name}: ${detail}`
  const place = line === undefined ? '' : ` (${file}:${line}:${column})`
  return `${ok ? 'warning' : 'FAILED '} ${name}: ${detail}; ${remedy}${place}`
}

/** True where the path, or something that it lies in or follows, was refused: of a default nobody is told. */
function isDoubtful(check: string, faulty: readonly string[]): boolean {
  return faulty.some((path) => {
    const outer = check.startsWith(path) && /^(?:[.[]|$)/.test(check.slice(path.length))
    const inner = path.startsWith(check) && /^[.[]/.test(path.slice(check.length))
    return outer || (inner && check !== '')
  })
}

/** What the state directory decides where they are not named themselves. */
const FOLLOWING: readonly string[] = ['tls', 'audit', 'security.workspace_root', 'disk', 'levels', 'sandbox']

/**
 * Whether the port is tried too; `state`: only whether this program may use what is there; `files`: nothing of this
 * machine, but the files of a device, which lie beneath that directory.
 */
export type CheckExtent = 'all' | 'without-port' | 'state' | { readonly files: string }

/** What the machine, or the files alone, say about as much of the configuration as could be read. */
async function examineAll(
  config: Config,
  read: ExaminedConfig,
  extent: CheckExtent,
): Promise<readonly Finding[]> {
  const written = (path: string) => {
    let value: unknown = read.value
    for (const part of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[part]
    return value !== undefined
  }
  const isOfMachine = typeof extent === 'string'
  const all = isOfMachine
    ? [
        ...checkFiles(config, read.path, read.text),
        ...findContradictions(config, written),
        ...findPlaceContradictions(config, read.path, read.value),
        ...tellLists(config),
        ...findViewContradictions(config),
        ...findNetworkContradictions(config, written),
        ...checkView(config),
        ...(await checkMachine(config, Date.now(), extent === 'all')),
        ...(await checkPolicy(config)),
      ]
    : [
        ...findContradictions(config, written),
        ...findNetworkContradictions(config, written),
        ...(await checkRepository(config, extent.files)),
      ]
  if (read.problems.length === 0)
    return [...all, ...(isOfMachine && isBranchTried(config) ? await checkSandbox(config) : [])]
  const faulty = read.problems.map(({ path }) => path).filter((path) => path !== '')
  if (faulty.includes('state_directory')) faulty.push(...FOLLOWING)
  return all.filter(({ check, ok }) => !ok && !isDoubtful(check, faulty))
}

function placed(text: string, findings: readonly Finding[]): readonly PlacedFinding[] {
  const isKey = /^[a-z_]+(?:\.|\[|$)/
  const told = findings.filter(({ remedy, check }) => remedy !== undefined && isKey.test(check))
  const places = placesOf(
    text,
    told.map(({ check }) => check),
  )
  return findings.map((finding) => {
    const place = places[told.indexOf(finding)]
    // The beginning of the file is where nothing of the key stands in it.
    return place === undefined || (place.line === 1 && place.column === 1)
      ? finding
      : { ...finding, ...place }
  })
}

export type CheckReport = {
  readonly ok: boolean
  readonly config: string
  readonly reason?: string
  readonly problems?: ExaminedConfig['problems']
  readonly findings: readonly PlacedFinding[]
  readonly lines: readonly string[]
}

/** With the keys that are no points of the curve, which a start looks at last. */
function withKeys(read: ExaminedConfig): ExaminedConfig {
  const unsound = [...unsoundKeys(read.config?.agents ?? []).values()].filter(({ path }) => {
    return !read.problems.some((problem) => problem.path === path)
  })
  return { ...read, problems: [...read.problems, ...placeProblems(read.text, unsound)] }
}

/** Everything that check says about a configuration that was read. */
export async function examine(given: ExaminedConfig, extent: CheckExtent): Promise<CheckReport> {
  const read = given.value === undefined ? given : withKeys(given)
  const { path, config, problems } = read
  const file = basename(path)
  const all =
    config === undefined
      ? []
      : extent === 'state'
        ? [checkState(config)]
        : await examineAll(config, read, extent)
  const findings = read.value === undefined ? all : placed(read.text, all)
  const failed = findings.filter((finding) => !finding.ok)
  const lines = [
    ...problems.map((problem) => `${file}:${problem.line}:${problem.column}: ${problemText(problem)}`),
    ...findings.map((finding) => findingText(finding, file)),
  ]
  const count = problems.length + failed.length
  if (count === 0) return { ok: true, config: path, findings, lines }
  const reason =
    problems.length === 0
      ? `${count === 1 ? 'One check' : `${count} checks`} failed, so the daemon would not start with ${path} or not do what it says: do what is listed.`
      : `${path} has ${count === 1 ? 'one problem' : `${count} problems`}, so the daemon would not start: correct what is listed.`
  return { ok: false, config: path, reason, ...(problems.length === 0 ? {} : { problems }), findings, lines }
}

export const command: Command = {
  usage: ['check'],
  options: {
    '--no-port': 'something holds the port for the daemon: who listens there does not matter',
    '--state':
      'nothing but whether this program may use the state that is there: before it replaces another one',
    '--files DIR':
      'nothing of this machine but the files of a device, before any device has them: for a repository, at each commit and in its pipeline; what is pinned lies beneath DIR by its path on the device',
  },
  examples: {
    'sass-edge check': 'the nearest configuration',
    'sass-edge check --config /etc/sass-edge/sass.edge.json --json': 'one for a script',
    'sass-edge check --config sass.edge.json --files root': 'what a repository has for a device',
  },
  async run(context) {
    takeWords(context, 0)
    const read = examineConfig(localConfigPath(context))
    const { options } = context.arguments
    const files = optionValue(options, 'files')
    const ofMachine = isGiven(options, 'no-port') ? 'without-port' : 'all'
    const extent = files !== undefined ? { files } : isGiven(options, 'state') ? 'state' : ofMachine
    // A branch is tried as the daemon makes it.
    if (
      (extent === 'all' || extent === 'without-port') &&
      read.problems.length === 0 &&
      read.config !== undefined &&
      isBranchTried(read.config)
    )
      enterOwnNamespaces(read.config.sandbox.require, process.env, 'check')
    const { lines, ...report } = await examine(read, extent)
    context.output.result(report, lines)
    if (report.reason === undefined) return EXIT.OK
    context.output.warn(report.reason)
    return EXIT.LOCAL
  },
}
