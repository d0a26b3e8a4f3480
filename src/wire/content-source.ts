/**
 * Where content is from, for whoever must treat data and instructions apart. What carries no other tag is what a tool
 * printed, the least trusted.
 * Rules: jerry.md L4-C02 (JF-042); docs/protocol.md, section 3.
 * @module
 */

export const CONTENT_SOURCES = [
  'TOOL_OUTPUT',
  'NETWORK_EXTERNAL',
  'FILE_INTERNAL',
  'FILE_EXTERNAL',
  'AGENT_HANDOFF',
  'SYSTEM_INSTRUCTION',
  'USER_INPUT',
  'MCP_EXTERNAL',
] as const

export type ContentSource = (typeof CONTENT_SOURCES)[number]

/** Its number on the wire. */
export function contentSourceNumber(source: ContentSource): number {
  return CONTENT_SOURCES.indexOf(source)
}

/** A number that this version does not know is the least trusted. */
export function contentSource(number: number): ContentSource {
  return CONTENT_SOURCES[number] ?? 'TOOL_OUTPUT'
}
