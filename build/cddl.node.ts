/**
 * Writes docs/sass.cddl from the messages in src/wire. Run it after a change of them; a test says when it was forgotten.
 * @module
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderCddl } from './cddl.ts'

writeFileSync(join(import.meta.dirname, '../docs/sass.cddl'), renderCddl())
