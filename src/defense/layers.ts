/**
 * The layers of the decision, in their order, as one table: the array is the table of docs/responses.md, section 1.
 * Each looks at the facts and passes or says what happens instead; the first that does not pass decides.
 * @module
 */
import { policy13, specifics } from './gates/command.ts'
import { acl, identity, transport } from './gates/connection.ts'
import { quota } from './gates/quota.ts'
import { capability, delegation, toolAccess } from './gates/rights.ts'
import { completeness, level, session } from './gates/session.ts'
import type { Layer } from './layer.ts'

export const LAYERS: readonly Layer[] = Object.freeze([
  { name: 'acl', check: acl },
  { name: 'transport', check: transport },
  { name: 'identity', check: identity },
  { name: 'session', check: session },
  { name: 'level', check: level },
  { name: 'completeness', check: completeness },
  { name: 'tool_access', check: toolAccess },
  { name: 'delegation', check: delegation },
  { name: 'capability', check: capability },
  { name: 'specifics', check: specifics },
  { name: '13policy', check: policy13 },
  { name: 'quota', check: quota },
])
