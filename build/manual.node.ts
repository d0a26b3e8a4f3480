/**
 * Writes docs/man from the tables of the commands and of the configuration. Run it after a change of a command, an
 * option or a field; a test says when it was forgotten.
 * @module
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadCommands } from '../src/cli/commands.node.ts'
import { renderConfigManual, renderProgramManual } from './manual.ts'

const directory = join(import.meta.dirname, '../docs/man')
mkdirSync(directory, { recursive: true })
writeFileSync(join(directory, 'sass-edge.1'), renderProgramManual(await loadCommands()))
writeFileSync(join(directory, 'sass-edge.json.5'), renderConfigManual())
