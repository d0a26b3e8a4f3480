/**
 * For the suite of the ten agentic risks: the whole decision about a command line as it is installed, and a daemon with
 * several agents whose refusals take a second.
 * @module
 */
import type { Test } from 'tap'
import { parseConfig } from '../../src/config/config.ts'
import { EXAMPLE_HOME, exampleArgv } from '../../src/defense/13policy/rules/examples.ts'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import { loadPolicy, makePolicy } from '../../src/edge/policy/policy.node.ts'
import { executing, FACTS, LEDGER } from '../defense/staged-facts.ts'
import { changeConfig, type Daemon, install, type Json, sassEdge, startDaemon } from './daemon.node.ts'

/** The workspace of a device: nothing of it is looked at here. */
const WORKSPACE = '/srv/work'

/** Decides on a command line in the workspace: `done`, `noted` or the response, and the rule that it comes from. */
export type Decide = (text: string) => string

/** The rules that ship, under the configuration as it is where nobody has changed it. */
export async function decisionAsInstalled(t: Test, security: object = {}): Promise<Decide> {
  const parsed = parseConfig(
    { security: { workspace_root: WORKSPACE, ...security } },
    { configDirectory: t.testdir() },
  )
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  const policy = await loadPolicy(await makePolicy(parsed.config, undefined), parsed.config)
  return (text) => {
    const argv = exampleArgv(text).map((word) =>
      word.replaceAll(EXAMPLE_HOME, policy.home).replaceAll('/home/dev/project', WORKSPACE),
    )
    const verdict = adjudicate({ ...FACTS, action: executing(argv, undefined, WORKSPACE) }, policy, LEDGER)
    if (verdict.kind !== 'response') return `${verdict.kind} ${verdict.rule}`
    if (verdict.response !== 'EXECUTE') return `${verdict.response} ${verdict.rule}`
    return verdict.layer === 'all' ? 'done' : `noted ${verdict.rule}`
  }
}

/** Those that are not refused, nor wait for a human. A layer that failed has decided nothing. */
export function unstopped(decide: Decide, lines: readonly string[]): readonly string[] {
  return lines.filter((line) => !/^(?:VI_SWAP|TARPIT|THROTTLE) (?!deny_on_error)/.test(decide(line)))
}

/** Those that run, if at all, without a line in the record that says more than usual: contained, and nobody could tell. */
export function unnoticed(decide: Decide, lines: readonly string[]): readonly string[] {
  return unstopped(decide, lines).filter((line) => !decide(line).startsWith('noted '))
}

/** Those that do not run. */
export function undone(decide: Decide, lines: readonly string[]): readonly string[] {
  return lines.map((line) => `${line}: ${decide(line)}`).filter((told) => !/: (?:done|noted \S+)$/.test(told))
}

/** Held screens and noise are short, and each refusal is judged by itself: no alarm comes of the ones before. */
export const SHORT: Json = {
  defense: {
    levels: { automatic: false },
    vi_swap: { hold_seconds: 1 },
    tarpit: { chunk_bytes: 64, total_bytes: 128, delay_ms: 50 },
  },
}

/** As `SHORT`, and refusals raise the alarm as they do where nobody has changed it. */
export const ALARMED: Json = { defense: { ...(SHORT['defense'] as Json), levels: { automatic: true } } }

/** A program's name that is not what it seems: hostile, and harmless where it were not refused. */
export const DISGUISED = 'chmod\u200b'

/** The code that a held screen ends with. */
export const SCREEN = 'RESPONSE_VI_SWAP_ENGAGED'

/** A daemon with these agents beside its own; each is the words of `sass-edge agent add`. */
export async function startWithAgents(
  t: Test,
  change: Json,
  agents: readonly (readonly string[])[] = [],
): Promise<Daemon> {
  const directory = await install(t, change)
  for (const words of agents) {
    const added = await sassEdge(['agent', 'add', ...words], { cwd: directory })
    if (added.code !== 0) throw new Error(added.stderr)
  }
  // What `agent add` writes is whole lists; the change holds for the rest.
  changeConfig(directory, change)
  return startDaemon(t, directory)
}

/** `done`, or the code of the error that it fails with. */
export async function outcome(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'done'
  } catch (cause) {
    return String((cause as { code?: unknown }).code)
  }
}

/** Decisions about commands in the record, oldest first. */
export function decisions(daemon: Daemon): Json[] {
  return daemon.audit().filter(({ type, action }) => type === 'decision' && action === 'execute')
}
