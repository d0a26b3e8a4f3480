/**
 * Files of a project that its tools run from: package.json, setup.py, conftest.py, compose.yaml. They count where the
 * request has written them; otherwise they are files like any other.
 * From the documentation of npm, pip, pytest and Compose.
 * @module
 */

import type { ShellWord } from '../shell/shell.ts'
import { argv, type Call, type Inner, literal, optionValue, shell, type Unwrap } from './inner.ts'

/** Orders of npm and its kin that run what the package says. */
const RUNNING: ReadonlySet<string> = new Set(
  'install i ci add run run-script test t start restart publish pack rebuild update up prune version link dev build'.split(
    ' ',
  ),
)
/** What people write has some dozens. */
const SCRIPTS_MAX = 64

/** The `scripts` of a package, each a text for a shell. */
function packageScripts(word: ShellWord): readonly Inner[] {
  let scripts: unknown
  try {
    scripts = (JSON.parse(word.text) as { scripts?: unknown }).scripts
  } catch {
    return []
  }
  if (typeof scripts !== 'object' || scripts === null) return []
  return Object.values(scripts)
    .filter((text) => typeof text === 'string')
    .slice(0, SCRIPTS_MAX)
    .map((text) => shell({ ...word, text }, 'npm run'))
}

export const packageFile: Unwrap = (call) => {
  const order = call.words.find(({ text }, index) => index > 0 && !text.startsWith('-'))?.text
  const isBare = order === undefined && call.name === 'yarn'
  if (!isBare && !RUNNING.has(order ?? '')) return []
  return [
    { kind: 'script', word: literal('package.json'), language: undefined, via: 'npm', read: packageScripts },
  ]
}

function pythonFile(name: string, via: string): Inner {
  const read = (word: ShellWord): readonly Inner[] => [{ kind: 'code', language: 'python', word, via }]
  return { kind: 'script', word: literal(name), language: 'python', via, read }
}

/** `build-backend = "x"`, `cmdclass = "x.Y"`: what builds the package, where that is a file of the project. */
const MODULE = /["']([A-Za-z_]\w{0,63})(?=["'.:])/g
/** What a back end runs without being told. */
const BUILD_MODULES: readonly string[] = Object.freeze(['hatch_build', 'build'])

function backendFile(directory: string, via: string): Inner {
  const read = ({ text }: ShellWord): readonly Inner[] => {
    const named = [...text.matchAll(MODULE)].slice(0, SCRIPTS_MAX).map(([, module = '']) => module)
    return [...new Set([...BUILD_MODULES, ...named])].flatMap((module) =>
      [`${module}.py`, `${module}/__init__.py`].map((file) => pythonFile(`${directory}/${file}`, via)),
    )
  }
  return { kind: 'script', word: literal(`${directory}/pyproject.toml`), language: undefined, via, read }
}

/** `pip install .`, `pip install -e DIRECTORY`: the set-up of what is installed runs. */
export const pythonProject: Unwrap = (call) => {
  if (!call.words.slice(1, 4).some(({ text }) => ['install', 'wheel', 'download', 'sync'].includes(text)))
    return []
  return call.words
    .slice(1)
    .filter(
      ({ text, opaque }) =>
        opaque === undefined && /^(?:\.|\/|~)/.test(text) && !/\.(?:whl|txt|gz|zip|toml)$/.test(text),
    )
    .slice(0, 4)
    .flatMap(({ text }) => {
      const directory = text.replace(/\[.*$/, '')
      return [pythonFile(`${directory}/setup.py`, call.name), backendFile(directory, call.name)]
    })
}

/** `pytest [FILE]`: what the tests and what is set up for them do. */
export const pythonTests: Unwrap = (call) => {
  const files = call.parsed.operands.filter(
    ({ text, opaque }) => opaque === undefined && text.includes('.py'),
  )
  const named = files.slice(0, 8).map(({ text }) => pythonFile(text.split('::', 1)[0] ?? text, call.name))
  return [pythonFile('conftest.py', call.name), ...named]
}

const COMPOSE_FILES: readonly string[] = [
  'compose.yaml',
  'compose.yml',
  'docker-compose.yml',
  'docker-compose.yaml',
  'compose.override.yaml',
  'compose.override.yml',
  'docker-compose.override.yml',
  'docker-compose.override.yaml',
]
const COMPOSE_RUNS: ReadonlySet<string> = new Set(['up', 'run', 'create', 'start', 'restart', 'watch'])
/** Places of the host that a service is given, as `docker run -v` takes them. */
const VOLUME = /["'\s-](\/[\w./-]{0,256}:[\w./:-]{1,256})/g
/** And in the longer form, `source: /x` by itself. */
const BIND_SOURCE = /\b(?:source|src|device)["']?\s{0,4}:\s{0,4}["']?(\/[\w./-]{0,256})/g
/** What it is given beside, as options of `docker run`. */
const GIVEN: readonly (readonly [RegExp, string])[] = [
  [/privileged["']?\s{0,4}:\s{0,4}["']?(?:true|yes|on)\b/i, '--privileged'],
  [/pid["']?\s{0,4}:\s{0,4}["']?host\b/, '--pid=host'],
  [/network_mode["']?\s{0,4}:\s{0,4}["']?host\b/, '--network=host'],
  [/\bSYS_ADMIN\b/, '--cap-add=SYS_ADMIN'],
]

/** A description of services as the containers that it starts. */
function composed(word: ShellWord): readonly Inner[] {
  const options = GIVEN.filter(([pattern]) => pattern.test(word.text)).map(([, option]) => literal(option))
  for (const [, volume = ''] of word.text.matchAll(VOLUME)) {
    options.push(literal('-v'), literal(volume))
    if (options.length > SCRIPTS_MAX) break
  }
  for (const [, source = ''] of word.text.matchAll(BIND_SOURCE)) {
    options.push(literal('-v'), literal(`${source}:/bound`))
    if (options.length > SCRIPTS_MAX) break
  }
  return options.length === 0
    ? []
    : argv([literal('docker'), literal('run'), ...options, literal('image')], 'compose')
}

export const composeFile: Unwrap = (call: Call) => {
  const words = call.words.slice(1)
  const isCompose = call.name.endsWith('-compose') || words.slice(0, 6).some(({ text }) => text === 'compose')
  if (!isCompose || !words.some(({ text }) => COMPOSE_RUNS.has(text))) return []
  const given = optionValue(call.parsed, '-f', '--file')
  const files = given === undefined ? COMPOSE_FILES.map(literal) : [given]
  return files.map((word) => ({ kind: 'script', word, language: undefined, via: 'compose', read: composed }))
}
