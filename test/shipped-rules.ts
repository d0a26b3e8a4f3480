/**
 * The rules that ship, put together of their sources, as the build does it.
 * @module
 */
import { SOURCES, shippedRules } from '../build/bundle.node.ts'

/** What they are called where a file has a name. */
export const SHIPPED_NAME = 'default-rules.json'
export const SHIPPED_RULES: string = shippedRules(SOURCES)
