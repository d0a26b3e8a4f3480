/**
 * The manual as mdoc(7): sass-edge(1) from the tables of the commands, sass-edge.json(5) from the field table of the
 * configuration. Pure: the texts only; manual.node.ts writes them.
 * @module
 */

import type { OptionSpec } from '../src/cli/words/arguments.ts'
import { COMMON_OPTIONS, optionSpecs } from '../src/cli/words/arguments.ts'
import type { NamedCommand } from '../src/cli/words/command.ts'
import { EXIT } from '../src/cli/words/exit-codes.ts'
import type { Field, ListField, ObjectField } from '../src/config/field-kinds.ts'
import { CONFIG_FIELDS, SYSTEM_CONFIG_DIRECTORY } from '../src/config/fields.ts'
import { defaultText, rangeText } from './config-documents.ts'

/** The day of the last change to what is written here by hand: a page says the same on whichever day it is made. */
const DATE = 'November 20, 2026'
/** An option that so many commands have is described once for all of them. */
const SHARED_BY = 4

/** Text that mdoc takes as it is: no escapes, dashes as they are typed. */
function plain(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll('-', '\\-')
}

/** A sentence a line, as mdoc wants it; what stands in backticks is bold. */
function prose(text: string): string {
  return plain(text)
    .replace(/`([^`]*)`/g, '\\fB$1\\fP')
    .split(/(?<=[.?!:]) +(?=[A-Z])/)
    .map((line) => (/^[.']/.test(line) ? `\\&${line}` : line))
    .join('\n')
}

/** An argument of a macro: in quotes, so that no word of it is taken for a macro. */
function word(text: string): string {
  return `"${plain(text).replaceAll('"', '\\(dq')}"`
}

function literal(lines: readonly string[]): string {
  const body = lines.map((line) => (/^[.']/.test(line) ? `\\&${plain(line)}` : plain(line)))
  return ['.Bd -literal -offset indent', ...body, '.Ed'].join('\n')
}

function list(rows: readonly (readonly [head: string, text: string])[]): string {
  return ['.Bl -tag -width Ds', ...rows.flatMap(([head, text]) => [`.It ${head}`, prose(text)]), '.El'].join(
    '\n',
  )
}

function optionRow(spec: OptionSpec): readonly [string, string] {
  const short = spec.short === undefined ? '' : `Fl ${spec.short} , `
  const value = spec.value === undefined ? '' : ` Ar ${word(spec.value)}`
  const repeat = spec.repeat === true ? ' (may be repeated)' : ''
  return [`${short}Fl Fl ${spec.name}${value}`, `${spec.description}${repeat}`]
}

const sameOption = (spec: OptionSpec) => JSON.stringify([spec.name, spec.value, spec.description])

/** The options that many commands have, in the order in which they come first. */
function sharedOptions(commands: readonly NamedCommand[]): readonly OptionSpec[] {
  const all = commands.flatMap(({ options }) => optionSpecs(options))
  const count = (spec: OptionSpec) => all.filter((other) => sameOption(other) === sameOption(spec)).length
  return all.filter(
    (spec, index) =>
      count(spec) >= SHARED_BY && all.findIndex((other) => sameOption(other) === sameOption(spec)) === index,
  )
}

function commandSection(command: NamedCommand, shared: ReadonlySet<string>): string {
  const own = optionSpecs(command.options).filter((spec) => !shared.has(sameOption(spec)))
  const others = optionSpecs(command.options).filter((spec) => shared.has(sameOption(spec)))
  return [
    `.Ss ${word(command.name)}`,
    prose(`${command.summary.charAt(0).toUpperCase()}${command.summary.slice(1)}.`),
    literal(command.usage.map((form) => `sass-edge ${form}`)),
    ...(own.length > 0 ? [list(own.map(optionRow))] : []),
    ...(others.length > 0
      ? [
          '.Pp',
          `Also ${others.map(({ name }) => `\\fB\\-\\-${plain(name)}\\fP`).join(', ')}; see`,
          '.Sx OPTIONS .',
        ]
      : []),
    '.Pp',
    'Examples:',
    list(Object.entries(command.examples).map(([line, does]) => [`Li ${word(line)}`, does])),
  ].join('\n')
}

const EXITS: Readonly<Record<keyof typeof EXIT, string>> = {
  OK: 'done; of a command on the device, its own exit code passes through, and 128 + N where signal N ended it',
  TIMED_OUT: 'the time given ran out; the text says whether the job still runs',
  LOCAL: 'usage, configuration or this machine: nothing was sent',
  NOT_EXECUTABLE: 'the command cannot be executed on the device',
  NOT_FOUND: 'the command is not found on the device',
  OUTCOME_UNKNOWN: 'started, outcome unknown: do not repeat it',
  NOT_STARTED: 'not started, proven: transport, authentication or refusal; it may be repeated',
}

const ENVIRONMENT = [
  ['HOME', 'where `.config` of the user is'],
  ['XDG_CONFIG_HOME', 'in place of `~/.config`'],
  ['XDG_RUNTIME_DIR', 'where the admin socket is, where the path of the state directory is too long for one'],
  ['NO_COLOR', 'with any value but the empty one: no colours; so does `TERM=dumb`'],
  ['SASS_EDGE_TRACE', 'with any value but the empty one: an unexpected error is told with its stack'],
  ['NOTIFY_SOCKET', 'set by systemd, which is told when the daemon is ready and that it lives'],
] as const

const FILES = [
  ['.sass-edge/sass.edge.json', 'the configuration, in the working directory or the nearest directory above'],
  ['~/.config/sass-edge/sass.edge.json', 'else that of the user'],
  [`${SYSTEM_CONFIG_DIRECTORY}/sass.edge.json`, 'else that of the device'],
  ['~/.config/sass-edge/hosts.json', 'names for devices: `{"NAME": "[AGENT@]HOST[:PORT]"}`'],
  ['~/.config/sass-edge/NAME.key', 'the private key of agent NAME, 32 raw bytes, mode 0600'],
  [`${CONFIG_FIELDS.fields.state_directory.default}`, 'state and record of the daemon'],
] as const

/** The text of sass-edge.1. */
export function renderProgramManual(commands: readonly NamedCommand[]): string {
  const shared = sharedOptions(commands)
  const known = new Set(shared.map(sameOption))
  return `.\\" Made by node build/manual.node.ts from the tables of the commands.
.Dd ${DATE}
.Dt SASS-EDGE 1
.Os
.Sh NAME
.Nm sass-edge
.Nd run commands on edge devices under policy, with proof
.Sh SYNOPSIS
.Nm
.Ar COMMAND
.Op Ar OPTIONS
.Nm
.Fl Fl config Ar FILE
.Sh DESCRIPTION
.Nm
is a daemon for edge devices, its client and its tools.
Every request is decided by policy, recorded before it is done, and answered.
Without a command,
.Fl Fl config Ar FILE
is the same as
.Cm run
.Fl Fl config Ar FILE .
A device is named
.Oo Ar AGENT Ns @ Oc Ns Ar HOST Ns Op : Ns Ar PORT
or by its name in
.Pa hosts.json ;
without one it is the daemon of the nearest
.Pa .sass-edge .
.Sh OPTIONS
Of every command:
${list(COMMON_OPTIONS.map(optionRow))}
.Pp
Of several; each command says which:
${list(shared.map(optionRow))}
.Sh COMMANDS
${commands.map((command) => commandSection(command, known)).join('\n')}
.Sh ENVIRONMENT
${list(ENVIRONMENT.map(([name, text]) => [`Ev ${name}`, text]))}
.Sh FILES
${list(FILES.map(([path, text]) => [`Pa ${word(path)}`, text]))}
.Sh EXIT STATUS
${list(Object.entries(EXIT).map(([name, code]) => [String(code), EXITS[name as keyof typeof EXIT]]))}
.Sh SEE ALSO
.Xr sass-edge.json 5
`
}

function listMeaning(field: ListField): string {
  return ` An entry is: ${field.item.doc.replace(/\.$/, '')}. Absent: ${field.absent}. Empty: ${field.empty}. Full: ${field.full}.`
}

/** The keys of every leaf below \`field\`, with its values, its default and its meaning. */
function fieldRows(field: ObjectField, prefix: string): (readonly [string, string])[] {
  return Object.entries(field.fields).flatMap(([key, inner]: [string, Field]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`
    if (inner.kind === 'object') return fieldRows(inner, path)
    const meaning = inner.kind === 'list' ? listMeaning(inner) : ''
    const fallback = defaultText(inner)
    const facts = `(${rangeText(inner)}${fallback === 'required' ? ', required' : `; default ${fallback}`})`
    const row = [`Cm ${word(path)}`, `${facts} ${inner.doc}${meaning}`] as const
    if (inner.kind === 'map') return [row, ...fieldRows(inner.value, `${path}.NAME`)]
    if (inner.kind === 'list' && inner.item.kind === 'object')
      return [row, ...fieldRows(inner.item, `${path}[]`)]
    return [row]
  })
}

/** The text of sass-edge.json.5. */
export function renderConfigManual(): string {
  const sections = Object.entries(CONFIG_FIELDS.fields).map(([key, field]: [string, Field]) => {
    const rows = fieldRows({ kind: 'object', doc: '', fields: { [key]: field } }, '')
    const intro = field.kind === 'object' ? [prose(field.doc)] : []
    return [`.Ss ${word(key)}`, ...intro, list(rows)].join('\n')
  })
  return `.\\" Made by node build/manual.node.ts from the field table of the configuration.
.Dd ${DATE}
.Dt SASS-EDGE.JSON 5
.Os
.Sh NAME
.Nm sass-edge.json
.Nd the configuration of sass-edge
.Sh DESCRIPTION
The file is called
.Pa sass.edge.json
and is strict JSON, at most 1 MiB: no comments, no key twice.
A file may leave out all that it does not change.
An unknown key, a wrong type, a value out of range and a combination that cannot work are errors, which
.Ql sass-edge check
lists all at once.
.Pp
A relative path starts at the directory of the file.
.Ql ~
and variables are not expanded, except
.Ql $WORKSPACE
in the paths of a capability set.
.Sh FIELDS
${sections.join('\n')}
.Sh FILES
The first of these that is there:
${list([...FILES.slice(0, 3)].map(([path, text]) => [`Pa ${word(path)}`, text]))}
.Sh SEE ALSO
.Xr sass-edge 1
`
}
