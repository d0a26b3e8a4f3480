/**
 * A template of the vault: the JSON Schema of a payload, who may send it to whom, how large it may be, and the
 * capability set that it comes with. A list or a limit that is missing allows nobody and nothing.
 * Rules: SAOE context 2.2 (checks 5, 10 and 11); docs/intent.md section 3.
 * @module
 */
import { ENVELOPE_FILE_BYTES } from '../../config/intent-limits.ts'
import type { JsonObject } from '../canonical/python-json.ts'
import {
  type FieldCheck,
  integerField,
  listField,
  nameField,
  objectField,
  objectOf,
  shapeField,
  textField,
  textOf,
  textsOf,
  versionField,
} from '../canonical/shape.ts'
import { HUMAN_READABLE_CHARS, LISTED_NAMES } from '../limits.ts'
import { type CompiledSchema, compileSchema } from '../schema/schema.ts'

export type Template = {
  readonly id: string
  readonly version: string
  readonly schemaPurpose: string
  readonly schema: CompiledSchema
  /** 0: nothing may be sent. */
  readonly maxPayloadBytes: number
  readonly allowedSenders: readonly string[]
  readonly allowedReceivers: readonly string[]
  readonly capabilitySetId: string
  readonly capabilitySetVersion: string
}

/** The closed shape of its JSON; the schema in it is looked at by `compileSchema`. */
export const TEMPLATE_SHAPE: FieldCheck = shapeField(
  {
    template_id: nameField,
    version: versionField,
    json_schema: objectField,
    capability_set_id: nameField,
    capability_set_version: versionField,
  },
  {
    schema_purpose: textField(HUMAN_READABLE_CHARS),
    policy_metadata: shapeField(
      {},
      {
        max_payload_bytes: integerField(0, ENVELOPE_FILE_BYTES),
        allowed_senders: listField(nameField, LISTED_NAMES),
        allowed_receivers: listField(nameField, LISTED_NAMES),
      },
    ),
  },
)

/** The template of a value that its shape has checked. */
export function templateOf(value: JsonObject): Template {
  const policy = objectOf(value, 'policy_metadata')
  const limit = policy['max_payload_bytes']
  return {
    id: textOf(value, 'template_id'),
    version: textOf(value, 'version'),
    schemaPurpose: textOf(value, 'schema_purpose'),
    schema: compileSchema(objectOf(value, 'json_schema')),
    maxPayloadBytes: typeof limit === 'number' ? limit : 0,
    allowedSenders: textsOf(policy, 'allowed_senders'),
    allowedReceivers: textsOf(policy, 'allowed_receivers'),
    capabilitySetId: textOf(value, 'capability_set_id'),
    capabilitySetVersion: textOf(value, 'capability_set_version'),
  }
}
