/**
 * The firewall of one stream of output: what a command writes comes in, what its caller may read goes on. Orders to
 * whoever reads it are looked for first, in what came; then secrets are hidden in what may go on.
 * Rules: docs/firewall.md; jerry.md, JF-080 to 082.
 * @module
 */
import type { FindByte } from './controls.ts'
import type { Assessment } from './injections/assess.ts'
import type { CommandLine } from './injections/command-lines.ts'
import {
  createInjectionHold,
  type HeldWindow,
  type HoldState,
  type InjectionHold,
  type Suspicions,
  type Thresholds,
} from './injections/hold.ts'
import { INJECTION_WINDOW_BYTES } from './injections/limits.ts'
import { SCREEN_WORK_BYTES } from './limits.ts'
import type { SecretTables } from './secrets/kinds.ts'
import type { Pause } from './secrets/pass.ts'
import { createSecretScreens, type SecretFindings, type SecretScreen } from './secrets/secret-screen.ts'

type Emit = (bytes: Uint8Array) => void

export type Screen = {
  /** Bytes are lent, both ways. */
  push(bytes: Uint8Array, emit: Emit): void
  /**
   * Nothing has come for so long: what is kept goes on as far as that says. `flow`: something still comes, and what is
   * kept to be judged has waited long enough.
   */
  pause(pause: Pause | 'flow', emit: Emit): void
  /** Nothing follows. What is held still waits for an answer. */
  finish(emit: Emit): void
  /** Of what is held, since it gives orders: it goes on, or it is dropped with all that follows. */
  answer(isReleased: boolean, emit: Emit): void
  /** Something came that has not gone on, and a pause would see to it. */
  readonly isKeeping: boolean
  readonly held: HoldState
  readonly heldWindow: HeldWindow | undefined
  /** Of what came in. */
  readonly withheldBytes: number
  /** Undefined: nothing was found. */
  readonly secrets: SecretFindings | undefined
  readonly suspicions: Suspicions | undefined
  /** The first line that is merely a command. */
  readonly commandLine: CommandLine | undefined
}

/** What judges windows of output; one at a time. */
export type Judge = (bytes: Uint8Array, start: number, end: number) => Assessment

/** What makes screens: tables and memory that all of them share. */
export type Screens = {
  /** @param thresholds for the stream: a block that is never reached marks alone */
  open(thresholds: Thresholds): Screen
}

/**
 * @param assess undefined: nothing is looked for but secrets
 * @param findByte where the host looks for one byte faster than the language does
 */
export function createScreens(tables: SecretTables, assess: Judge | undefined, findByte?: FindByte): Screens {
  const secrets = createSecretScreens(tables, findByte)
  if (assess === undefined) return { open: () => secretsAlone(secrets.open()) }
  const work = new Uint8Array(SCREEN_WORK_BYTES + INJECTION_WINDOW_BYTES)
  return {
    open: (thresholds) => createScreen(createInjectionHold(assess, thresholds, work), secrets.open()),
  }
}

function secretsAlone(secrets: SecretScreen): Screen {
  return {
    push: secrets.push,
    pause(pause, emit) {
      if (pause !== 'flow') secrets.pause(pause, emit)
    },
    finish: secrets.finish,
    answer() {},
    get isKeeping() {
      return secrets.isKeeping
    },
    held: 'open',
    heldWindow: undefined,
    withheldBytes: 0,
    get secrets() {
      return secrets.findings
    },
    suspicions: undefined,
    commandLine: undefined,
  }
}

function createScreen(injections: InjectionHold, secrets: SecretScreen): Screen {
  const behind =
    (emit: Emit): Emit =>
    (bytes) =>
      secrets.push(bytes, emit)
  let isFinished = false

  function finishSecrets(emit: Emit): void {
    if (isFinished && injections.state !== 'held') secrets.finish(emit)
  }

  return {
    push: (bytes, emit) => injections.push(bytes, behind(emit)),
    pause(pause, emit) {
      injections.pause(behind(emit))
      if (pause !== 'flow') secrets.pause(pause, emit)
    },
    finish(emit) {
      isFinished = true
      injections.pause(behind(emit))
      finishSecrets(emit)
    },
    answer(isReleased, emit) {
      if (injections.state !== 'held') return
      injections.answer(isReleased, behind(emit))
      finishSecrets(emit)
    },
    get isKeeping() {
      return injections.isKeeping || secrets.isKeeping
    },
    get held() {
      return injections.state
    },
    get heldWindow() {
      return injections.heldWindow
    },
    get withheldBytes() {
      return injections.withheldBytes
    },
    get secrets() {
      return secrets.findings
    },
    get suspicions() {
      return injections.suspicions
    },
    get commandLine() {
      return injections.commandLine
    },
  }
}
