/**
 * Whether the state that is there is of a format that this program knows.
 * @module
 */

import { existsSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import { asSassError } from '../../errors.ts'
import { checkStateFormat, STATE_FORMAT } from '../state/state-format.node.ts'
import type { Finding } from './finding.ts'
import { fail, pass } from './finding.ts'

/** Whether this program may use the state that is there: what an upgrade asks before it takes the place of another one. */
export function checkState({ state_directory: directory }: Pick<Config, 'state_directory'>): Finding {
  const check = 'state'
  try {
    const found = checkStateFormat(directory)
    if (found?.format === STATE_FORMAT) return pass(check, `${directory} has format ${STATE_FORMAT}`)
    return existsSync(directory)
      ? pass(
          check,
          `${directory} has format ${found?.format ?? 0}, and the daemon brings it to ${STATE_FORMAT}`,
        )
      : pass(check, `${directory} will be made in format ${STATE_FORMAT}`)
  } catch (error) {
    const known = asSassError(error)
    if (known?.code !== 'STATE_FORMAT') throw error
    const [detail = '', remedy = ''] = known.message.split(': nothing was changed; ')
    return fail(check, detail, remedy.replace(/\.$/, ''))
  }
}
