/**
 * Which hosts a command would reach, by what it is given: whether one lies inside, and whether a list of domains has them. Of a program whose
 * business is another host everything that it could take for one counts; of any other one URLs do. What is not known
 * (an expansion, a file of addresses, a service behind a name) is on no list.
 * Rules: docs/responses.md, section 1 (specifics); docs/security.md says what it does not see.
 * @module
 */
import type { EffectiveCommand } from './13policy/effective.ts'
import { goesBy } from './13policy/unwrap/names.ts'
import {
  hostOfAuthority,
  type InternalAddresses,
  isSmallNumber,
  namesInternalHost,
  plainForm,
} from './internal-address.ts'
import { NETWORK_PROGRAMS } from './tools.ts'

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** Their host is the first operand; what follows is a port, a command or text. */
const HOST_FIRST = words('ssh mosh telnet ftp lftp ncftp nc ncat netcat tftp whois rsh rlogin')
/** Of their operands those with a colon are of another host, the others files of this one. */
const COLON_NAMES_HOST = words('scp sftp rsync')
/** They reach what their own configuration or a word of their own names. */
const SERVICES = words('aws gsutil rclone s3cmd socat')
/** Options of clients whose value is a host, or leads to one. */
const HOST_OPTIONS = words(
  '-x --proxy --preproxy --socks4 --socks4a --socks5 --socks5-hostname --doh-url --url -J -W',
)
/** Options of clients whose value is text to send or to show, and no place to go to. */
const TEXT_OPTIONS: ReadonlySet<string> = new Set(
  (
    '-d --data --data-raw --data-binary --data-ascii --data-urlencode --json -F --form --form-string -A --user-agent ' +
    '-b --cookie -w --write-out -o --output --post-data --body-data'
  ).split(' '),
)

/** Options that name a host, its port and another host in its place. */
const REPLACING_OPTIONS = words('--resolve --connect-to')
/** Options that make a client read from a file what it shall reach. */
const FILE_OPTIONS = words('-K --config -i --input-file')
const INQUIRIES = words('--version --help -V -h')

const HOST = /^[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?$|^[0-9a-f:.]*:[0-9a-f:.]*$/

/** The hosts in `scheme://user@host:port/path`, `user@host:path` or `host:port`, as either way to read it has them. */
function hostsIn(word: string): readonly string[] {
  const scheme = word.search(/:[/\\]{2}/)
  const rest = scheme === -1 ? word : word.slice(scheme + 1).replace(/^[/\\]+/, '')
  // Programs differ in whether a backslash ends the host.
  const authorities = [rest.split(/[/?#]/, 1)[0] ?? '', rest.split(/[/\\?#]/, 1)[0] ?? '']
  return authorities.map((authority) =>
    plainForm(hostOfAuthority(authority)).replace(/\.$/, '').toLowerCase(),
  )
}

/** Words that name what a client shall reach; undefined: it reaches something, and no word says what. */
function targetsOf({
  names,
  operands,
  options,
  optionValues,
}: EffectiveCommand): readonly string[] | undefined {
  const isOf = (set: ReadonlySet<string>) => goesBy(names, set)
  const places = isOf(HOST_FIRST)
    ? operands.slice(0, 1)
    : isOf(COLON_NAMES_HOST)
      ? operands.filter((word) => word.includes(':'))
      : // httpie: a method stands before, what is sent behind.
        operands.filter((word) => !/^[A-Z]+$|^[^/:]*:?=/.test(word))
  const given = optionValues.flatMap(({ option, value }) => {
    if (REPLACING_OPTIONS.has(option)) return value.split(':').filter((part) => !/^[0-9]*$/.test(part))
    if (HOST_OPTIONS.has(option)) return [value]
    return value.includes('://') && !TEXT_OPTIONS.has(option) ? [value] : []
  })
  const isHidden = isOf(SERVICES) || optionValues.some(({ option }) => FILE_OPTIONS.has(option))
  if (isHidden && !isOf(HOST_FIRST) && !isOf(COLON_NAMES_HOST)) return undefined
  const isAsked = operands.length === 0 && options.some((option) => INQUIRIES.has(option))
  return places.length === 0 && !isAsked && !isOf(COLON_NAMES_HOST) ? undefined : [...places, ...given]
}

function isListed(host: string, domains: readonly string[]): boolean {
  return (
    HOST.test(host) &&
    domains.some((domain) =>
      domain.startsWith('*.')
        ? host.endsWith(domain.slice(1)) && host.length >= domain.length
        : host === domain,
    )
  )
}

/** True where the command names an address inside that is not among the reachable ones. */
export function reachesInside(
  { names, operands, optionValues }: EffectiveCommand,
  reachable: InternalAddresses,
): boolean {
  if (!goesBy(names, NETWORK_PROGRAMS))
    return (
      operands.some((word) => isAddressed(word) && namesInternalHost(word, reachable)) ||
      optionValues.some(({ value }) => isAddressed(value) && namesInternalHost(value, reachable))
    )
  // Of the small numbers only 0 leads anywhere: to this host.
  return (
    operands.some(
      (word) => (!isSmallNumber(word) || Number(word) === 0) && namesInternalHost(word, reachable),
    ) ||
    optionValues.some(
      ({ option, value }) =>
        !TEXT_OPTIONS.has(option) && !isSmallNumber(value) && namesInternalHost(value, reachable),
    )
  )
}

function isAddressed(word: string): boolean {
  return word.includes('://') || word.startsWith('git@')
}

/** True where the command would reach a host that is not listed. `domains` are in lower case; `*`: every host is. */
export function reachesUnlisted(command: EffectiveCommand, domains: readonly string[]): boolean {
  if (domains.includes('*')) return false
  const { names, operands, optionValues } = command
  const isNetwork = goesBy(names, NETWORK_PROGRAMS)
  const targets = isNetwork
    ? targetsOf(command)
    : [...operands, ...optionValues.map(({ value }) => value)].filter(
        (word) => (word.includes('://') && !word.startsWith('file://')) || word.startsWith('git@'),
      )
  return targets === undefined || targets.flatMap(hostsIn).some((host) => !isListed(host, domains))
}
