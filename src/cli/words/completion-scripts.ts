/**
 * The completion scripts of bash, zsh and fish, as texts made from the words of the commands. Each asks the program
 * that is being typed for the names of devices, and offers nothing of ours behind `--`.
 * @module
 */
import type { CommandWords, Offer, OptionWords } from './completion-words.ts'

export type ShellName = 'bash' | 'zsh' | 'fish'

const HEAD = (shell: ShellName) => `# Made by: sass-edge completion ${shell}`

/** In single quotes; the texts are our own, and a quote in one of them must not end the script. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** What bash is to offer, as words; those with an at sign are kinds. */
function offerText(offer: Offer): string {
  return typeof offer === 'string' ? `@${offer}` : offer.join('|')
}

/** `--key=@files --branch=new|latest `: every option with a value, and what is offered for it. */
function bashValues(options: readonly OptionWords[]): string {
  return options
    .flatMap(({ names, value }) =>
      value === undefined ? [] : names.map((name) => `${name}=${offerText(value.offer)}`),
    )
    .join(' ')
}

function bashCommand(command: CommandWords): string {
  const options = command.options.map(({ names }) => names.at(-1)).join(' ')
  const places = [...(command.remotePath ? ['@remote'] : []), ...(command.files ? ['@files'] : [])]
  const first = [
    ...command.subwords,
    ...(command.target ? ['@targets'] : []),
    ...(command.subwords.length > 0 ? [] : places),
  ]
  return `    ${command.name})
      options=${quoted(options)}
      values=${quoted(` ${bashValues(command.options)} `)}
      first=${quoted(first.join('|'))} places=${quoted(places.join('|'))} ;;`
}

function bashScript(commands: readonly CommandWords[]): string {
  return `${HEAD('bash')}
_sass_edge_table() {
  case $1 in
    '')
      options='--config --help --version'
      values=' --config=@files '
      first=${quoted(commands.map(({ name }) => name).join('|'))} places= ;;
${commands.map(bashCommand).join('\n')}
    *) options= values= first= places= ;;
  esac
}
_sass_edge_offer() {
  local word words
  IFS='|' read -ra words <<<"$1"
  for word in "\${words[@]}"; do
    case $word in
      @free) ;;
      @files) compopt -o default 2>/dev/null ;;
      @directories) compopt -o dirnames 2>/dev/null ;;
      @targets) COMPREPLY+=($(compgen -P "$at" -W "$("$program" completion targets 2>/dev/null)" -- "$cur")) ;;
      @remote)
        COMPREPLY+=($(compgen -P "$at" -S : -W "$("$program" completion targets 2>/dev/null)" -- "$cur"))
        compopt -o nospace 2>/dev/null ;;
      *) COMPREPLY+=($(compgen -W "$word" -- "$cur")) ;;
    esac
  done
}
_sass_edge() {
  # Bash hands over --name=VALUE, HOST:PORT and AGENT@HOST in three words, and puts what is offered over the @ too.
  local program=\${COMP_WORDS[0]} cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  local options values first places command='' count=0 at='' word i
  [[ $cur == [=:@] ]] && prev=$cur cur=
  [[ $prev == : ]] && return
  [[ $prev == @ ]] && at=@
  if [[ $prev == = ]]; then
    prev=\${COMP_WORDS[COMP_CWORD-2]}
    [[ \${COMP_WORDS[COMP_CWORD]} == = ]] && prev=\${COMP_WORDS[COMP_CWORD-1]}
  fi
  COMPREPLY=()
  _sass_edge_table ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case $word in
      --) compopt -o default 2>/dev/null; return ;;
      # What follows belongs to the word before.
      [:@]) ((count--)) ;;
      -*)
        if [[ $values == *" $word="* ]]; then
          ((i++))
          [[ \${COMP_WORDS[i]} == = ]] && ((i++))
        fi ;;
      *)
        if [[ -z $command ]]; then command=$word; _sass_edge_table "$word"; else ((count++)); fi ;;
    esac
  done
  if [[ $values == *" $prev="* ]]; then
    values=\${values#*" $prev="}
    _sass_edge_offer "\${values%% *}"
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif ((count == 0)); then
    _sass_edge_offer "$first"
  else
    _sass_edge_offer "$places"
  fi
}
complete -F _sass_edge sass-edge`
}

/** Text inside a specification of _arguments, where brackets and colons have a meaning. */
function zshText(text: string): string {
  return text.replace(/[[\]:\\]/g, '\\$&')
}

function zshAction(offer: Offer): string {
  if (typeof offer !== 'string') return `(${offer.join(' ')})`
  return { files: '_files', directories: '_files -/', targets: '_sass_edge_targets', free: '' }[offer]
}

function zshOption(option: OptionWords): string {
  const { names, value, repeat } = option
  const action = value === undefined ? '' : `:${zshText(value.name)}:${zshAction(value.offer)}`
  const tail = `[${zshText(option.description)}]${action}`
  return names
    .map((name) => {
      const apart = repeat ? '*' : names.length > 1 ? `(${names.join(' ')})` : ''
      const joint = value === undefined ? '' : name.startsWith('--') ? '=' : '+'
      return quoted(`${apart}${name}${joint}${tail}`)
    })
    .join(' ')
}

function zshCommand(command: CommandWords): string {
  const first = [
    ...(command.subwords.length > 0 ? [`compadd -- ${command.subwords.join(' ')}`] : []),
    ...(command.target ? ['_sass_edge_targets'] : []),
  ]
  const rest = [
    ...(command.remotePath ? ['_sass_edge_targets -S :'] : []),
    ...(command.files ? ['_files'] : []),
  ]
  return `    ${command.name})
      first=(${[...first, ...(command.subwords.length > 0 ? [] : rest)].map(quoted).join(' ')})
      rest=(${rest.map(quoted).join(' ')})
      _arguments -s -S : ${command.options.map(zshOption).join(' \\\n        ')} \\
        '1:argument:_sass_edge_first' '*:argument:_sass_edge_rest' ;;`
}

function zshScript(commands: readonly CommandWords[]): string {
  return `#compdef sass-edge
${HEAD('zsh')}
_sass_edge_targets() {
  local -a names
  names=(\${(f)"$($program completion targets 2>/dev/null)"})
  compadd "$@" -a names
}
_sass_edge_each() {
  local offer
  # Behind -- stands what the device is to run.
  if (( \${words[(i)--]} < CURRENT )); then _files; return; fi
  for offer in "$@"; do \${(z)offer}; done
}
_sass_edge_first() { _sass_edge_each "\${first[@]}" }
_sass_edge_rest() { _sass_edge_each "\${rest[@]}" }
_sass_edge() {
  local curcontext=$curcontext state program=\${(Q)words[1]}
  local -a line commands first rest
  commands=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`).join('\n')}
  )
  _arguments -C -S : '--config=[the configuration to use]:FILE:_files' '--help[this help]' '--version[show the version]' \\
    '1:command:->command' '*::argument:->arguments'
  case $state in
    command) _describe -t commands command commands; return ;;
    arguments) ;;
    *) return ;;
  esac
  case $line[1] in
${commands.map(zshCommand).join('\n')}
  esac
}
if [[ $funcstack[1] == _sass_edge ]]; then _sass_edge "$@"; else compdef _sass_edge sass-edge; fi`
}

function fishOffer(offer: Offer): string {
  if (typeof offer !== 'string') return `-x -a ${quoted(offer.join(' '))}`
  return {
    files: '-r -F',
    directories: `-x -a '(__fish_complete_directories)'`,
    targets: `-x -a '(__sass_edge_targets)'`,
    free: '-x',
  }[offer]
}

function fishOption(command: string, option: OptionWords): string {
  const names = option.names.map((name) =>
    name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
  )
  const value = option.value === undefined ? '' : ` ${fishOffer(option.value.offer)}`
  return `complete -c sass-edge -n '__sass_edge_in ${command}' ${names.join(' ')}${value} -d ${quoted(option.description)}`
}

function fishCommand({ name, summary, options, subwords, ...places }: CommandWords): string {
  const line = (condition: string, offer: string) =>
    `complete -c sass-edge -n '${condition} ${name}' ${offer}`
  return [
    `complete -c sass-edge -n __sass_edge_bare -a ${name} -d ${quoted(summary)}`,
    ...(subwords.length > 0 ? [line('__sass_edge_behind', `-a ${quoted(subwords.join(' '))}`)] : []),
    ...(places.target ? [line('__sass_edge_in', `-a '(__sass_edge_targets)'`)] : []),
    ...(places.remotePath ? [line('__sass_edge_in', `-a '(__sass_edge_targets):'`)] : []),
    ...(places.files ? [line(subwords.length > 0 ? '__sass_edge_beyond' : '__sass_edge_in', '-F')] : []),
    ...options.map((option) => fishOption(name, option)),
  ].join('\n')
}

function fishScript(commands: readonly CommandWords[]): string {
  return `${HEAD('fish')}
function __sass_edge_targets
    set -l program (commandline -opc)[1]
    $program completion targets 2>/dev/null
end
# The command of the line; nothing behind --, where stands what the device is to run.
function __sass_edge_command
    set -l words (commandline -opc)
    contains -- -- $words; and return 1
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case --config
                set -e words[1]
            case '-*'
            case '*'
                echo $words[1]
                return 0
        end
        set -e words[1]
    end
    return 0
end
function __sass_edge_bare
    set -l command (__sass_edge_command); and test -z "$command"
end
function __sass_edge_in
    test "$(__sass_edge_command)" = $argv[1]
end
function __sass_edge_behind
    __sass_edge_in $argv[1]; and test (commandline -opc)[-1] = $argv[1]
end
function __sass_edge_beyond
    __sass_edge_in $argv[1]; and test (commandline -opc)[-1] != $argv[1]
end
complete -c sass-edge -e
complete -c sass-edge -n 'not contains -- -- (commandline -opc)' -f
complete -c sass-edge -n __sass_edge_bare -l config -r -F -d 'the configuration to use'
complete -c sass-edge -n __sass_edge_bare -l help -s h -d 'this help'
complete -c sass-edge -n __sass_edge_bare -l version -d 'show the version'
${commands.map(fishCommand).join('\n')}`
}

/** The script of each shell. */
export const COMPLETION_SCRIPTS: Readonly<Record<ShellName, (commands: readonly CommandWords[]) => string>> =
  Object.freeze({ bash: bashScript, zsh: zshScript, fish: fishScript })
