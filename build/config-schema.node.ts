/**
 * Writes sass.edge.schema.json, sass.edge.json and docs/configuration.md from the field table of the configuration.
 * Run it after a change of src/config/fields.ts; a test says when it was forgotten.
 * @module
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderReference, renderSchema, renderShipped } from './config-documents.ts'

const root = join(import.meta.dirname, '..')
writeFileSync(join(root, 'sass.edge.schema.json'), renderSchema())
writeFileSync(join(root, 'sass.edge.json'), renderShipped())
writeFileSync(join(root, 'docs/configuration.md'), renderReference())
