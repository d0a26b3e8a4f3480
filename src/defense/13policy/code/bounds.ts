/**
 * What the reading of code may cost, which is paid for as a whole before it begins: so much for each character, and no
 * more brackets within one another than people write.
 * @module
 */
import { spend, spendPass, type Work, WorkSpent } from '../../work.ts'

/** Every character is looked at by some dozen readers. */
const STEPS_A_CHARACTER = 20
/** Calls within calls; what people write has eight. */
const BRACKETS_MAX = 64

/** @throws WorkSpent */
export function spendCode(work: Work, text: string): void {
  spendPass(work, text.length)
  if (levelsOf(text) > BRACKETS_MAX) throw new WorkSpent('The code has too many brackets within one another.')
  spend(work, text.length * STEPS_A_CHARACTER)
}

/** Brackets that are open at once, at most. */
function levelsOf(text: string): number {
  let open = 0
  let most = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 40: // (
      case 91: // [
      case 123: // {
        open += 1
        if (open > most) most = open
        break
      case 41:
      case 93:
      case 125:
        if (open > 0) open -= 1
        break
      default:
    }
  }
  return most
}
