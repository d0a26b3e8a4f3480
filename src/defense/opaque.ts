/**
 * Commands that nobody has read, by where they run: where all of the sandbox holds they run, and where something of it
 * is missing a human is asked, or what the configuration says.
 * Rules: docs/policy.md, "What is not read".
 * @module
 */
import type { EffectiveCommand } from './13policy/effective.ts'
import { CLASS_TEXTS, type OpaqueClass, strictestClass } from './13policy/opaque/opaque-class.ts'
import { matchesCommand } from './capability.ts'
import type { Action, ExecuteAction, Facts, Weakness } from './facts.ts'
import type { Policy } from './layer.ts'

/** What is missing, for a sentence. */
export const WEAKNESS_TEXTS: Readonly<Record<Weakness, string>> = Object.freeze({
  real_files: 'it runs on the real files',
  host_network: 'it has the network of the device',
  covered_view: 'this kernel cannot keep all of its view apart',
  devices: 'it is given a device',
  sockets: 'it is given a socket of the device',
  unbounded: 'nothing bounds its processes',
})

/** The operator has named the program: its very file, or in a pattern that is not for all. */
function isNamed({ argv, path }: EffectiveCommand, who: Facts['identity'], policy: Policy): boolean {
  const { knownPrograms, allowedCommands, pins } = policy.security
  if (path !== undefined && Object.hasOwn(pins, path)) return true
  const set = who.kind === 'known' ? policy.capabilities[who.capability] : undefined
  return [...knownPrograms, ...allowedCommands, ...(set?.allowed_commands ?? [])].some(
    (pattern) => !pattern.startsWith('*') && matchesCommand(pattern, argv, path),
  )
}

/** The class of a command that would be run; undefined: it is plain, or nothing is run. */
export function opaqueClassOf(
  action: Action | undefined,
  facts: Facts,
  policy: Policy,
): OpaqueClass | undefined {
  if (action?.kind !== 'execute') return undefined
  const effective = policy.effective(action)
  // A program that is not on the device starts nothing: whoever mistypes a name hears that, and no human is asked.
  const missing = action.executable === null ? effective.commands[0] : undefined
  return strictestClass(effective, {
    knows: (command) => command === missing || policy.rules.knows(command),
    // The file of a tool is the one that an operator has registered.
    names: (command) =>
      (action.plan !== undefined && command.path === action.executable?.path) ||
      isNamed(command, facts.identity, policy),
  })
}

/** Why a command could reach the device; none: it cannot, whatever it does. */
export function recordedWeaknesses({ place }: ExecuteAction): readonly Weakness[] {
  return place?.confinement.weak ?? ['real_files']
}

/** One sentence on what is opaque about a command, and one on where it runs. */
export function opaqueReason(kind: OpaqueClass, weak: readonly Weakness[]): string {
  const what = `The command ${CLASS_TEXTS[kind]}`
  return weak.length === 0
    ? `${what}; it reaches nothing but what its lists have.`
    : `${what}, and ${weak.map((one) => WEAKNESS_TEXTS[one]).join(', and ')}.`
}
