/**
 * The manifest of a tool, `NAME.tool.json`: which file runs, proven by its SHA-256, which arguments it takes, which words
 * they become, what it prints, what it wants and how long it may run. A key that is not known, a permission that is not known, and a
 * schema with a keyword that is not known are refused.
 * Rules: OpenStarry 05, section 4; SAOE 2.4 and PG-009; docs/plans.md.
 * @module
 */
import { type Json, parseStrictJson } from '../../base/encoding/strict-json.ts'
import { isPermission, PERMISSION_NAMES, type Permission } from '../../base/permission-name.ts'
import { TIER_NAMES, type Tier } from '../../base/tool-name.ts'
import { isJsonObject } from '../canonical/python-json.ts'
import {
  type FieldProblem,
  fieldWhere,
  hexField,
  integerField,
  listField,
  nameField,
  objectOf,
  shapeField,
  textField,
  textOf,
  textsOf,
  versionField,
} from '../canonical/shape.ts'
import { compileSchema } from '../schema/schema.ts'
import { type ArgvTemplate, readTemplate } from './argv.ts'
import {
  TOOL_ARGV_WORDS,
  TOOL_OUTPUT_BYTES,
  TOOL_TIMEOUT_MAX_SECONDS,
  TOOL_TIMEOUT_SECONDS,
  TOOL_WORD_CHARS,
} from './limits.ts'
import { missingPermissions } from './permissions.ts'

export type ToolManifest = {
  readonly name: string
  readonly version: string
  /** Absolute path of the file, without links in it. */
  readonly executable: string
  /** SHA-256 of that file, lower-case hex. */
  readonly sha256: string
  /** The first thing that is wrong with arguments; undefined: they are what the schema says. */
  readonly check: (args: Json) => FieldProblem | undefined
  /** The names of its arguments. */
  readonly args: readonly string[]
  readonly argv: ArgvTemplate
  /** What is wrong with all that it has printed; undefined: it is what the manifest says, if that says anything. */
  readonly checkResult: ((stdout: Uint8Array) => string | undefined) | undefined
  readonly permissions: readonly Permission[]
  /** Whoever runs it must have this tier's tools. */
  readonly tier: Tier
  readonly timeoutSeconds: number
  readonly outputBytes: number
}

export type ManifestResult =
  | { readonly ok: true; readonly manifest: ToolManifest }
  | { readonly ok: false; readonly problem: string }

const PATH = /^(?:\/(?!\.{0,2}(?:\/|$))[^/\0\n]+)+$/
const isText = (value: Json): value is string => typeof value === 'string'

const SHAPE = shapeField(
  {
    name: nameField,
    version: versionField,
    executable: fieldWhere(
      (value) => isText(value) && value.length <= TOOL_WORD_CHARS && PATH.test(value),
      'must be an absolute path without "." and ".." in it',
    ),
    sha256: hexField(32),
    args_schema: fieldWhere(
      (value) => isJsonObject(value) && value['type'] === 'object' && value['additionalProperties'] === false,
      'must be of type object, with additionalProperties false',
    ),
    argv: (value) => (Array.isArray(value) ? undefined : { field: '', problem: 'must be a list' }),
    permissions: listField(
      fieldWhere(
        (value) => isText(value) && isPermission(value),
        `is no permission: those are ${PERMISSION_NAMES.join(', ')}`,
      ),
      TOOL_ARGV_WORDS,
    ),
    tier: fieldWhere(
      (value) => TIER_NAMES.includes(value as Tier),
      `must be one of ${TIER_NAMES.join(', ')}`,
    ),
  },
  {
    description: textField(TOOL_WORD_CHARS),
    result_schema: fieldWhere(isJsonObject, 'must be an object'),
    limits: shapeField(
      {},
      {
        timeout_seconds: integerField(1, TOOL_TIMEOUT_MAX_SECONDS),
        output_bytes: integerField(1, Number.MAX_SAFE_INTEGER),
      },
    ),
  },
)

const say = ({ field, problem }: FieldProblem): string =>
  field === '' ? `it ${problem}` : `${field} ${problem}`
const orElse = (value: Json | undefined, absent: number): number =>
  typeof value === 'number' ? value : absent

const beneath = (key: string, { field, problem }: FieldProblem): FieldProblem => ({
  field: `${key}.${field}`.replace(/\.$/, ''),
  problem,
})

function wrongResult(stdout: Uint8Array, check: ToolManifest['check']): string | undefined {
  const json = parseStrictJson(stdout, { size: stdout.length })
  if (!json.ok) return `it is no such JSON: ${json.problem}`
  const wrong = check(json.value)
  return wrong === undefined ? undefined : say(wrong)
}

/** Reads a manifest that strict JSON has turned into a value. */
export function readManifest(value: Json): ManifestResult {
  const wrong = SHAPE(value)
  if (wrong !== undefined || !isJsonObject(value))
    return { ok: false, problem: say(wrong ?? { field: '', problem: 'must be an object' }) }
  const schema = objectOf(value, 'args_schema')
  const compiled = compileSchema(schema)
  if (!compiled.ok) return { ok: false, problem: say(beneath('args_schema', compiled)) }
  // An empty schema takes anything, but it has to be JSON: without one nothing is looked at.
  const result = value['result_schema'] === undefined ? undefined : objectOf(value, 'result_schema')
  const ofResult = result === undefined ? undefined : compileSchema(result)
  if (ofResult?.ok === false) return { ok: false, problem: say(beneath('result_schema', ofResult)) }
  const args = Object.keys(objectOf(schema, 'properties'))
  const template = readTemplate(value['argv'], args)
  if (!template.ok) return template
  const limits = objectOf(value, 'limits')
  return {
    ok: true,
    manifest: {
      name: textOf(value, 'name'),
      version: textOf(value, 'version'),
      executable: textOf(value, 'executable'),
      sha256: textOf(value, 'sha256'),
      check: compiled.check,
      args,
      argv: template.template,
      checkResult: ofResult && ((stdout) => wrongResult(stdout, ofResult.check)),
      permissions: textsOf(value, 'permissions').filter(isPermission),
      tier: textOf(value, 'tier') as Tier,
      timeoutSeconds: orElse(limits['timeout_seconds'], TOOL_TIMEOUT_SECONDS),
      outputBytes: orElse(limits['output_bytes'], TOOL_OUTPUT_BYTES),
    },
  }
}

/** Why a tool that could be read is not loaded; undefined: all that it wants is granted. */
export function ungranted(
  { name, permissions }: ToolManifest,
  granted: readonly string[],
): string | undefined {
  const missing = missingPermissions(permissions, granted)
  return missing.length === 0
    ? undefined
    : `it wants ${missing.join(' and ')}, and intent.grants.${name} does not give that`
}
