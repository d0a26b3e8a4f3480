/**
 * Programs with a language of their own in which another program can be named: git, tar, ssh, containers, editors,
 * build tools, network tools. What of it is a command is given; the rest is theirs.
 * From the manual pages of the programs named.
 * @module
 */

import type { ShellWord } from '../shell/shell.ts'
import {
  argv,
  type Call,
  has,
  type Inner,
  joined,
  LINES_MAX,
  literal,
  optionValue,
  shell,
  tail,
  type Unwrap,
} from './inner.ts'
import { parseArguments } from './options.ts'
import { formOf } from './programs.ts'
import { CONTAINER_FORM, form, isContainerRun } from './subcommands.ts'
import { COMMAND_TABLES } from './wrappers-commands.ts'
import {
  bus,
  configuration,
  database,
  editor,
  fileManager,
  fileNames,
  filesOfList,
  gdb,
  prompt,
} from './wrappers-editors.ts'
import {
  applicationServer,
  buildFiles,
  busCall,
  libraryTool,
  recordExpression,
  repositoryQuery,
  siteCode,
  template,
  textBehindAssignments,
  webSocketAddress,
  xmlShell,
  yamlExpression,
} from './wrappers-expressions.ts'
import { git } from './wrappers-git.ts'
import { jobText, later, make, ninja, scriptLater } from './wrappers-jobs.ts'
import { macros } from './wrappers-macros.ts'
import { composeFile } from './wrappers-projects.ts'

const tar: Unwrap = (call) => {
  const inner: Inner[] = []
  for (const { option, word } of call.parsed.values) {
    if (option === '--checkpoint-action' && word.text.startsWith('exec='))
      inner.push(shell(tail(word, 5), 'tar'))
  }
  // The old form: the first word is a cluster without a dash, and its letters take the next words.
  const first = call.words[1]?.text ?? ''
  const isOld = first !== '' && !first.startsWith('-') && first.length <= 32
  const operands = call.parsed.operands.slice(isOld ? 1 : 0)
  const isSet = (letter: string, ...names: readonly string[]) =>
    has(call.parsed, `-${letter}`, ...names) || (isOld && first.includes(letter))
  const extracts = isSet('x', '--extract', '--get')
  const creates = isSet('c', '--create') || isSet('r', '--append') || isSet('u', '--update')
  const removes = has(call.parsed, '--remove-files')
  if (isOld) {
    for (const letter of first) {
      if (!'fCIXTbgKVNH'.includes(letter)) continue
      const word = operands.shift()
      if (word === undefined) break
      if (letter === 'f') inner.push({ kind: 'path', word, use: creates ? 'write' : 'read' })
      else if (letter === 'C') inner.push({ kind: 'path', word, use: extracts ? 'write' : 'read' })
      else if (letter === 'I') inner.push(shell(word, 'tar'))
      else if (letter === 'T' || letter === 'X') inner.push({ kind: 'path', word, use: 'read' })
    }
  }
  for (const { option, word } of call.parsed.values) {
    if (option === '-f' || option === '--file')
      inner.push({ kind: 'path', word, use: creates ? 'write' : 'read' })
  }
  const list = optionValue(call.parsed, '-T', '--files-from')
  if (creates && list !== undefined) inner.push(...filesOfList(call, list))
  if (creates) {
    const base = optionValue(call.parsed, '-C', '--directory')
    for (const word of operands) {
      const isBeneath = base !== undefined && base.opaque === undefined && !word.text.startsWith('/')
      const file = isBeneath ? { ...word, text: `${base.text}/${word.text}` } : word
      inner.push({ kind: 'path', word: file, use: removes ? 'write' : 'read' })
    }
  }
  if (extracts && optionValue(call.parsed, '-C', '--directory') === undefined && !isSet('O', '--to-stdout')) {
    inner.push({ kind: 'path', word: literal('.'), use: 'write' })
  }
  if (extracts && isSet('P', '--absolute-names')) {
    inner.push({ kind: 'path', word: { text: '/', isGlob: false, opaque: 'expansion' }, use: 'write' })
  }
  return inner
}

/** `-o KEY=VALUE` of ssh and its kin, where the value is a command. */
function sshOptions(call: Call): readonly Inner[] {
  const inner: Inner[] = []
  for (const { option, word } of call.parsed.values) {
    if (option !== '-o') continue
    const at = word.text.search(/[= \t]/)
    if (at < 0) continue
    const key = word.text.slice(0, at).toLowerCase()
    const value = tail(word, at + 1)
    if (
      ['proxycommand', 'localcommand', 'knownhostscommand', 'remotecommand', 'xauthlocation'].includes(key)
    ) {
      if (value.text.trim() !== 'none') inner.push(shell({ ...value, text: value.text.trim() }, call.name))
    } else if (
      ['identityfile', 'include', 'userknownhostsfile', 'certificatefile', 'pkcs11provider'].includes(key)
    ) {
      inner.push({ kind: 'path', word: value, use: 'read' })
    }
  }
  return inner
}

const ssh: Unwrap = (call) => {
  // Options may stand between the host and the command.
  const words = call.words.slice(call.parsed.firstOperand + 1)
  const later = parseArguments(words, formOf(['ssh']), 0)
  const command = words.slice(later.firstOperand)
  const inner = [...sshOptions(call), ...sshOptions({ ...call, parsed: later })]
  if (command.length > 0) inner.push(shell(joined(command), 'ssh'))
  return inner
}

const container: Unwrap = (call) => {
  const [first, ...others] = call.words.slice(call.parsed.firstOperand)
  if (first?.text === 'unshare')
    return argv(others.length === 0 ? [literal('sh')] : others, `${call.name} unshare`)
  const isNested = first?.text === 'container' || first?.text === 'compose' || first?.text === 'pod'
  const words = isNested ? parseArguments(others, CONTAINER_FORM, 0) : undefined
  const at = words?.firstOperand ?? -1
  const subcommand = isNested ? others[at]?.text : first?.text
  const given = isNested ? others.slice(at + 1) : others
  if (!isContainerRun(subcommand ?? '')) return buildFiles(call)
  const parsed = parseArguments(given, CONTAINER_FORM, 0)
  const inner: Inner[] = []
  for (const { option, word } of parsed.values) {
    if (option === '-v' || option === '--volume') {
      const colon = word.text.indexOf(':')
      const source = colon < 0 ? word.text : word.text.slice(0, colon)
      const isReadOnly = /:ro(?:,|$)/.test(word.stands ?? word.text)
      if (source.includes('/') || (source === '' && word.opaque !== undefined))
        inner.push({ kind: 'path', word: { ...word, text: source }, use: isReadOnly ? 'read' : 'write' })
    } else if (option === '--mount') {
      const fields = word.text.split(',', 32)
      for (const field of fields) {
        const equals = field.indexOf('=')
        if (!['source', 'src'].includes(field.slice(0, equals))) continue
        const use = fields.includes('readonly') || fields.includes('ro') ? 'read' : 'write'
        inner.push({ kind: 'path', word: { ...word, text: field.slice(equals + 1) }, use })
      }
    } else if (option === '--device' || option === '--env-file' || option === '--rootfs') {
      const source = word.text.split(':', 1)[0] ?? ''
      inner.push({
        kind: 'path',
        word: { ...word, text: source },
        use: option === '--device' ? 'write' : 'read',
      })
    }
  }
  const via = `${call.name} ${subcommand}`
  const entry = parsed.values.find(({ option }) => option === '--entrypoint')?.word
  const dashes = given.findIndex(({ text }) => text === '--')
  const image = parsed.operands.length === 0 ? given.length : parsed.firstOperand
  let command = given.slice(image + 1)
  if (['kubectl', 'oc', 'lxc'].includes(call.name) && dashes >= 0) command = given.slice(dashes + 1)
  if (command[0]?.text === '--') command = command.slice(1)
  inner.push(...argv(entry === undefined || entry.text === '' ? command : [entry, ...command], via))
  return inner
}

const socat: Unwrap = (call) =>
  call.parsed.operands.flatMap((word): readonly Inner[] => {
    const colon = word.text.indexOf(':')
    const kind = word.text.slice(0, Math.max(colon, 0)).toUpperCase()
    const value = word.text.slice(colon + 1).split(',', 1)[0] ?? ''
    if (kind === 'EXEC' || kind === 'SYSTEM' || kind === 'SHELL')
      return [shell({ ...word, text: value }, 'socat')]
    if (['OPEN', 'CREATE', 'FILE', 'CREAT', 'GOPEN'].includes(kind))
      return [{ kind: 'path', word: { ...word, text: value }, use: 'write' }]
    return []
  })

const daemon: Unwrap = (call) => {
  const program = optionValue(call.parsed, '-a', '--startas') ?? optionValue(call.parsed, '-x', '--exec')
  const dashes = call.words.findIndex(({ text }) => text === '--')
  const operands = dashes < 0 ? call.parsed.operands : call.words.slice(dashes + 1)
  return program === undefined || !has(call.parsed, '-S', '--start')
    ? []
    : argv([program, ...operands], call.name)
}

const perf: Unwrap = (call) => {
  const subcommand = call.parsed.operands[0]?.text ?? ''
  if (!['stat', 'record', 'trace', 'mem', 'c2c', 'kmem', 'lock', 'sched'].includes(subcommand)) return []
  const words = call.words.slice(call.parsed.firstOperand + 1)
  const parsed = parseArguments(
    words,
    form('-e --event -o --output -F -c -C --cpu -p --pid -t --tid -u -r --repeat -I -x -G -m -j -D'),
    0,
  )
  const at = words[parsed.firstOperand]?.text === 'record' ? 1 : 0
  return argv(words.slice(parsed.firstOperand + at), 'perf')
}

const TMUX_COMMANDS: ReadonlySet<string> = new Set(
  'new new-session new-window neww split-window splitw run run-shell if if-shell respawn-pane respawnp respawn-window respawnw popup display-popup pipe-pane pipep'.split(
    ' ',
  ),
)
/** Options of screen that ask or command a running one. */
const SCREEN_COMMANDS: readonly string[] = [
  '-ls',
  '-list',
  '-r',
  '-R',
  '-x',
  '-wipe',
  '-v',
  '--version',
  '-d',
  '-D',
]

/** `screen -X exec cmd`, `screen -X stuff text`. */
function screenCommand(words: readonly ShellWord[]): readonly Inner[] {
  const [name, ...rest] = words
  if (name?.text === 'exec' || name?.text === 'screen') return argv(rest, 'screen')
  return name?.text === 'stuff' || name?.text === 'eval' ? [shell(joined(rest), 'screen')] : []
}

const multiplexer: Unwrap = (call) => {
  const words = call.words.slice(call.parsed.firstOperand)
  if (call.name === 'screen' && words.length === 0 && has(call.parsed, ...SCREEN_COMMANDS)) return []
  if (call.name === 'screen' && has(call.parsed, '-X')) return screenCommand(words)
  if (call.name === 'screen')
    return words.length === 0
      ? [{ kind: 'argv', words: [literal('sh')], via: 'screen' }]
      : argv(words, 'screen')
  const shellText = optionValue(call.parsed, '-c')
  if (shellText !== undefined) return [shell(shellText, 'tmux')]
  const subcommand = words[0]?.text ?? ''
  if (
    subcommand === 'send-keys' ||
    subcommand === 'send' ||
    subcommand === 'source-file' ||
    subcommand === 'source'
  ) {
    return [{ kind: 'opaque', opaque: 'eval' }]
  }
  if (!TMUX_COMMANDS.has(subcommand)) return []
  const parsed = parseArguments(words, form('-s -n -t -c -e -x -y -F -l -w -f'), 1)
  const command = words.slice(parsed.firstOperand)
  if (command.length === 0) return []
  const place = optionValue(parsed, '-c')
  const set = parsed.values.filter(({ option }) => option === '-e').map(({ word }) => shell(word, 'tmux -e'))
  const inner = [shell(joined(command), 'tmux'), ...set]
  return place === undefined ? inner : [...inner, { kind: 'path', word: place, use: 'write' }]
}

const manual: Unwrap = (call) => {
  const inner: Inner[] = []
  for (const word of call.parsed.operands)
    if (word.text.includes('/')) inner.push({ kind: 'path', word, use: 'read' })
  return inner
}

/** `coredumpctl debug --debugger=PROGRAM --debugger-arguments=TEXT`. */
const coredump: Unwrap = (call) => {
  const program = optionValue(call.parsed, '--debugger')
  if (program === undefined) return []
  const given = optionValue(call.parsed, '-A', '--debugger-arguments')
  return [shell(joined(given === undefined ? [program] : [program, given]), call.name)]
}

/** Programs of execline that change something and go on with what stands behind so many words of their own. */
const EXECLINE: ReadonlyMap<string, number> = new Map([
  ...(['exec', 'foreground', 'background', 'if', 'ifelse', 'ifte', 'wait', 'loopwhilex'] as const).map(
    (name) => [name, 0] as const,
  ),
  ...(['cd', 'umask', 'unexport', 'fdclose', 's6-envdir', 'emptyenv'] as const).map(
    (name) => [name, 1] as const,
  ),
  ...(['export', 'importas', 'define', 'fdmove', 'backtick'] as const).map((name) => [name, 2] as const),
  ['redirfd', 3],
])

/** `execlineb -c TEXT`: blocks in braces, and programs that each run the rest of the words. */
const execline: Unwrap = (call) => {
  const text = optionValue(call.parsed, '-c')
  if (text === undefined)
    return call.parsed.operands.slice(0, 1).map((word) => ({ kind: 'path', word, use: 'read' }))
  const segments = text.text.split(/[{}\n]/, LINES_MAX)
  return segments.flatMap((segment): readonly Inner[] => {
    let words = segment.trim().split(/[ \t]+/, LINES_MAX)
    let before = ''
    for (let skipped = EXECLINE.get(words[0] ?? ''); skipped !== undefined; ) {
      if (words[0] === 'cd') before += `cd ${words[1]} && `
      words = words.slice(1)
      while (words[0]?.startsWith('-')) words = words.slice(1)
      words = words.slice(skipped)
      skipped = EXECLINE.get(words[0] ?? '')
    }
    return words.join('') === '' ? [] : [shell({ ...text, text: before + words.join(' ') }, call.name)]
  })
}

/** Elixir's shell, and what PowerShell has as a short name of its `eval`. */
const evaluated: Unwrap = (call) =>
  call.parsed.options.length > 0 || call.parsed.operands.length === 0
    ? []
    : [shell(joined(call.parsed.operands), call.name)]

/** Orders to a window manager, of which `exec` is one. */
const oneText: Unwrap = (call) =>
  call.parsed.operands.length === 0 ? [] : [shell(joined(call.parsed.operands), call.name)]

/** Operands that are each a text for a shell. */
const texts: Unwrap = (call) => call.parsed.operands.map((word) => shell(word, call.name))

/** `-o DPkg::Pre-Invoke::=command` and the programs that apt is told to use. */
const apt: Unwrap = (call) =>
  call.parsed.values.flatMap(({ option, word }): readonly Inner[] => {
    const equals = word.text.indexOf('=')
    if ((option !== '-o' && option !== '--option') || equals < 0) return []
    const key = word.text.slice(0, equals).toLowerCase()
    return key.includes('invoke') || key.startsWith('dir::bin') || key.includes('pager')
      ? [shell(tail(word, equals + 1), call.name)]
      : []
  })

/** Programs with a prompt of their own, at which a line can be given to a shell. */
const PROMPTS =
  'bc dc telnet sftp-server lftp ncftp ftp tnftp psftp pftp tftp gnuplot maxima gp genius ginsh yacas r2 radare2 rizin rz scanmem tasksh tdbtool ldbedit jtag irssi weechat weechat-headless profanity newsboat mutt neomutt alpine mail mailx s-nail heirloom-mailx w3m lynx elinks zathura crash smbclient rpcclient hping3 fdisk iftop nslookup minicom picocom slsh vagrant-shell cu tip ispell aspell mc mcedit pdb cgdb msfconsole bconsole openocd urjtag'

/** `history -s WORD...`: what `fc -s` then runs. */
const rememberedCommand: Unwrap = (call) =>
  call.words[1]?.text === '-s' ? [{ kind: 'shell', word: joined(call.words.slice(2)), via: call.name }] : []

export const SPECIAL_WRAPPERS: readonly (readonly [string, Unwrap])[] = [
  ['git', git],
  ['coredumpctl', coredump],
  ['execlineb', execline],
  ['iex', evaluated],
  ['swaymsg', oneText],
  ['i3-msg', oneText],
  ...['hyperfine', 'pee', 'mispipe', 'concurrently', 'mprocs'].map((name) => [name, texts] as const),
  ['rush', texts],
  ...['apt', 'apt-get', 'aptitude', 'apt-cache'].map((name) => [name, apt] as const),
  ['tar', tar],
  ['ssh', ssh],
  ['scp', sshOptions],
  ['sftp', (call) => [...sshOptions(call), ...prompt(call)]],
  ['ninja', ninja],
  ['samu', ninja],
  ...['docker', 'podman', 'buildah', 'lxc', 'kubectl', 'oc', 'crictl', 'ctr'].map(
    (name) => [name, (call: Call) => [...container(call), ...composeFile(call)]] as const,
  ),
  ['docker-compose', composeFile],
  ['podman-compose', composeFile],
  ...['vim', 'vi', 'less', 'more', 'nano', 'ed', 'most', 'emacsclient'].map(
    (name) => [name, editor] as const,
  ),
  ['gdb', gdb],
  ['lldb', gdb],
  ['make', make],
  ['crontab', later],
  ['at', later],
  ['batch', later],
  ['sbatch', scriptLater],
  ...['bsub', 'condor_run'].map((name) => [name, jobText] as const),
  ['socat', socat],
  ['start-stop-daemon', daemon],
  ['perf', perf],
  ['screen', multiplexer],
  ['tmux', multiplexer],
  ['man', manual],
  ...[
    'sqlite3',
    'sqlite',
    'duckdb',
    'psql',
    'mysql',
    'mycli',
    'usql',
    'clickhouse-client',
    'clickhouse-local',
    'clickhouse',
    ...['cypher-shell', 'hbase', 'surreal', 'tarantoolctl', 'taos', 'cqlsh'],
  ].map((name) => [name, database] as const),
  ...PROMPTS.split(' ').map((name) => [name, prompt] as const),
  ...['lf', 'ranger', 'nnn', 'vifm'].map((name) => [name, fileManager] as const),
  ['m4', macros],
  ['history', rememberedCommand],
  ['gm4', macros],
  ['libtool', libraryTool],
  ['ubus', busCall],
  ['drush', siteCode],
  ['wp', siteCode],
  ...['rails', 'flask', 'odoo', 'odoo-bin', 'scrapy', 'meteor', 'mix'].map(
    (name) => [name, siteCode] as const,
  ),
  ['django-admin', siteCode],
  ['websocat', webSocketAddress],
  ['cross-env-shell', textBehindAssignments],
  ['xmllint', xmlShell],
  ['fossil', repositoryQuery],
  ['chezmoi', template],
  ['mlr', recordExpression],
  ['uwsgi', applicationServer],
  ...['yq', 'gojq', 'faq'].map((name) => [name, yamlExpression] as const),
  ...['jed', 'kermit', 'ckermit', 'wermit'].map((name) => [name, prompt] as const),
  ...[
    'terraform',
    'tofu',
    'doxygen',
    'apache2ctl',
    'apachectl',
    'httpd',
    'apache2',
    'inkscape',
    'gimp',
    'dosbox',
  ].map((name) => [name, configuration] as const),
  ...['cpio', 'pax', 'afio'].map((name) => [name, fileNames] as const),
  ['busctl', bus],
  ...COMMAND_TABLES,
]
