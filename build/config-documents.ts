/**
 * The files that follow from the field table of the configuration: the schema, the file as shipped and its reference.
 * Pure: the texts only; config-schema.node.ts writes them.
 * @module
 */
import { formatJson } from '../src/base/encoding/json-text.ts'
import type { Field, ObjectField } from '../src/config/field-kinds.ts'
import { CONFIG_FIELDS, SYSTEM_CONFIG_DIRECTORY } from '../src/config/fields.ts'
import { configSchema } from '../src/config/schema.ts'

const STATE_DIRECTORY = CONFIG_FIELDS.fields.state_directory.default

/** The text of sass.edge.schema.json. */
export function renderSchema(): string {
  return `${formatJson(configSchema())}\n`
}

function shippedObject(field: ObjectField): Record<string, unknown> {
  return Object.fromEntries(Object.entries(field.fields).map(([key, inner]) => [key, shippedValue(inner)]))
}

/** The default of a field in the form of the file, with every key below it. */
function shippedValue(field: Field): unknown {
  if (field.kind === 'object') return shippedObject(field)
  if (field.kind === 'map') {
    const plain = shippedObject(field.value)
    return Object.fromEntries(
      Object.entries(field.default).map(([key, own]) => [key, { ...plain, ...(own as object) }]),
    )
  }
  if (field.kind === 'path' && typeof field.default === 'object' && field.default !== null) {
    return `${STATE_DIRECTORY}/${field.default.name}`
  }
  return field.default
}

/** The text of sass.edge.json: every key with its default. */
export function renderShipped(): string {
  return `${formatJson({ $schema: './sass.edge.schema.json', ...shippedObject(CONFIG_FIELDS) })}\n`
}

function code(value: unknown): string {
  return `\`${JSON.stringify(value)}\``
}

/** The default of a field in words; values in backticks. */
export function defaultText(field: Field): string {
  switch (field.kind) {
    case 'object':
      return ''
    case 'map':
      return '`default` as in the file that ships'
    case 'path':
      if (field.default === undefined) return 'required'
      return typeof field.default === 'object' && field.default !== null
        ? `\`${field.default.name}\` in state_directory`
        : code(field.default)
    case 'text':
      return field.default === undefined ? 'required' : code(field.default)
    default:
      return code(field.default)
  }
}

/** What a field may hold in words; values in backticks. */
export function rangeText(field: Field): string {
  switch (field.kind) {
    case 'integer': {
      const range =
        field.max === Number.MAX_SAFE_INTEGER ? `from ${field.min}` : `${field.min} to ${field.max}`
      return field.nullable === true ? `${range}, or null` : range
    }
    case 'choice':
      return field.choices.map(code).join(' or ')
    case 'boolean':
      return 'true or false'
    case 'path':
      return field.nullable === true ? 'path or null' : 'path'
    case 'list':
      return field.nullable === true ? 'list or null' : 'list'
    case 'text':
      return field.nullable === true ? 'text or null' : 'text'
    default:
      return field.kind
  }
}

/** The rows of every leaf below `field`, as `path | kind | default | meaning`. */
function rows(field: ObjectField, prefix: string): string[] {
  return Object.entries(field.fields).flatMap(([key, inner]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`
    if (inner.kind === 'object') return rows(inner, path)
    const row = `| \`${path}\` | ${rangeText(inner)} | ${defaultText(inner)} | ${inner.doc} |`
    if (inner.kind === 'map') return [row, ...rows(inner.value, `${path}.NAME`)]
    if (inner.kind === 'list' && inner.item.kind === 'object') return [row, ...rows(inner.item, `${path}[]`)]
    return [row]
  })
}

/** Every list below `field` with what its absence, emptiness and fullness mean. */
function listRows(field: ObjectField, prefix: string): string[] {
  return Object.entries(field.fields).flatMap(([key, inner]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`
    if (inner.kind === 'object') return listRows(inner, path)
    if (inner.kind === 'map') return listRows(inner.value, `${path}.NAME`)
    if (inner.kind !== 'list') return []
    const row = `| \`${path}\` | ${inner.item.doc} | ${inner.absent} | ${inner.empty} | ${inner.full} |`
    return inner.item.kind === 'object' ? [row, ...listRows(inner.item, `${path}[]`)] : [row]
  })
}

/** The text of docs/configuration.md. */
export function renderReference(): string {
  const sections = Object.entries(CONFIG_FIELDS.fields).map(([key, field]: [string, Field]) => {
    const body = rows({ kind: 'object', doc: '', fields: { [key]: field } }, '').join('\n')
    return `## ${key}\n\n${field.doc}\n\n| key | values | default | meaning |\n|---|---|---|---|\n${body}\n`
  })
  return `# Configuration

\`sass.edge.json\` is strict JSON, at most 1 MiB: no comments, no key twice. The file that ships lists every key with
its default; a file may leave out all that it does not change. An unknown key, a wrong type, a value out of range and a
combination that cannot work are errors: \`sass-edge check\` lists all of them at once, each with its path and what to
write instead. This page and \`sass.edge.schema.json\` are made by \`node build/config-schema.node.ts\` from the table that
the parser itself uses.

- Found where \`--config FILE\` says; else the nearest \`.sass-edge/sass.edge.json\` of the working directory and its parents;
  else \`$XDG_CONFIG_HOME/sass-edge/sass.edge.json\` (\`~/.config\` without the variable); else
  \`${SYSTEM_CONFIG_DIRECTORY}/sass.edge.json\`.
- A relative path starts at the directory of the file, whatever the working directory is. \`~\` and variables are not expanded;
  the one exception is \`$WORKSPACE\` in the paths of a capability set.
- Keys that are absent have the default of the table. \`$schema\` may name the schema for an editor and does nothing else.
- Key files hold 32 raw bytes: \`NAME.key\` (private, mode 0600, anything else is refused) and \`NAME.pub\`.
- Combinations that are refused: two agents of one name or one key, an agent whose capability set does not exist, a
  delegated_by that names nobody, leads back or over more than one step, or gives more than who delegates has, a
  program pinned twice, a listen.address beyond loopback without acl.allow, an admin_socket over 107 bytes, one file as
  certificate and key, penalties.max_seconds below min_seconds, tarpit.total_bytes below chunk_bytes, and rings that
  together need more than 1 GiB.
- \`sass-edge check\` also finds, with the line and column of the key and what to write or run, what the daemon would start
  with and not do: everything allowed that is denied as well; an \`acl.allow\` of which nobody can reach
  \`listen.address\`; a tool that the tier does not give; a \`*\` where there is no wildcard; a limit above the one that
  ends a command before it (two that are both written fail, one that meets a default is a warning); one file or directory
  for two keys; the state among the work or the work among the state; branch roots within each other; lists of what
  commands see that show the whole device, homes, every secret, or sockets of whoever does all that is asked, and entries
  of them that mean nothing or are not there; paths that are
  relative or have a \`..\` where they decide; memory, descriptors, users and devices that are not there. And the files:
  a configuration or rules that others can write, keys with another mode, owner, length or content than theirs,
  certificates that have ended, have not begun, are weak, of another key or no CA, and a private key where a public one
  belongs. Nothing of that is judged by the daemon itself, which does the stricter thing.

## Lists: absent, empty, full

Denied is looked at before allowed, and what nothing allows is denied.

| list | an entry is | absent | empty | full |
|---|---|---|---|---|
${listRows(CONFIG_FIELDS, '').join('\n')}

${sections.join('\n')}`
}
