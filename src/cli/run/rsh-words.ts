/**
 * The words that programs give to ssh when they want a command run elsewhere: rsync, git and Ansible know no other
 * way. What changes nothing here is taken and left alone; what asks for something else than a command is refused.
 * Sources: ssh(1), getopt(3).
 * @module
 */
import { wholeNumber } from '../words/arguments.ts'

export type RemoteCommand = {
  /** `[AGENT@]HOST[:PORT]`, or a name of hosts.json. */
  readonly target: string
  readonly keyFile: string | undefined
  /** For a shell, as ssh gives it: the words with blanks between. */
  readonly text: string
  readonly stdin: boolean
  /** `asked`: where this process has one. */
  readonly terminal: 'none' | 'asked' | 'forced'
  readonly compress: boolean
}
export type RshResult =
  | { readonly ok: true; readonly command: RemoteCommand }
  | { readonly ok: false; readonly problem: string; readonly hint: string }

/** Options of ssh that have a value, and those that have none. */
const VALUED: ReadonlySet<string> = new Set('BbcDEeFIiJLlmOopPQRSWw')
const FLAGS: ReadonlySet<string> = new Set('46AaCfGgKkMNnqsTtVvXxYy')
/** What is more than a command: tunnels, a master connection, a subsystem, the configuration of ssh itself. */
const REFUSED: Readonly<Record<string, string>> = Object.freeze({
  D: 'it forwards nothing',
  f: 'it does not go into the background: use sass-edge exec --detach',
  G: 'it has no configuration of ssh to print',
  J: 'it goes through no other host',
  L: 'it forwards nothing',
  M: 'it is no master for other connections',
  N: 'it runs commands and nothing else',
  O: 'it is no master for other connections',
  Q: 'it has no algorithms of ssh to list',
  R: 'it forwards nothing',
  s: 'it has no subsystems: use rsync, or sass-edge cp',
  V: 'its version is told by sass-edge version',
  W: 'it forwards nothing',
  w: 'it forwards nothing',
})
/** Settings of `-o` that say by which way a connection goes, where to, or what with: ignored, it would be another one. */
const REFUSED_SETTINGS: ReadonlyMap<string, string> = new Map([
  ['proxycommand', 'it goes through no other program'],
  ['proxyjump', 'it goes through no other host'],
  ['hostname', 'write the address in place of the name, or list it in hosts.json'],
  ['localforward', 'it forwards nothing'],
  ['remoteforward', 'it forwards nothing'],
  ['dynamicforward', 'it forwards nothing'],
  ['remotecommand', 'the command stands behind the host'],
])
const USAGE = 'write sass-edge rsh [-l AGENT] [-p PORT] [-i KEYFILE] [AGENT@]HOST COMMAND'

type Seen = Map<string, string | number>

function problemOf(letter: string): { problem: string; hint: string } | undefined {
  const refused = REFUSED[letter]
  if (refused !== undefined) return { problem: `-${letter} cannot be had`, hint: refused }
  if (!VALUED.has(letter) && !FLAGS.has(letter))
    return { problem: `-${letter} is no option of ssh`, hint: USAGE }
  return undefined
}

/** `-o Name=Value` or `-o "Name Value"`: two say where to go, some are refused; the others are about ssh itself. */
function setting(seen: Seen, text: string): { problem: string; hint: string } | undefined {
  const match = /^\s*([A-Za-z]+)\s*[=\s]\s*(.*?)\s*$/.exec(text)
  const name = match?.[1]?.toLowerCase()
  // As with ssh, the first one said counts.
  if (name === 'user' && !seen.has('l')) seen.set('l', match?.[2] ?? '')
  if (name === 'port' && !seen.has('p')) seen.set('p', match?.[2] ?? '')
  const hint = REFUSED_SETTINGS.get(name ?? '')
  // ssh has the word for what is set in one of its files and not wanted this once.
  if (hint === undefined || match?.[2]?.toLowerCase() === 'none') return undefined
  return { problem: `-o ${match?.[1]} cannot be had`, hint }
}

/** The address with the port in it, as a TARGET has it. */
function targetOf(host: string, agent: string | undefined, port: string | undefined): string {
  const address = port !== undefined && host.includes(':') && !host.includes('[') ? `[${host}]` : host
  const named = agent === undefined || host.includes('@') ? address : `${agent}@${address}`
  return port === undefined ? named : `${named}:${port}`
}

/** Reads what follows `sass-edge rsh`. */
export function readRshWords(words: readonly string[]): RshResult {
  const seen: Seen = new Map()
  let host: string | undefined
  let at = 0
  // As ssh does: options may stand before the host and after it, and the first other word begins the command.
  for (; at < words.length; at++) {
    const word = words[at] ?? ''
    if (word === '--') {
      at++
      if (host === undefined) host = words[at++]
      break
    }
    if (word.length < 2 || !word.startsWith('-')) {
      if (host !== undefined) break
      host = word
      continue
    }
    for (let index = 1; index < word.length; index++) {
      const letter = word[index] ?? ''
      const problem = problemOf(letter)
      if (problem !== undefined) return { ok: false, ...problem }
      if (!VALUED.has(letter)) {
        seen.set(letter, Number(seen.get(letter) ?? 0) + 1)
        continue
      }
      const value = index + 1 < word.length ? word.slice(index + 1) : words[++at]
      if (value === undefined) return { ok: false, problem: `-${letter} has no value`, hint: USAGE }
      if (letter !== 'o') seen.set(letter, value)
      const unfit = letter === 'o' ? setting(seen, value) : undefined
      if (unfit !== undefined) return { ok: false, ...unfit }
      break
    }
  }
  if (host === undefined || host === '') return { ok: false, problem: 'no host is given', hint: USAGE }
  const text = words.slice(at).join(' ')
  if (text.trim() === '')
    return { ok: false, problem: 'no command is given', hint: 'for a terminal use sass-edge shell' }
  const port = seen.get('p')?.toString()
  if (port !== undefined && wholeNumber(port, 1, 65_535) === undefined)
    return { ok: false, problem: 'the port is not a number from 1 to 65535', hint: USAGE }
  const asked = Number(seen.get('t') ?? 0)
  return {
    ok: true,
    command: {
      target: targetOf(host, seen.get('l')?.toString(), port),
      keyFile: seen.get('i')?.toString(),
      text,
      stdin: !seen.has('n'),
      terminal: seen.has('T') || asked === 0 ? 'none' : asked > 1 ? 'forced' : 'asked',
      compress: seen.has('C'),
    },
  }
}
