/**
 * A file on its way to whoever asked for it, past the firewall: as it is, bit for bit, or not at all. Text in which output
 * would have something hidden or held waits until an operator releases the file; what is no text goes on unread, since
 * whoever packs a secret up is not found by reading.
 * Rules: docs/firewall.md, "Files".
 * @module
 */
import { isReadable } from '../../defense/firewall/injections/text-share.ts'
import type { Screen } from '../../defense/firewall/screen.ts'
import { SassError } from '../../errors.ts'

export type FileScreenGround = {
  /** For one stretch of text. */
  open(): Screen
  /** Bytes that may go on, lent; false where nobody takes them any more. */
  send(bytes: Uint8Array): Promise<boolean>
  /** Whether an operator releases the file. */
  ask(screen: Screen): Promise<boolean>
}

export type FileScreen = {
  /** False where nobody takes it any more. @throws SassError OUTPUT_BLOCKED where it may not go on */
  push(bytes: Uint8Array): Promise<boolean>
  /** As `push`: nothing follows. */
  finish(): Promise<boolean>
  /** What was marked, and went on. */
  readonly screens: readonly Screen[]
}

const NONE = new Uint8Array(0)

export function createFileScreen({ open, send, ask }: FileScreenGround): FileScreen {
  const marked: Screen[] = []
  let screen: Screen | undefined
  /** What has come and may not go on yet; copies. */
  let pending: Uint8Array = NONE
  let isReleased = false

  const mustAsk = (of: Screen): boolean => of.held === 'held' || (of.secrets?.count ?? 0) > 0

  /** Lets `passed` bytes of what is pending go on, or asks about all of it. */
  async function goOn(of: Screen, passed: number): Promise<boolean> {
    if (!mustAsk(of)) {
      const sent = pending.subarray(0, passed)
      pending = pending.slice(passed)
      return sent.length === 0 || send(sent)
    }
    if (!(await ask(of)))
      throw new SassError(
        'OUTPUT_BLOCKED',
        'The file was not given, since it holds what output may not, and no operator has released it.',
      )
    isReleased = true
    return sendPending()
  }

  async function sendPending(): Promise<boolean> {
    const sent = pending
    pending = NONE
    return sent.length === 0 || send(sent)
  }

  /** The end of a stretch of text. */
  async function endText(): Promise<boolean> {
    const of = screen
    screen = undefined
    if (of === undefined || isReleased) return sendPending()
    of.finish(() => {})
    if (of.suspicions !== undefined) marked.push(of)
    return goOn(of, pending.length)
  }

  return {
    async push(bytes) {
      if (isReleased) return send(bytes)
      if (!isReadable(bytes, 0, bytes.length)) return (await endText()) && send(bytes)
      screen ??= open()
      const all = new Uint8Array(pending.length + bytes.length)
      all.set(pending)
      all.set(bytes, pending.length)
      pending = all
      let passed = 0
      screen.push(bytes, (piece) => {
        passed += piece.length
      })
      return goOn(screen, passed)
    },
    finish: endText,
    screens: marked,
  }
}
