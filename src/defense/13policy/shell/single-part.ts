/**
 * Substitutions of which the output is not known and yet can be no more than one name: `$(uname -r)`, `$(hostname)`,
 * `$(date +%F)`. Such a name holds no slash and begins with no dot, so in a path it stands for one part, as a `*` does.
 * And those that print settings for a shell: `$(ssh-agent -s)`.
 * Rules: POSIX.1-2024, uname and date; the manual pages of the others.
 * @module
 */
import type { State } from './state.ts'
import type { List, Word } from './syntax.ts'

/** Programs with the arguments that leave their output a single name; joined by spaces. */
const NAMING: readonly RegExp[] = Object.freeze([
  // `-a`, `-o` and `-v` also print slashes.
  /^uname(?: -[imnprs])?$/,
  /^hostname(?: (?:-[sf]|--short|--fqdn))?$/,
  /^whoami$/,
  /^id -(?:u|g|un|nu|gn|ng)$/,
  // Numbers.
  /^seq(?: -w)?(?: -?[0-9]+){1,3}$/,
  /^git rev-list --count [\w.^~-]+$/,
  /^stat (?:-c ?|--format=|--printf=)%[sYXZibh] [\w./-]+$/,
  /^wc -[lcmw]$/,
  /^pidof(?: -s)? [\w.-]+$/,
  /^pgrep(?: -[fxno]+)* [\w./-]+$/,
])

/** Of these the output is a single name too, and tells nobody anything of the machine. */
const TELLING_NOTHING: readonly RegExp[] = Object.freeze([
  /^nproc(?: --all)?$/,
  /^arch$/,
  // A format of one's own could spell any name, so letters stand only behind a percent sign. `%D` and `%x` print slashes.
  /^date(?: -u)? \+(?:%[YmdHMSjsFyeIkVuNaAbBT]|[-_:T0-9])+$/,
  /^dpkg --print-architecture$/,
  /^getconf (?:PAGESIZE|_NPROCESSORS_ONLN|LONG_BIT)$/,
  /^git rev-parse(?: --short(?:=[0-9]+)?)? HEAD$/,
])

function plainText(word: Word): string | undefined {
  const texts = word.map((part) => (part.kind === 'text' ? part.text : undefined))
  return texts.includes(undefined) ? undefined : texts.join('')
}

/** Programs that print the settings of a shell for it to evaluate, as their manuals tell people to. */
const SETTING: readonly RegExp[] = Object.freeze([
  /^ssh-agent(?: -[sc])?(?: -t [0-9]+[smhdw]?)?$/,
  /^opam (?:env|config env)(?: --(?:shell=\w+|switch=[\w.+-]+|set-switch|safe))*$/,
  /^(?:direnv|mise|zoxide|starship) (?:hook|export|activate|init|env) (?:bash|zsh|sh)$/,
  /^(?:pyenv|rbenv|nodenv|goenv|jenv|plenv) init (?:-|--path|- (?:bash|zsh|sh|--no-rehash))$/,
  /^pyenv virtualenv-init -$/,
  /^(?:\/[\w/.-]*\/bin\/)?brew shellenv(?: (?:bash|zsh))?$/,
  /^fnm env(?: --(?:use-on-cd|shell \w+|shell=\w+))*$/,
  /^dircolors(?: -b)?$/,
  /^luarocks path(?: --bin)?$/,
  /^(?:lesspipe|resize)$/,
  /^dbus-launch --(?:sh-syntax|auto-syntax)$/,
  /^minikube(?: -p [\w-]+)? docker-env$/,
  /^conda shell\.(?:bash|zsh|posix) (?:hook|activate(?: [\w.-]+)?)$/,
  /^register-python-argcomplete [\w-]+$/,
])

export function printsOnePart(body: List, state: State): boolean {
  return isCommand(body, state, NAMING) || printsNothingTold(body, state)
}

export function printsNothingTold(body: List, state: State): boolean {
  return isCommand(body, state, TELLING_NOTHING)
}

export function printsSettings(body: List, state: State): boolean {
  return isCommand(body, state, SETTING)
}

function isCommand(
  body: List,
  { functions, aliases, variables, isForgetful }: State,
  forms: readonly RegExp[],
): boolean {
  // With a path of its own, the text may call any other program.
  if (variables.has('PATH') || isForgetful) return false
  const [only] = body
  if (only === undefined || body.length > 1 || only.rest.length > 0 || only.isBackground) return false
  // What `wc` is given, it counts.
  const command = only.first.commands.at(-1)
  if (command === undefined || command.kind !== 'simple') return false
  const counts = command.words[0] !== undefined && plainText(command.words[0]) === 'wc'
  if (!counts && only.first.commands.length > 1) return false
  const isOwn = command.redirects.every(({ fd, kind }) => fd === 2 || (counts && fd === 0 && kind === 'read'))
  if (command.assignments.length > 0 || !isOwn) return false
  const words = command.words.map(plainText)
  const [program] = words
  // What is called so may be something else here.
  if (program === undefined || functions.has(program) || aliases.has(program) || words.includes(undefined))
    return false
  return forms.some((form) => form.test(words.join(' ')))
}
