/**
 * What stands in the words of tools that build, test, set or convert, whatever option it stands behind: a text with
 * orders in it (`-p:PreBuildEvent=rm -rf /x`, `--gcov-executable 'rm -rf /x'`), or a program and what it acts on
 * (`exec -- rm -rf /x`). These tools have more options and plug-ins than anybody could list, and next to all of them
 * can start a program. Only what clearly does something counts, as in the files that they are told by.
 * @module
 */

import type { ShellWord } from '../shell/shell.ts'
import { changesIn, fileOrdersOf, ordersOf } from './document-orders.ts'
import { type Assignment, argv, type Call, type Inner, literal } from './inner.ts'
import { writesClearly } from './later-paths.ts'
import { goesBy } from './names.ts'
import { parseArguments } from './options.ts'
import { UNKNOWN_FORM } from './programs.ts'
import { begins } from './unknown-starts.ts'

const TOOLS: ReadonlySet<string> = new Set(
  [
    'just task go-task make gmake bmake pmake remake mk tup redo samu samurai ninja cmake ctest cpack meson muon scons waf',
    'bazel bazelisk buck buck2 plz please pants gradle gradlew mvn mvnw mvnd ant sbt mill scala-cli lein clj clojure boot',
    'rake thor gulp grunt nim nimble fpc cargo cross go dotnet msbuild xbuild mix rebar rebar3 cabal stack dune opam zig',
    'swift xcodebuild npm npx yarn pnpm bun bunx deno tox nox hatch pdm poetry pipenv uv rye pixi pytest robot behave',
    'coverage lcov geninfo genhtml gcovr latexmk tex pdftex pdflatex xelatex lualatex luatex tectonic context invoke inv fab',
    'doit snakemake nextflow conan vcpkg composer luarocks cpanm bundle bundler crystal shards dub rdmd gprbuild premake5',
    'xmake qmake b2 bjam webpack vite rollup jest vitest mocha ava playwright cypress nx turbo lerna earthly dagger act',
    'sox play rec ffmpeg ffplay convert magick mogrify exiftool pandoc mlr duckdb esptool platformio pio west idf.py arduino-cli',
    'sphinx-build mkdocs hugo jekyll zola terraform tofu packer ansible ansible-playbook lua-language-server mage goreleaser',
    'pre-commit lefthook husky lint-staged nodemon watchexec entr air reflex process-compose overmind hivemind foreman honcho',
    'hyperfine bumpversion bump2version bump-my-version cz semantic-release release-it changie towncrier cookiecutter copier',
    'kak micro jed mg zile hx helix jove gedit geany lazygit tig gitui zellij',
    'colcon catkin_make catkin alr automake autoconf autoreconf aclocal autom4te autoscan autoheader bitbake kas devtool',
    'abuild redo-ifchange kotlinc kotlin scalac javac jbang coursier cs amm tinygo groovyc',
    'nyc c8 eslint prettier stylelint karma rspec cucumber phpunit phpstan psalm rector phing robo pylint mypy flake8 ruff black',
    'antora standard-version protoc buf flatc thrift sqlc prisma alembic flyway liquibase knex typeorm sequelize dbmate goose',
    'diesel sqlx pyinstaller nuitka cython typst ko skaffold tilt molecule drush storybook ng next nuxt astro tsc ts-node swc',
    'babel parcel esbuild terragrunt ansible-galaxy vagrant rubocop cpanm semantic-release',
    'node-gyp electron-builder golangci-lint patch-package degit',
    'basex xidel zorba saxon xqilla',
    'gnatmake dmd ldc2 lazbuild ocamlc ocamlopt ocamlfind ghc rustc rustdoc doxygen cppcheck clang-tidy iwyu bear scan-build infer codechecker coverity valgrind kcov bats shellspec',
  ].flatMap((names) => names.split(' ')),
)

/** Words of one command that are looked at, and how long a text may be: what people write is less. */
const WORDS_MAX = 64
const TEXT_MAX = 8_192

/** Whether what is said here holds for a program that goes by `names`. */
export function isTool(names: readonly string[]): boolean {
  return goesBy(names, TOOLS)
}

/** Options of which each occurrence adds a word to one command: `--test-cmd rm --test-cmd -rf`. */
const GATHERED: ReadonlySet<string> = new Set('--test-cmd --shell --shell-arg --exec-arg'.split(' '))

const NOTHING = (): readonly Inner[] => []

/** A place where anybody writes, in a word. */
const TEMPORARY = /(?:^|[=:,;"'@ ])((?:\/tmp|\/var\/tmp|\/dev\/shm|\/run\/shm)(?:\/[^\s"',;]{0,1024})?)$/
/** Names that say of a file that it is loaded or started: `--sbt-jar`, `-p:CustomBeforeTargets`, `--compiler-subst`. */
const LOADED =
  /compiler|linker|wrapper|launcher|preload|require|plug-?in|hook|loader|toolchain|targets|props|shell|exec|runner|command|-cmd|jar$|agent|interpreter|debugger|extension|deps|probing|script|import|include|global\.base|module|initial|settings|home$|home=|[-_.]args|program|repository\.config|tool$|tool=|conf|adapter|logger|bootstrap|setup|reporter|formatter|template|themes|schema|(?:gem|knex|make|task|just|rake|vagrant|tilt|proc)file|patch|autoload|upx|backend|-load$|-load=|-x(?:swiftc|frontend|clang|cc)$|fuse-ld|link-?flags|pass-?l\b|_(?:cc|cxx|ld|link)=|\.path=/i
/** Letters by which a tool is told what to load. */
const LETTERS: ReadonlyMap<string, readonly string[]> = new Map(
  [
    'bun bunx mocha deno | -r',
    'gradle gradlew | -g',
    'autoreconf aclocal automake autoconf autom4te autoscan | -I -B',
    'bmake | -m',
    'mk | -f',
    'bitbake | -R -r',
    'eslint | -f --format',
    'rspec cucumber rubocop nyc c8 | -r -I',
    'phpunit phpstan psalm alembic playwright karma hatch sphinx-build | -c',
    'sqlc flyway | -f',
    'golangci-lint air electron-builder reflex | -c',
    'node-gyp | --python',
    'pipenv | --python',
    // It is the first word.
    'doxygen | doxygen',
    'karma | start',
    'husky | install',
    'semantic-release | -e',
  ].flatMap((line) => {
    const [names = '', letters = ''] = line.split(' | ')
    return names.split(' ').map((name) => [name, letters.split(' ')] as const)
  }),
)

const PLACED = /out|log(?!ger)|report|cache|result|dump|trace|dest|save|export|junit|cov|history|pid$/i

/** What a tool is told by such a name to load or start from a place where anybody writes. */
function loadedIn(words: readonly ShellWord[]): readonly Inner[] {
  return words.flatMap((word, index): readonly Inner[] => {
    if (!word.text.includes('/tmp') && !word.text.includes('/shm')) return []
    const path = TEMPORARY.exec(word.text)?.[1] ?? ''
    if (path === '') return []
    const attached = word.text.slice(0, word.text.length - path.length)
    const name = attached === '' ? (words[index - 1]?.text ?? '') : attached
    const isNamed =
      ((attached !== '' || /^[-/]/.test(name)) && LOADED.test(name) && !PLACED.test(name)) ||
      LETTERS.get(words[0]?.text ?? '')?.includes(name) === true
    return isNamed ? argv([{ ...word, text: path }], 'load') : []
  })
}

function ordersIn(
  { text, opaque }: ShellWord,
  changes: (text: string) => readonly Inner[],
): readonly Inner[] {
  if (opaque !== undefined || text.length > TEXT_MAX || !/[\s(]/.test(text)) return []
  return [...ordersOf(text), ...changes(text)]
}

/** Options that are handed on as one text, or behind two dashes: `--args='--output /x'`, `run gen -- --output /x`. */
function handedOn(words: readonly ShellWord[]): readonly Inner[] {
  const dashes = words.findIndex(({ text }) => text === '--')
  const behind = dashes < 0 ? [] : [words.slice(dashes + 1)]
  const texts = words.filter(({ text, opaque }) => opaque === undefined && HANDED_ON.test(text))
  return [
    ...behind,
    ...texts.map(({ text }) =>
      text
        .replace(/^[-\w.]{1,64}=(?=-)/, '')
        .split(/\s+/, WORDS_MAX)
        .map(literal),
    ),
  ].flatMap((given) =>
    parseArguments(given, UNKNOWN_FORM, 0).values.flatMap(({ option, word, use }): readonly Inner[] =>
      use === 'write' && writesClearly(option) ? [{ kind: 'path', word, use }] : [],
    ),
  )
}
/** An option and a whole path in one text. */
const HANDED_ON = /(?:^|[\s=])-{1,2}\w[\w.-]{0,64}[\s=](?:\/|~\/)/

/** The orders in the texts that a tool is given: as arguments, in variables that are set for it, and on its input. */
export function textsOfTool(call: Call, assignments: readonly Assignment[]): readonly Inner[] {
  const { words, stdin, names, parsed } = call
  // What code changes is read out of it as code.
  const codes = new Set(parsed.values.filter(({ use }) => use === 'code').map(({ word }) => word))
  const given =
    stdin.kind === 'text'
      ? [stdin.word]
      : stdin.kind === 'pipe' && stdin.output !== undefined
        ? [literal(stdin.output)]
        : []
  const gathered = words.filter((_, index) => GATHERED.has(words[index - 1]?.text ?? ''))
  return [
    ...[...words.slice(1, WORDS_MAX), ...assignments.map(({ value }) => value)].flatMap((word) =>
      ordersIn(word, codes.has(word) ? NOTHING : changesIn),
    ),
    ...given.flatMap((word) => ordersIn(word, fileOrdersOf)),
    ...loadedIn(words.slice(0, WORDS_MAX)),
    ...handedOn(words.slice(0, WORDS_MAX)),
    ...(gathered.length > 1 ? argv(gathered, names[0] ?? '--') : []),
  ]
}

/** The command that begins among the words of a tool. */
export function commandOfTool({ words, names }: Call): readonly Inner[] {
  const end = Math.min(words.length - 1, WORDS_MAX)
  for (let index = 1; index < end; index++)
    if (begins(words, index)) return argv(words.slice(index), names[0] ?? '--')
  return []
}
