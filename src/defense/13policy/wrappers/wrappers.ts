/**
 * Programs that run other programs: where in their arguments the other one begins, and what is text for a shell.
 * Those with a language of their own are in wrappers-special.ts.
 * From the manual pages of coreutils, util-linux, findutils, sudo, shadow, systemd, procps and of the programs named.
 * @module
 */

import {
  argv,
  type Call,
  has,
  type Inner,
  joined,
  literal,
  optionValue,
  rest,
  type Unwrap,
} from '../arguments/inner.ts'
import { partOf } from '../arguments/options.ts'
import { formOf, UNKNOWN_FORM } from '../programs/programs.ts'
import type { ShellWord } from '../shell/shell.ts'
import { find, parallel, xargs } from './wrappers-inputs.ts'
import { SPECIAL_WRAPPERS } from './wrappers-special.ts'

/** Programs whose first operands are their own and whose command follows: the number of these. */
const PREFIXES: ReadonlyMap<string, number> = new Map(
  [
    '0 srun salloc mpirun foot qemu-user box64 box86 FEXInterpreter blink retry gpg-agent with-contenv systemd-socket-activate optirun primusrun prime-run gamemoderun mangohud vglrun nocache cachestats timelimit ledit rlfe socksify fakeroot-ng newpid xinit cage gamescope operf memusage sotruss latrace runlim cronic runcron libtool gnome-session-inhibit s6-notifyoncheck',
    '0 websocketd zrun linux32 linux64 i386 i486 i586 i686 athlon x86_64 uname26 aarch64 arm armv7l arm64',
    '2 s6-tcpserver s6-tcpserver4 s6-tcpserver6 s6-tcpclient tcpserver tcpclient tcpsvd udpsvd',
    '0 wsl xe aoss padsp apulse artsdsp esddsp jack-run msgfilter msgexec grc ssh-agent nsjail minijail0 nq tsp ts setuser fghack pgrphack s6-fghack s6-setsid s6-sudo watchexec nodemon reflex onchange ifne openvt softlimit chpst s6-applyuidgid s6-softlimit daemon abduco chronic multitime catatonit trickle run-one pipexec distcc ccache systemd-nspawn lxc-attach sshpass entr nice ionice nohup setsid stdbuf time cpulimit dbus-run-session dbus-launch unshare nsenter setpriv prlimit choom systemd-cat systemd-inhibit systemd-run run0 numactl aa-exec dumb-init tini fakeroot catchsegv unbuffer rlwrap proxychains proxychains4 torsocks tsocks torify eatmydata strace ltrace valgrind pkexec doas builtin bwrap proot firejail command exec xvfb-run ld.so caffeinate heaptrack rr uftrace sem pexec dtach',
    '1 setarch runcon datefudge lckdo s6-ipcserver setlock envuidgid s6-envuidgid s6-envdir envdir gdbserver s6-setuidgid s6-setlock logsave lockf with-lock-ex switch_root pivot_root dsh pdsh timeout chroot gosu su-exec setuidgid chrt taskset cgexec faketime daemonize',
  ].flatMap((line) => {
    const [count = '0', ...names] = line.split(' ')
    return names.filter((name) => name !== '').map((name) => [name, Number(count)] as const)
  }),
)

/** `NAME=VALUE` as a shell takes it. */
export function readAssignment(word: ShellWord): { name: string; value: ShellWord } | undefined {
  const equals = word.text.indexOf('=')
  if (equals <= 0 || equals > 256) return undefined
  const name = word.text.slice(0, equals)
  for (let at = 0; at < name.length; at++) {
    const letter = name.charAt(at)
    const isWord = letter === '_' || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')
    if (!isWord && !(at > 0 && letter >= '0' && letter <= '9')) return undefined
  }
  return { name, value: partOf(word, word.text.slice(equals + 1)) }
}

/** Leading assignments taken off: those and what follows. `env` takes any name, also one that no shell would. */
function splitAssignments(words: readonly ShellWord[]): {
  readonly assignments: readonly { name: string; value: ShellWord }[]
  readonly rest: readonly ShellWord[]
} {
  const assignments: { name: string; value: ShellWord }[] = []
  let index = 0
  for (; index < words.length; index++) {
    const word = words[index]
    const equals = word?.text.indexOf('=') ?? -1
    if (word === undefined || equals <= 0) break
    assignments.push({
      name: word.text.slice(0, equals),
      value: partOf(word, word.text.slice(equals + 1)),
    })
  }
  return { assignments, rest: words.slice(index) }
}

const env: Unwrap = (call) => {
  const inner: Inner[] = []
  const directory = optionValue(call.parsed, '-C', '--chdir')
  const split = optionValue(call.parsed, '-S', '--split-string')
  const { assignments, rest: words } = splitAssignments(
    rest(call).filter(({ text }, index) => index > 0 || text !== '-'),
  )
  const change = { assignments, ...(directory === undefined ? {} : { directory }) }
  if (split !== undefined) {
    const first = splitString(split)
    if (first === undefined) return [{ kind: 'opaque', opaque: 'eval' }]
    // `env -S` reads its options again from the string.
    const again = [literal('env'), ...first, ...rest(call)]
    return [{ kind: 'argv', words: again, via: 'env', ...change, assignments: [] }]
  }
  if (words.length > 0) inner.push({ kind: 'argv', words, via: 'env', ...change })
  return inner
}

/** The string of `env -S` as words; undefined where it has more than words and blanks. */
function splitString({ text, opaque, isGlob }: ShellWord): readonly ShellWord[] | undefined {
  if (opaque !== undefined || /["'\\$#]/.test(text)) return undefined
  return text
    .split(/[ \t\n]+/)
    .filter(Boolean)
    .map((word) => ({ text: word, isGlob, opaque }))
}

const watch: Unwrap = (call) => {
  const words = rest(call)
  if (words.length === 0) return []
  if (has(call.parsed, '-x', '--exec')) return argv(words, 'watch')
  return [{ kind: 'shell', word: joined(words), via: 'watch' }]
}

const flock: Unwrap = (call) => {
  // `flock FILE -c TEXT`, `flock FILE COMMAND...`
  const words = rest(call, 1)
  const option = words[0]?.text
  if (option === '-c' || option === '--command') {
    const text = words[1]
    return text === undefined ? [] : [{ kind: 'shell', word: text, via: 'flock' }]
  }
  return argv(words, 'flock')
}

const sudo: Unwrap = (call) => {
  const inner: Inner[] = []
  const directory = optionValue(call.parsed, '-D', '--chdir')
  const given = rest(call)
  const assignments: { name: string; value: ShellWord }[] = []
  for (const word of given) {
    const assignment = readAssignment(word)
    if (assignment === undefined) break
    assignments.push(assignment)
  }
  const words = given.slice(assignments.length)
  const change = { assignments, ...(directory === undefined ? {} : { directory }) }
  if (has(call.parsed, '-e', '--edit')) {
    for (const word of words) inner.push({ kind: 'path', word, use: 'write' })
  } else if (has(call.parsed, '-s', '--shell', '-i', '--login')) {
    const shell = literal('sh')
    const text = words.length === 0 ? [] : [literal('-c'), joined(words)]
    inner.push({ kind: 'argv', words: [shell, ...text], via: 'sudo', ...change })
  } else if (words.length > 0) inner.push({ kind: 'argv', words, via: call.name, ...change })
  return inner
}

const busybox: Unwrap = (call) => {
  const words = rest(call)
  const options = call.words.slice(1, call.parsed.firstOperand)
  if (options.some(({ text }) => text === '--list' || text === '--help')) return []
  // `coreutils --coreutils-prog=cat FILE`
  const named = options.find(({ text }) => text.startsWith('--coreutils-prog'))
  if (named !== undefined)
    return argv([literal(named.text.slice(named.text.indexOf('=') + 1)), ...words], 'coreutils')
  return argv(words, call.names[0] ?? 'busybox')
}

const evaluate: Unwrap = (call) => {
  const word = joined(call.words.slice(1))
  return word.text === '' && word.opaque === undefined ? [] : [{ kind: 'shell', word, via: 'eval' }]
}

function isEmpty({ text, opaque }: ShellWord): boolean {
  return text === '' && opaque === undefined
}

const trap: Unwrap = (call) => {
  const text = call.parsed.operands[0]
  const isReset = text === undefined || text.text === '-' || isEmpty(text) || call.parsed.operands.length < 2
  return isReset ? [] : [{ kind: 'shell', word: text, via: 'trap' }]
}

const WRAPPERS: ReadonlyMap<string, Unwrap> = new Map<string, Unwrap>([
  ['env', env],
  ['xargs', xargs],
  ['find', find],
  ['fd', find],
  ['parallel', parallel],
  ['watch', watch],
  ['flock', flock],
  ['sudo', sudo],
  ['busybox', busybox],
  ['toybox', busybox],
  ['coreutils', busybox],
  ['eval', evaluate],
  ['trap', trap],
  ...SPECIAL_WRAPPERS,
])

/** Whether the program starts the program in its arguments. */
export function isWrapper(name: string): boolean {
  return WRAPPERS.has(name) || PREFIXES.has(name)
}

/** What the program of `call` runs in its turn; nothing where it is no wrapper. */
export function innerOfWrapper(call: Call): readonly Inner[] {
  const unwrap = WRAPPERS.get(call.name)
  if (unwrap !== undefined) return unwrap(call)
  const skipped = PREFIXES.get(call.name)
  if (skipped === undefined) return []
  if (call.name === 'command' && has(call.parsed, '-v', '-V')) return []
  const words = rest(call, skipped)
  // Without a command, these start a shell.
  const isShellStarted = words.length === 0 && (call.name === 'unshare' || call.name === 'nsenter')
  const inner = argv(isShellStarted ? [literal('sh')] : words, call.name)
  // Which of its options take the next word is not known, and so not where the other program begins.
  const isGuessed = call.parsed.options.length > 0 && formOf([call.name]) === UNKNOWN_FORM
  return isGuessed ? [...inner, { kind: 'opaque', opaque: 'program' }] : inner
}
