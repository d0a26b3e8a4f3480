/**
 * Whether what a command does with a path that holds secrets has to do with the secret: whether it could show, send,
 * move or weaken it. To see that a file is there, to shut it, to make a new one, and to look at the public part of what
 * lies in it do not.
 * Rules: docs/security.md, "Single things"; openssl-x509(1), openssl-verify(1), ssh-keygen(1), chmod(1).
 * @module
 */
import { baseName, isWithin } from '../base/text/lexical-path.ts'
import type { EffectiveCommand, UsedPath } from './13policy/effective.ts'
import { onlyLists } from './13policy/programs/listing.ts'
import { isSensitive } from './sensitive-file.ts'

/** Everybody reads who is who; what is secret of it lies in /etc/shadow. */
const READABLE: readonly string[] = Object.freeze(['/etc/passwd'])

/** Modes that leave nothing to anybody but the owner. */
const OWN_MODE = /^(?:0?[0-7]00|(?:go|og|g|o)(?:-[rwx]+|=)(?:,(?:g|o)(?:-[rwx]+|=))*|u=r?w?x?,go=)$/

/** Programs that put into a file what they are given, and take nothing out of it. */
const FILLERS: ReadonlySet<string> = new Set('touch tee cp echo printf cat true : install'.split(' '))
/** What they put into a file, the line says. */
const PRINTERS: readonly string[] = Object.freeze(['touch', 'echo', 'printf'])
const EXAMPLE = /^(?:\.\/)?\.env\.(?:example|sample|template|dist|defaults)$/
/** Subcommands of openssl that make a key where they write one. */
const KEY_MAKERS: ReadonlySet<string> = new Set(['req', 'genrsa', 'genpkey', 'ecparam', 'gendsa', 'dsaparam'])
const CERTIFICATE_READERS: ReadonlySet<string> = new Set(['x509', 'verify', 'crl'])
const KEY_OPTIONS: readonly string[] = Object.freeze([
  ...['-key', '-signkey', '-CAkey', '-inkey', '-passin', '-engine', '-provider', '-force_pubkey', '-out'],
])

function isShut({ names, operands, options }: EffectiveCommand): boolean {
  return (
    names[0] === 'chmod' &&
    OWN_MODE.test(operands[0] ?? '') &&
    options.every((option) => ['-v', '-c', '-f', '-R', '--recursive', '--verbose'].includes(option))
  )
}

/** Certificates are for everybody, whatever their files are called. */
function looksAtCertificate({ names, operands, options }: EffectiveCommand): boolean {
  return (
    names[0] === 'openssl' &&
    CERTIFICATE_READERS.has(operands[0] ?? '') &&
    !options.some((option) => KEY_OPTIONS.includes(option))
  )
}

/** A new file in the place where the command runs, of which nothing was secret before. */
function isMade(command: EffectiveCommand, { path, isOpaque, isGlob }: UsedPath): boolean {
  const { names, cwd, operands, options, paths } = command
  if (cwd === undefined || isOpaque || isGlob || !isWithin(cwd, path)) return false
  if (paths.some((other) => other.path === path && other.use !== 'write')) return false
  const [name = ''] = names
  if (name === 'openssl') return KEY_MAKERS.has(operands[0] ?? '')
  if (name === 'ssh-keygen') return options.includes('-t') && !options.includes('-s')
  const file = baseName(path)
  // The one that is in use stays guarded, but for its first making: `cp .env.example .env`.
  if (file === '.env') return name === 'touch' || (name === 'cp' && EXAMPLE.test(operands[0] ?? ''))
  if (!file.startsWith('.env.')) return file.endsWith('.env') && PRINTERS.includes(name)
  // An edit in place shows nothing, unless it writes elsewhere as well.
  if (name === 'sed') return !paths.some((other) => other.use === 'write' && other.path !== path)
  return FILLERS.has(name)
}

export function usesSecret(command: EffectiveCommand, home: string): boolean {
  if (!command.paths.some(({ path, isGlob }) => isSensitive(path, home, isGlob))) return false
  const secrets = command.paths.filter(({ path, isGlob }) => isSensitive(path, home, isGlob))
  if (onlyLists(command) || isShut(command) || looksAtCertificate(command)) return false
  return secrets.some(
    (used) =>
      !(used.use !== 'write' && READABLE.includes(used.path)) &&
      !(used.use === 'write' && isMade(command, used)),
  )
}
