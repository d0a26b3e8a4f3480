/**
 * Files by which the tools of a project are told what to do, where the request has written them itself: a recipe, a
 * build script, a source that is built and run. Whoever writes `build.rs` and calls `cargo` runs what is in it. A file
 * that was there before is the project's own, and not looked at.
 * From the documentation of the tools named.
 * @module
 */
import { baseName } from '../../../base/lexical-path.ts'
import { fileOrdersOf, ORDERS_MAX, ordersOf, withSettings } from './document-orders.ts'
import type { Flow, Made } from './flow.ts'
import { type Call, type Inner, type Language, literal, PROJECT, shell, type Unwrap } from './inner.ts'

/**
 * `orders`: no language that is read, but lines in which commands stand; `directives`: they stand in comments of their
 * own; `files`: it takes in other files by name.
 */
type Written = Language | 'shell' | 'orders' | 'directives' | 'files'
type Reader = {
  /** The tool may run it, and may not. */
  readonly isGuess: boolean
  readonly files: ReadonlySet<string>
  readonly suffixes: readonly string[]
  readonly language: Written
}

/** Tools that run the commands which stand in the settings of a project, whatever the file is called. */
const TASK_TOOLS =
  'dub shards rebar3 luarocks snapcraft cargo cargo-make makers mise rtx asdf pipenv pdm hatch poe poetry taskipy pixi rye uv deno nx turbo lerna moon lage wireit husky lint-staged act gitlab-runner gradle gradlew mvn mvnd maven ant sbt msbuild dotnet composer tmuxinator tmuxp teamocil smug process-compose mprocs runme xc pylint bazel task go-task lefthook pre-commit tox nox vagrant serverless sst skaffold tilt garden devspace mage semantic-release release-it goreleaser changie conda conda-build mamba micromamba cmake meson hg robot behave nextflow cwltool toil miniwdl dvc mlflow mysql mariadb telegraf vector fluent-bit fluentd logstash uwsgi circusd monit modd air nodemon code watchexec reflex supervisord collectd snmpd pio platformio scons invoke inv fab conan west'

/** TOOLS | FILES, with a star before a suffix | LANGUAGE, with a question mark where the tool may also leave them alone */
const LINES: readonly string[] = [
  'just | justfile Justfile .justfile | orders',
  'dune ocamlbuild | dune dune-project myocamlbuild.ml | orders',
  'cargo cross rustc | config.toml config | orders',
  'go | *.go | directives',
  'go | go.mod go.work *.go | orders',
  'autoconf autoreconf autom4te aclocal autoheader m4 | configure.ac configure.in acinclude.m4 aclocal.m4 *.m4 *.ac | orders',
  'nox invoke inv fab waf doit snakemake scons conan | noxfile.py tasks.py fabfile.py wscript dodo.py Snakefile SConstruct SConscript conanfile.py | orders',
  'task go-task | Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml | orders',
  'tox | tox.ini setup.cfg pyproject.toml | orders',
  'pre-commit prek lefthook | .pre-commit-config.yaml lefthook.yml | orders',
  'coverage | .coveragerc | orders',
  'foreman honcho overmind hivemind goreman | Procfile | orders',
  'direnv | .envrc | shell',
  'rake | Rakefile rakefile Rakefile.rb *.rake | ruby',
  'bundle bundler gem | Gemfile *.gemspec | ruby',
  'vagrant | Vagrantfile | ruby',
  'fastlane | Fastfile | ruby',
  'jekyll rspec guard | _plugins.rb spec_helper.rb Guardfile *_spec.rb | ruby',
  'cargo cross | *.rs | other',
  'go tinygo | *.go | other',
  'swift | *.swift | other',
  'zig | *.zig | other',
  'stack cabal runhaskell | *.hs | other',
  'mix iex | *.exs *.ex | other',
  'gradle gradlew | build.gradle settings.gradle init.gradle *.gradle *.gradle.kts *.java *.kt | other',
  'sbt mill scala-cli | build.sbt build.sc *.scala | other',
  'java javac kotlinc | *.java *.kt | other',
  'dotnet msbuild | *.cs *.fs | other',
  'dub dmd rdmd | *.d | other',
  'make gmake ninja meson | *.c *.cc *.cpp *.cxx | other',
  'cmake ctest meson ninja bazel bazelisk | CMakeLists.txt *.cmake meson.build build.ninja BUILD BUILD.bazel *.bzl | orders',
  'make gmake | Makefile makefile GNUmakefile *.mk | files',
  'latex pdflatex xelatex lualatex tex pdftex latexmk tectonic | *.tex *.sty | files',
  'gradle gradlew | *.gradle *.gradle.kts | orders',
  'xmllint xmlstarlet xsltproc saxon rsvg-convert inkscape wkhtmltopdf convert magick asciidoctor groff troff soelim m4 dot | *.xml *.xsl *.xslt *.svg *.html *.adoc *.ms *.roff *.m4 *.dot | files',
  'mvn ant msbuild dotnet | pom.xml build.xml *.csproj *.targets | orders',
  'composer | composer.json | orders',
  'terraform tofu packer terragrunt | *.tf *.hcl | orders',
  'scons | SConstruct SConscript | python',
  'nox | noxfile.py | python',
  'invoke inv | tasks.py | python',
  'fab | fabfile.py | python',
  'waf | wscript | python',
  'conan | conanfile.py | python',
  'doit | dodo.py | python',
  'poetry hatch pdm | build.py hatch_build.py | python',
  'snakemake | Snakefile | python',
  'mypy pylint sphinx-build locust gunicorn celery alembic django-admin | *.py | python',
  'python pytest py.test coverage | sitecustomize.py usercustomize.py conftest.py __main__.py *.pth .pythonrc .pythonrc.py | python',
  'python pytest py.test coverage flask uvicorn hypercorn streamlit | *.py | python?',
  'pio platformio scons waf conan invoke inv fab doit snakemake pre-commit west meson cmake tox nox hatch poetry pdm uv pipenv make gmake flake8 ruff behave robot pyproject-build | *.py | python?',
  'npm npx yarn pnpm nodemon pm2 forever nx turbo lerna make gmake | *.js *.mjs *.cjs *.ts *.mts *.cts | javascript?',
  'rake bundle rails rspec puma rackup unicorn sidekiq cucumber | *.rb | ruby?',
  'composer drush wp | *.php | php?',
  'ruby irb pry | .irbrc .pryrc | ruby',
  'ruby irb pry | *.rb | ruby?',
  'perl | sitecustomize.pl .perldb | perl',
  'perl prove | *.pm *.pmc *.pl *.t | perl?',
  'node bun deno tsx ts-node jest vitest mocha ava jasmine tap playwright cypress electron | *.js *.mjs *.cjs *.jsx *.ts *.mts *.cts *.tsx | javascript?',
  'php phpunit pest artisan | *.php *.phtml *.inc | php?',
  'lua luajit texlua luau busted | *.lua | lua?',
  'R Rscript | .Rprofile Rprofile.site | other',
  'R Rscript | *.R *.r | other?',
  'julia | startup.jl | other',
  'julia | *.jl | other?',
  'ghc ghci ocaml guile sbcl clisp ecl emacs octave octave-cli | .ghci .ocamlinit .guile .sbclrc .clisprc .eclrc .emacs .octaverc | other',
  'ghc ghci ocaml guile racket sbcl clisp ecl emacs octave octave-cli | *.hs *.ml *.scm *.rkt *.lisp *.cl *.el *.m | other?',
  'tclsh wish expect | *.tcl *.tm .tclshrc .wishrc .expect.rc pkgIndex.tcl | tcl',
  'bash | .bashrc .bash_profile .bash_login .profile .bash_logout | shell',
  'sh dash ksh mksh | .profile .kshrc .mkshrc .shrc | shell',
  'zsh | .zshrc .zshenv .zprofile .zlogin .zlogout | shell',
  'fish | config.fish *.fish | shell',
  'sqlite3 sqlite duckdb psql gdb lldb vim vi nvim ex tmux screen git | .sqliterc .duckdbrc .psqlrc .gdbinit .lldbinit .vimrc .exrc init.vim .nvimrc .tmux.conf .screenrc .gitconfig .gitmodules | orders',
  'gnatmake gnat gprbuild | *.ads *.adb | other',
  'nim | *.nim *.nims | other',
  'rustc | *.rs | other',
  'fpc lazbuild | *.pas *.pp | other',
  'v | *.v | other',
  'dart flutter | *.dart | other',
  'scala scalac amm groovy | *.scala *.sc *.groovy | other?',
  'crystal | *.cr | ruby?',
  'raku | *.rakumod *.pm6 | perl?',
  'gnuplot | *.gp *.gnuplot *.plt *.p | orders',
  'mkdocs | *.py | python',
  'bun bunx | package.json bunfig.toml | orders',
  'xmake premake4 premake5 | *.lua | lua',
  'lein clojure clj bb boot shadow-cljs | *.clj *.edn *.bb | other',
  'lein clojure clj bb boot shadow-cljs | *.clj *.edn *.bb | orders',
  'zig | build.zig | orders',
  'make gmake | *.mk | orders',
  'mise rtx asdf | *.sh | shell',
  'git | pre-commit pre-push commit-msg post-commit post-checkout post-merge prepare-commit-msg post-rewrite pre-rebase pre-merge-commit post-receive | shell',
  'luarocks | *.rockspec | orders',
  'luacheck busted luarocks ldoc | .luacheckrc .busted config.ld *.rockspec | lua',
  'php-cs-fixer phpstan psalm rector pint | *.php | php?',
  'nimble nim | *.nimble *.nims | other',
  'qmake qmake6 bjam b2 jam redo redo-ifchange | *.pro *.pri *.prf Jamfile Jamroot Jamfile.v2 *.jam *.do | orders',
  'abuild makepkg ebuild bitbake rpmbuild rpmspec dpkg-buildpackage debuild debian/rules | APKBUILD PKGBUILD *.ebuild *.bb *.bbclass *.bbappend *.spec rules *.install postinst preinst prerm postrm | orders',
  'buck buck2 plz please pants mill sbt scala-cli msbuild dotnet muon xbuild | BUCK BUILD *.bzl *.sc *.sbt *.scala *.proj *.props *.targets meson.build | orders',
  `${TASK_TOOLS} | *.toml *.json *.yml *.yaml *.xml *.cfg *.ini *.properties *.config *.sdl *.hcl *.conf *.cnf *.cwl *.nf *.wdl *.robot *.resource *rc | orders`,
  'gulp grunt | gulpfile.js gulpfile.mjs Gruntfile.js | orders',
  'npm npx yarn pnpm | .npmrc .yarnrc .yarnrc.yml binding.gyp | orders',
  'pytest py.test | pytest.ini tox.ini setup.cfg pyproject.toml | orders',
  'latex pdflatex xelatex lualatex tex pdftex latexmk tectonic | *.tex *.sty *.lua | orders',
  'gulp | gulpfile.js gulpfile.mjs | javascript',
  'grunt | Gruntfile.js | javascript',
  'webpack rollup vite next nuxt astro babel postcss tailwindcss eslint prettier stylelint karma cypress playwright jest vitest mocha ava jasmine tap commitlint release-it semantic-release tsup esbuild nx turbo | *.config.js *.config.mjs *.config.cjs *.config.ts *rc.js *rc.cjs *.test.js *.spec.js *.test.ts *.spec.ts *.test.mjs test.js karma.conf.js | javascript',
]

const READERS: ReadonlyMap<string, readonly Reader[]> = readersOf(LINES)

function readersOf(lines: readonly string[]): ReadonlyMap<string, readonly Reader[]> {
  const readers = new Map<string, Reader[]>()
  for (const line of lines) {
    const [tools = '', files = '', language = ''] = line.split(' | ')
    const all = files.split(' ')
    const reader: Reader = {
      files: new Set(all.filter((file) => !file.startsWith('*'))),
      suffixes: all.filter((file) => file.startsWith('*')).map((file) => file.slice(1)),
      language: language.replace('?', '') as Written,
      isGuess: language.endsWith('?'),
    }
    for (const tool of tools.split(' ')) readers.set(tool, [...(readers.get(tool) ?? []), reader])
  }
  return readers
}

/** `//go:generate cmd`. */
const DIRECTIVE = /^\/\/go:generate[ \t]+([^\n]{1,4096})/gm

function directivesOf(text: string): readonly Inner[] {
  return [...text.matchAll(DIRECTIVE)]
    .slice(0, ORDERS_MAX)
    .map(([, order = '']) => shell(literal(order), PROJECT))
}

/** `scons -f -`, `just -f /dev/stdin`: what the tool is told on its input. */
export const recipeInput: Unwrap = ({ names, words, stdin }) => {
  if (!words.some(({ text }) => text === '-' || text === '/dev/stdin' || text === '-f-')) return []
  const text = stdin.kind === 'text' ? stdin.word.text : stdin.kind === 'pipe' ? stdin.output : undefined
  if (text === undefined) return stdin.kind === 'pipe' ? [{ kind: 'opaque', opaque: 'piped' }] : []
  const readers = names.flatMap((name) => READERS.get(name) ?? [])
  return readers.flatMap((reader) => innerOf(reader, '', { kind: 'text', text }))
}

/** Programs that take in the files which a document names, from their input or from an argument; and those that write one. */
const LOADERS: ReadonlySet<string> = new Set(
  'xmllint xmlstarlet xsltproc saxon xidel basex rsvg-convert inkscape wkhtmltopdf convert magick asciidoctor groff troff soelim m4 dot jq echo printf cat tee'.split(
    ' ',
  ),
)

/** Tools that may be told what to do on their input: `just -f /dev/stdin`. */
const TOLD_BY_INPUT: ReadonlySet<string> = new Set(
  'ant just task go-task cmake ninja samu meson dune packer foreman honcho nox invoke fab snakemake doit mvn pre-commit'.split(
    ' ',
  ),
)

/** What a document takes in that the program of a call is given: entities, pictures, other documents; or its orders. */
export function loadedFiles(call: Call): readonly Inner[] {
  const { names, words, stdin } = call
  if (names.some((name) => TOLD_BY_INPUT.has(name))) return recipeInput(call)
  if (!names.some((name) => LOADERS.has(name))) return NONE
  const input = stdin.kind === 'text' ? stdin.word.text : stdin.kind === 'pipe' ? stdin.output : undefined
  const texts = words.slice(1).map(({ text }) => text)
  return [...texts, ...(input === undefined ? [] : [input])].flatMap(includedFiles)
}

function isRead(reader: Reader, path: string): boolean {
  const name = baseName(path)
  return reader.files.has(name) || reader.suffixes.some((suffix) => name.endsWith(suffix))
}

function innerOf(reader: Reader, path: string, made: Made): readonly Inner[] {
  if (made.kind === 'hidden')
    return (made.isFetched === true || made.opaque === 'decoded') && reader.files.has(baseName(path))
      ? [{ kind: 'opaque', opaque: made.opaque }]
      : []
  if (made.kind !== 'text') return []
  const word = literal(made.text)
  if (reader.language === 'shell') return [shell(word, PROJECT)]
  if (reader.language === 'orders') {
    const text = withSettings(made.text)
    return [...ordersOf(text), ...fileOrdersOf(text)]
  }
  if (reader.language === 'directives') return directivesOf(made.text)
  if (reader.language === 'files') return includedFiles(made.text)
  // An attribute of Rust is no comment.
  const code = path.endsWith('.rs') ? literal(made.text.replaceAll(/#!?\[/g, ' [')) : word
  return [{ kind: 'code', language: reader.language, word: code, via: PROJECT, isGuess: reader.isGuess }]
}

/** What a tool that goes by `names` runs of the files that the request has written; each file once. */
export function innerOfProject(flow: Flow, names: readonly string[]): readonly Inner[] {
  const readers = names.flatMap((name) => READERS.get(name) ?? [])
  if (readers.length === 0) return NONE
  const inner: Inner[] = []
  for (const [path, made] of flow.files) {
    if (flow.run.includes(path)) continue
    const reading = readers.filter((reader) => isRead(reader, path))
    if (reading.length > 0) flow.run.push(path)
    for (const reader of reading) inner.push(...innerOf(reader, path, made))
  }
  return inner
}

const NONE: readonly never[] = Object.freeze([])

/** Files that a compiler takes into what it builds, by their whole paths. */
const INCLUDED =
  /(?:^[ \t]*[#%][ \t]*(?:include|embed|import)[ \t]*["'<]|\.inc(?:bin|lude)[ \t]+"|\binclude(?:_str|_bytes)?!?[ \t]*\(?[ \t]*"|@embedFile\("|\\(?:input|include|verbatiminput|lstinputlisting)\{|^-?include[ \t]+|^\.so[ \t]+|\b(?:SYSTEM|href=|src=|shapefile=|image=|document\(|doc\(|unparsed-text\(|include\(|include::)[ \t]*(?:"|'|&apos;|&quot;)?(?:file:\/\/)?|(?:^|["'=])file:\/\/)((?:\/|~\/)[\w./-]{1,1024})/gm

/** The files that a source or a recipe names to be taken in. */
export function includedFiles(text: string): readonly Inner[] {
  return [...text.slice(0, INCLUDED_CHARACTERS).matchAll(INCLUDED)]
    .slice(0, ORDERS_MAX)
    .map(([, path = '']) => ({
      kind: 'path',
      word: literal(path),
      use: 'read',
    }))
}

const INCLUDED_CHARACTERS = 65_536
