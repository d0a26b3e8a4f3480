/**
 * An unknown value to a complete, frozen Config, or every problem of it at once with its path.
 * Refuses unknown keys, wrong types, values out of range and combinations that cannot work; fills in every default;
 * makes every path absolute. Looks at no file: what only the machine can tell is checked by edge/setup/preflight.node.ts.
 * The keys themselves are in config/fields.ts.
 * @module
 */

import { utf8Length } from '../base/encoding/utf8.ts'
import { isLoopback, parseEndpoint } from '../base/ip-address.ts'
import { resolvePath } from '../base/text/lexical-path.ts'
import { nearest } from '../base/text/suggest.ts'
import { CONFIG_PROBLEMS, PATH_BYTES } from '../limits.ts'
import { ALL_WORD, WORKSPACE_WORD } from './caller-fields.ts'
import { findConflicts } from './conflicts.ts'
import type { Field, ListField, MapField, ObjectField, PathField } from './field-kinds.ts'
import { CONFIG_FIELDS } from './fields.ts'
import { TEXT_FORMATS } from './formats.ts'
import { booleanHint, integerHint, listHint, objectHint, textHint, unknownKeyHint } from './hints.ts'
import { keyPath } from './places.ts'
import { tierUnsaid, withProfile } from './profile.ts'
import type { Config, ConfigProblem } from './shape.ts'

export type { AgentConfig, CapabilityConfig, Config, ConfigProblem } from './shape.ts'

/** `draft`: the configuration with the defaults in place of what is wrong; undefined where there is nothing to judge. */
export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[]; readonly draft?: Config }

type Walk = {
  readonly configDirectory: string
  readonly stateDirectory: string
  readonly workspaceRoot: string
  readonly problems: ConfigProblem[]
}

type Json = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  return typeof value === 'number' && !Number.isInteger(value) ? 'a fraction' : `a ${typeof value}`
}

function report(walk: Walk, path: string, problem: string, hint: string): void {
  if (walk.problems.length >= CONFIG_PROBLEMS) return
  walk.problems.push({ path, problem, hint })
}

function reportKind(walk: Walk, path: string, value: unknown, wanted: string, hint: string): void {
  report(walk, path, `must be ${wanted}, not ${kindOf(value)}`, hint)
}

function readObject(walk: Walk, field: ObjectField, given: unknown, path: string): Json {
  const isShort = field.short !== undefined && (typeof given === 'string' || Array.isArray(given))
  const value = isShort ? { [field.short]: given } : given
  if (value !== undefined && !isObject(value)) {
    const wanted = field.short === undefined ? 'an object' : 'a text or an object'
    reportKind(walk, path, value, wanted, objectHint(field))
    // One problem is enough: what it lacks inside is not worth telling.
    return readObject({ ...walk, problems: [] }, field, undefined, path)
  }
  const object = value ?? {}
  const known = Object.keys(field.fields)
  for (const key of Object.keys(object)) {
    if (known.includes(key) || (path === '' && key === '$schema')) continue
    if (walk.problems.length >= CONFIG_PROBLEMS) break
    report(walk, keyPath(path, key), 'is not a known key', unknownKeyHint(CONFIG_FIELDS, key, known))
  }
  const result: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(field.fields)) {
    const present = Object.hasOwn(object, key) ? object[key] : undefined
    // What is wrong with a text by itself is wrong where it stands.
    result[key] = readField(walk, inner, present, isShort && key === field.short ? path : keyPath(path, key))
  }
  return Object.freeze(result)
}

function readMap(walk: Walk, field: MapField, value: unknown, path: string): Json {
  if (value !== undefined && !isObject(value)) {
    reportKind(
      walk,
      path,
      value,
      'an object',
      'write {"default": {}}, with what it may do between the braces',
    )
  }
  const given = isObject(value) ? value : field.default
  const keys = Object.keys(given)
  if (keys.length > field.maxEntries) {
    report(walk, path, `has more than ${field.maxEntries} entries`, `keep ${field.maxEntries} at most`)
  }
  const result: Record<string, unknown> = {}
  for (const key of keys.slice(0, field.maxEntries)) {
    const fault = TEXT_FORMATS.name.check(key)
    if (fault === undefined) result[key] = readField(walk, field.value, given[key], keyPath(path, key))
    else report(walk, keyPath(path, key), fault.problem, fault.hint)
  }
  return Object.freeze(result)
}

function readList(walk: Walk, field: ListField, value: unknown, path: string): readonly unknown[] | null {
  if (value === null && field.nullable === true) return null
  if (value !== undefined && !Array.isArray(value))
    reportKind(walk, path, value, 'a list', listHint(value, field))
  const given: readonly unknown[] | null = Array.isArray(value) ? value : field.default
  if (given === null) return null
  if (given.length > field.maxItems) {
    report(walk, path, `has more than ${field.maxItems} entries`, `keep ${field.maxItems} at most`)
  }
  return Object.freeze(
    given.slice(0, field.maxItems).map((item, index) => {
      return readField(walk, field.item, item ?? null, `${path}[${index}]`)
    }),
  )
}

function readPath(walk: Walk, field: PathField, value: unknown, path: string): string | null {
  if (value === undefined || (value === null && field.nullable === true)) {
    if (field.default === undefined) {
      report(walk, path, 'is required', 'write the whole path')
      return ''
    }
    if (field.default === null) return null
    if (typeof field.default !== 'string') return resolvePath(walk.stateDirectory, field.default.name)
    return field.default
  }
  if (typeof value !== 'string') {
    reportKind(walk, path, value, field.nullable === true ? 'a path or null' : 'a path', textHint(value))
    return ''
  }
  if (value === WORKSPACE_WORD && field.words?.includes(WORKSPACE_WORD)) return walk.workspaceRoot
  if (field.words?.includes(value)) return value
  if (value === WORKSPACE_WORD) report(walk, path, 'cannot follow the workspace', 'write the whole path')
  if (field.isPlace && value.includes(':') && !value.includes('/')) {
    const endpoint = parseEndpoint(value)
    if (endpoint === undefined || !isLoopback(endpoint.address))
      report(
        walk,
        path,
        'is no loopback address with a port',
        'write 127.0.0.1:9464 or [::1]:9464, or the path of a Unix socket',
      )
    return value
  }
  if (value.includes(ALL_WORD) && field.words?.includes(ALL_WORD)) {
    report(
      walk,
      path,
      'has * within a path, which would never match',
      'name a directory, which covers all beneath it',
    )
  }
  const fault = TEXT_FORMATS.path.check(value)
  if (fault !== undefined) report(walk, path, fault.problem, fault.hint)
  const absolute = resolvePath(walk.configDirectory, value)
  if (utf8Length(absolute) > PATH_BYTES) {
    report(walk, path, `is longer than ${PATH_BYTES} bytes`, 'choose a shorter path')
  }
  return absolute
}

function readText(walk: Walk, field: Field & { kind: 'text' }, value: unknown, path: string): string | null {
  if (value === undefined) {
    if (field.default !== undefined) return field.default
    const hint = TEXT_FORMATS[field.format].check('')?.hint ?? 'write it'
    report(walk, path, 'is required', hint)
    return ''
  }
  if (value === null && field.nullable === true) return null
  if (typeof value !== 'string') {
    reportKind(walk, path, value, 'text', textHint(value))
    return field.default ?? ''
  }
  if (utf8Length(value) > field.maxBytes) {
    const hint = TEXT_FORMATS[field.format].check(value.slice(0, PATH_BYTES))?.hint
    report(walk, path, `is longer than ${field.maxBytes} bytes`, hint ?? 'write a shorter one')
    return field.default ?? ''
  }
  const fault = TEXT_FORMATS[field.format].check(value)
  if (fault !== undefined) report(walk, path, fault.problem, fault.hint)
  return value
}

function readInteger(
  walk: Walk,
  field: Field & { kind: 'integer' },
  value: unknown,
  path: string,
): number | null {
  if (value === undefined) return field.default
  if (value === null && field.nullable === true) return null
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    const wanted = field.nullable === true ? 'a whole number or null' : 'a whole number'
    reportKind(walk, path, value, wanted, integerHint(value, field))
    return field.default
  }
  if (value >= field.min && value <= field.max) return value
  report(
    walk,
    path,
    `is ${value}, which is not between ${field.min} and ${field.max}`,
    integerHint(value, field),
  )
  return field.default
}

function readField(walk: Walk, field: Field, value: unknown, path: string): unknown {
  switch (field.kind) {
    case 'object':
      return readObject(walk, field, value, path)
    case 'map':
      return readMap(walk, field, value, path)
    case 'list':
      return readList(walk, field, value, path)
    case 'path':
      return readPath(walk, field, value, path)
    case 'text':
      return readText(walk, field, value, path)
    case 'integer':
      return readInteger(walk, field, value, path)
    case 'boolean':
      if (value !== undefined && typeof value !== 'boolean') {
        reportKind(walk, path, value, 'true or false', booleanHint(value, field.default))
      }
      return typeof value === 'boolean' ? value : field.default
    case 'choice': {
      if (value === undefined) return field.default
      if (typeof value === 'string' && field.choices.includes(value)) return value
      const choices = field.choices.map((choice) => `"${choice}"`).join(' or ')
      const meant = typeof value === 'string' ? nearest(value, field.choices) : undefined
      const hint = meant === undefined ? `write "${field.default}", the default` : `did you mean "${meant}"?`
      report(walk, path, `must be ${choices}`, hint)
      return field.default
    }
  }
}

/** A file with founding rules, with what these have in place of the usual defaults where it does not say. */
function withFoundingDefaults(value: Json): Json {
  const { security, agents } = value
  if (!isObject(security) || security['founding_rules'] !== true) return value
  const tiered = (agent: unknown) =>
    isObject(agent) ? { tier: tierUnsaid(true, agent['role']), ...agent } : agent
  return {
    ...value,
    security: { confirm_dangerous_actions: true, ...security },
    ...(Array.isArray(agents) ? { agents: agents.map(tiered) } : {}),
  }
}

/** The path that other paths follow, before the walk: the given text where it is one, else the default. */
function anchor(configDirectory: string, given: unknown, fallback: string): string {
  return typeof given === 'string' && given !== '' ? resolvePath(configDirectory, given) : fallback
}

/**
 * Reads a configuration that strict JSON already turned into a value.
 * @param value the parsed file; `{}` is the configuration of all defaults
 * @param context the absolute directory of the file, where relative paths start
 * @returns the frozen Config, or all problems (at most CONFIG_PROBLEMS) in the order of the field table, unknown keys first
 */
export function parseConfig(value: unknown, context: { readonly configDirectory: string }): ConfigResult {
  const given = isObject(value) ? value : {}
  const security = isObject(given['security']) ? given['security'] : {}
  const fields = CONFIG_FIELDS.fields
  const stateDirectory = anchor(
    context.configDirectory,
    given['state_directory'],
    fields.state_directory.default,
  )
  const workspaceDefault = resolvePath(stateDirectory, fields.security.fields.workspace_root.default.name)
  const walk: Walk = {
    configDirectory: context.configDirectory,
    stateDirectory,
    workspaceRoot: anchor(context.configDirectory, security['workspace_root'], workspaceDefault),
    problems: [],
  }
  if (!isObject(value)) {
    reportKind(walk, '', value, 'an object', 'write {} for a configuration of all defaults')
    return { ok: false, problems: walk.problems }
  }
  if (given['$schema'] !== undefined && typeof given['$schema'] !== 'string') {
    reportKind(walk, '$schema', given['$schema'], 'text', 'write "sass.edge.schema.json", or take it out')
  }
  // The walk follows the table that the type is computed from, so the two cannot differ.
  const config = readObject(walk, CONFIG_FIELDS, withFoundingDefaults(value), '') as Config
  const acl = isObject(given['acl']) ? given['acl'] : {}
  const faulty = new Set(walk.problems.map((problem) => problem.path))
  for (const conflict of findConflicts(config, acl['allow'] !== undefined)) {
    if (!faulty.has(conflict.path)) report(walk, conflict.path, conflict.problem, conflict.hint)
  }
  if (walk.problems.length > 0) return { ok: false, problems: walk.problems, draft: config }
  return { ok: true, config: withProfile(config) }
}
