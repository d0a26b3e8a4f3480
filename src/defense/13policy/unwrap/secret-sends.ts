/**
 * A variable with a name like a secret's that goes into a request, a message or a record beside the places that are made
 * for it: in an address, a body, any header, in what a program is given on its input. To log in with it, where the
 * service is the one that it belongs to, is what it is there for.
 * From curl(1), wget(1), HTTPie's documentation and the manual pages of the other programs.
 * @module
 */
import type { Maker } from './flow.ts'
import { goesBy } from './names.ts'
import type { Draft } from './pipeline.ts'

/** Said of a command that gives a secret away. */
const SENT: readonly string[] = Object.freeze(['secret:sent'])
const NONE: readonly never[] = Object.freeze([])
const MARK = '<secret>'

const SENDERS: ReadonlySet<string> = new Set(
  'curl wget wget2 http https httpie xh xhs curlie aria2c axel lynx w3m links nc ncat netcat socat telnet websocat wscat grpcurl mosquitto_pub mqttx mail mailx mutt sendmail swaks redis-cli xdg-open open traceroute mtr getent whois finger snmpset snmptrap'.split(
    ' ',
  ),
)
/** What these are told in words of their own is for others to read. */
const TELLERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['git', ['commit', 'tag', 'notes', 'branch', 'switch', 'checkout']],
  ['gh', ['issue', 'pr', 'gist', 'release']],
  ['glab', ['issue', 'mr', 'snippet', 'release']],
])
/** Programs that hand on what they read, and nothing else. */
const PASSERS: ReadonlySet<string> = new Set(['cat', 'tee', 'xxd', 'od', 'base64', 'hexdump', 'rev', 'tac'])
const INTERPRETERS: ReadonlySet<string> = new Set(['python', 'node', 'perl', 'ruby', 'php', 'deno', 'bun'])
const CODE_OPTIONS: readonly string[] = Object.freeze(['-c', '-e', '-E', '-r', '-p', '--eval'])

/** Options by which a program logs in. */
const LOGINS: ReadonlySet<string> = new Set(
  '-u --user -U --proxy-user --oauth2-bearer --pass --password --http-password --proxy-password --ftp-password -a --auth -P --pw --aws-sigv4 --key-pass'.split(
    ' ',
  ),
)
const USER_AGENT = '-U'
/** A header, or an item of HTTPie that becomes one, by which somebody logs in. */
const LOGIN_HEADER =
  /^[\w-]{0,64}(?:auth|token|key|secret|cookie|credential|session|pass)[\w-]{0,64}\s{0,4}:(?!\/\/)/i
const HEADER_OPTIONS: ReadonlySet<string> = new Set(['-H', '--header', '-b', '--cookie'])
const COOKIE_OPTIONS: readonly string[] = Object.freeze(['-b', '--cookie'])

/** Services by what the names of their variables begin with, and what their hosts are called. */
const HOSTS: ReadonlyMap<string, readonly string[]> = new Map(
  [
    'github github ghcr',
    'gh github ghcr',
    'gitlab gitlab',
    'aws amazonaws aws',
    'npm npm',
    'pypi pypi',
    'openai openai azure',
    'anthropic anthropic',
    'slack slack',
    'docker docker',
    'dockerhub docker',
    'hf hugging hf.co',
    'cloudflare cloudflare',
    'digitalocean digitalocean',
    'stripe stripe',
    'heroku heroku',
    'sentry sentry',
    'google google',
    'azure azure microsoft windows.net',
  ].map((line) => {
    const [service = '', ...hosts] = line.split(' ')
    return [service, hosts] as const
  }),
)
const SERVICE = /<secret><(\w{1,64})>/
/** An address of which the host is known, on its own or behind a name. */
const ADDRESS =
  /^(?:[a-z]{2,8}:\/\/)?((?:[\w-]{1,64}\.){1,8}[a-z]{2,24}|[0-9]{1,3}(?:\.[0-9]{1,3}){3})(?=[/:?#]|$)/i

/** Whether the request goes to another service than the one that the secret is of; where neither is known it does not. */
function isForeign(text: string, operands: readonly string[]): boolean {
  const hosts = HOSTS.get(SERVICE.exec(text)?.[1] ?? '')
  if (hosts === undefined) return false
  const addresses = operands.flatMap((word) => ADDRESS.exec(word)?.[1] ?? [])
  return addresses.length > 0 && !addresses.some((address) => hosts.some((host) => address.includes(host)))
}

function sendsByOption(draft: Draft): boolean {
  const { names, operands, optionValues } = draft
  return optionValues.some(({ option, value }) => {
    if (!value.includes(MARK)) return false
    const isAgent = option === USER_AGENT && names.some((name) => name.startsWith('wget'))
    const isLogin =
      (LOGINS.has(option) && !isAgent) ||
      COOKIE_OPTIONS.includes(option) ||
      (HEADER_OPTIONS.has(option) && LOGIN_HEADER.test(value))
    return !isLogin || isForeign(value, operands)
  })
}

function sends(draft: Draft): boolean {
  const { operands } = draft
  const inOperand = operands.some(
    (word) => word.includes(MARK) && (!LOGIN_HEADER.test(word) || isForeign(word, operands)),
  )
  return inOperand || sendsByOption(draft)
}

function tells({ names, operands, optionValues }: Draft): boolean {
  const orders = TELLERS.get(names[0] ?? '')
  if (orders?.includes(operands[0] ?? '') !== true) return false
  return (
    operands.some((word) => word.includes(MARK)) || optionValues.some(({ value }) => value.includes(MARK))
  )
}

function isGivenSecret({ stdin, redirects }: Maker): boolean {
  if (stdin.kind === 'text' && stdin.word.stands?.includes(MARK) === true) return true
  return redirects.some(({ kind, target }) => kind === 'text' && target.stands?.includes(MARK) === true)
}

/** Of a command that sends or shows the secret of a variable, the call that says so. */
export function secretSends(draft: Draft, maker: Maker): readonly string[] {
  const { names, options, operands } = draft
  const isSender = goesBy(names, SENDERS)
  if (isSender && sends(draft)) return SENT
  if (tells(draft)) return SENT
  if (isSender || goesBy(names, PASSERS) || names[0] === 'openssl') return isGivenSecret(maker) ? SENT : NONE
  const isCode = goesBy(names, INTERPRETERS) && CODE_OPTIONS.some((option) => options.includes(option))
  return isCode && operands.some((word) => word.includes(MARK)) ? SENT : NONE
}
