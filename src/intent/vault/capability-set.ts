/**
 * A capability set of the vault: which actions a template may lead to, and which arguments each tool may be given.
 * What it does not list is not allowed; unlike the source, which resolves it and never asks it, plans are held to it.
 * Rules: SAOE context 2.2 (checks 8 and 9); docs/intent.md section 3.
 * @module
 */
import type { JsonObject } from '../canonical/python-json.ts'
import {
  type FieldCheck,
  itemsOf,
  listField,
  nameField,
  shapeField,
  textField,
  textOf,
  textsOf,
  versionField,
} from '../canonical/shape.ts'
import { LISTED_NAMES } from '../limits.ts'

export type AllowedAction = {
  readonly actionType: string
  readonly compilerId: string
  readonly allowedTemplates: readonly string[]
}
export type ToolPermission = { readonly tool: string; readonly allowedArgs: readonly string[] }

export type CapabilitySet = {
  readonly id: string
  readonly version: string
  readonly allowedActions: readonly AllowedAction[]
  readonly toolPermissions: readonly ToolPermission[]
}

/** The closed shape of its JSON; an absent list is an empty one. */
export const CAPABILITY_SET_SHAPE: FieldCheck = shapeField(
  { capability_set_id: nameField, version: versionField },
  {
    allowed_actions: listField(
      shapeField(
        { action_type: nameField, allowed_templates: listField(nameField, LISTED_NAMES) },
        { compiler_id: nameField },
      ),
      LISTED_NAMES,
    ),
    tool_permissions: listField(
      shapeField({ tool: nameField, allowed_args: listField(textField(128), LISTED_NAMES) }),
      LISTED_NAMES,
    ),
  },
)

/** The set of a value that its shape has checked. */
export function capabilitySetOf(value: JsonObject): CapabilitySet {
  return {
    id: textOf(value, 'capability_set_id'),
    version: textOf(value, 'version'),
    allowedActions: itemsOf(value, 'allowed_actions').map((item) => {
      const action = item as JsonObject
      return {
        actionType: textOf(action, 'action_type'),
        compilerId: textOf(action, 'compiler_id'),
        allowedTemplates: textsOf(action, 'allowed_templates'),
      }
    }),
    toolPermissions: itemsOf(value, 'tool_permissions').map((item) => {
      const permission = item as JsonObject
      return { tool: textOf(permission, 'tool'), allowedArgs: textsOf(permission, 'allowed_args') }
    }),
  }
}

/** Whether a template may lead to an action. */
export function allowsAction(set: CapabilitySet, templateId: string, actionType: string): boolean {
  return set.allowedActions.some(
    (action) => action.actionType === actionType && action.allowedTemplates.includes(templateId),
  )
}

/** The arguments that a tool may be given; undefined: the tool may not be called. */
export function allowedArguments(set: CapabilitySet, tool: string): readonly string[] | undefined {
  const permissions = set.toolPermissions.filter((permission) => permission.tool === tool)
  return permissions.length === 0 ? undefined : permissions.flatMap(({ allowedArgs }) => allowedArgs)
}
