/**
 * A configuration as the rest of the program knows it, and what can be wrong with one. Its keys: config/fields.ts.
 * @module
 */
import type { AGENT, CAPABILITY } from './caller-fields.ts'
import type { ValueOf } from './field-kinds.ts'
import type { CONFIG_FIELDS } from './fields.ts'

/** The configuration with every default filled in, frozen in depth; key names are those of the file. */
export type Config = ValueOf<typeof CONFIG_FIELDS>
export type AgentConfig = ValueOf<typeof AGENT>
export type CapabilityConfig = ValueOf<typeof CAPABILITY>

/** `path` like `agents[1].public_key` (empty: the whole file); `problem` ends a sentence that begins with the path. */
export type ConfigProblem = { readonly path: string; readonly problem: string; readonly hint: string }
