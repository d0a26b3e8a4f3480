/**
 * Values of variables that could make a program load or run something, and as they are do not: a size of memory, a
 * number of jobs, libraries of the project itself. Whatever is not known to be plain is not.
 * Rules: node(1), make(1), java(1), ld.so(8), git(1), bash(1).
 * @module
 */
import { isWithin } from '../../../base/text/lexical-path.ts'
import type { EffectiveCommand } from '../effective.ts'
import { joinPath } from '../shell/join-path.ts'

type Setting = EffectiveCommand['assignments'][number]

const VALUE_CHARACTERS = 1_024

function everyWord(form: RegExp): (value: string) => boolean {
  return (value) => value.split(' ').every((word) => word === '' || form.test(word))
}

const node = everyWord(
  /^--(?:max-old-space-size|max-semi-space-size|stack-trace-limit|unhandled-rejections|dns-result-order|disable-warning)=[\w-]+$|^--(?:no-)?(?:trace-(?:warnings|deprecation|uncaught|exit)|warnings|deprecation|enable-source-maps|pending-deprecation|throw-deprecation|experimental-vm-modules|experimental-strip-types|openssl-legacy-provider|preserve-symlinks)$/,
)
/** Letters without `C`, `E`, `f`, `I` and `o`, which take a file, a text or a directory. */
const make = everyWord(
  /^-?[jl](?:[0-9.]+|<unknown>)?$|^-?[kBnqrRsSw]+$|^--(?:jobs|load-average|output-sync)(?:=(?:[\w.]+|<unknown>))?$|^--(?:no-)?(?:print-directory|keep-going|silent|quiet|builtin-rules)$|^[0-9]+$/,
)
/** Directories below the place where the command runs, and those of the system; the end may be what was there before. */
function ownDirectories(value: string, cwd: string | undefined): boolean {
  if (cwd === undefined) return false
  // What was there before stands at the end, or nothing.
  const parts = value.endsWith(':<unknown>') ? value.slice(0, -':<unknown>'.length) : value
  if (parts.includes('<')) return false
  return parts
    .split(':')
    .every(
      (part) =>
        /^\/(?:usr\/(?:local\/)?)?lib(?:64)?(?:\/[\w-]+)?$/.test(part) ||
        isWithin(cwd, joinPath(part.startsWith('/') ? '/' : cwd, part)),
    )
}

/** No place where anybody writes is searched for programs before those of the system. */
function guardedPlaces(value: string): boolean {
  const places = value.split(':')
  // What was there before begins with those of the system.
  const own = places.findIndex((place) => place.startsWith('<') || /^\/(?:usr\/|s?bin\/?$)/.test(place))
  return places
    .slice(0, own === -1 ? places.length : own)
    .every((place) => !/^\/+(?:tmp|var\/+tmp|dev\/+shm)(?:\/|$)/.test(place))
}

const nullFile = (value: string) => value === '/dev/null'

const PLAIN: ReadonlyMap<string, (value: string, cwd: string | undefined) => boolean> = new Map([
  ['NODE_OPTIONS', node],
  ...['MAKEFLAGS', 'MFLAGS', 'GNUMAKEFLAGS'].map((name) => [name, make] as const),
  ['LD_LIBRARY_PATH', ownDirectories],
  ['PATH', guardedPlaces],
  ...['GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM', 'OPENSSL_CONF', 'INPUTRC'].map(
    (name) => [name, nullFile] as const,
  ),
  ['GIT_CONFIG_NOSYSTEM', (value) => /^(?:1|true)$/.test(value)],
  // What a project calls its surroundings; to a shell it would be a file of that name.
  ['ENV', (value) => /^(?:dev|development|test|testing|ci|local|stage|staging|prod|production)$/.test(value)],
  ['PS4', (value) => /^[^$`\\<]*$/.test(value)],
])

export function isPlainSetting({ name, value, stands }: Setting, cwd: string | undefined): boolean {
  const text = value ?? stands
  return text !== undefined && text.length <= VALUE_CHARACTERS && (PLAIN.get(name)?.(text, cwd) ?? false)
}
