/**
 * Programs of which the command line does not say what they do, by what they are: one table. What is not here is plain
 * where it is known at all. sed and awk are read, and so are the shells and the programs that start the program in their
 * arguments.
 * Rules: docs/policy.md, "What is not read".
 * @module
 */

/** Classes that go by the program's name. */
export type ProgramClass = 'interpreter' | 'build' | 'launcher'

const LINES: readonly (readonly [ProgramClass, string])[] = [
  // Languages
  [
    'interpreter',
    'python node bun deno perl ruby irb php lua tclsh wish expect Rscript R guile julia groovy scala elixir iex erl escript ghc runghc runhaskell ghci ocaml swipl racket sbcl clisp octave octave-cli bpftrace stap osascript',
  ],
  [
    'interpreter',
    'gjs seed qjs qjsc mujs duk njs js d8 jsc txiki tjs jjs jrunscript nashorn electron nw zx raku crystal thor pry sage pdb ipython bpython ptpython hy pyspark moon luau tarantool gforth pforth kotlin csharp csi fsi jshell groovysh scala-cli clojure clj bb bsh ucode swift yap gprolog ecl ccl abcl chez scheme gsi gosh chibi-scheme mit-scheme kawa janet fennel nim zig pike io factor newlisp picolisp rexx regina dotnet mono maxima gp scilab matlab wolframscript root gdl yorick rust-script evcxr sml poly gap gst haxe sclang spark-shell amm coffee lsc java wine nu elvish xonsh pwsh',
  ],
  // Programs that take orders of their own, and start others by them
  [
    'interpreter',
    'vim ed ex emacs nano joe kak hx micro mg jed zile gdb lldb m4 gnuplot bc dc sqlite3 duckdb psql pgcli mysql mycli usql cqlsh bq mongo redis-cli cypher-shell influx clickhouse clickhouse-client clickhouse-local gimp inkscape blender xfs_io',
  ],
  [
    'interpreter',
    'yq gojq jaq mlr q csvtool exiftool xmllint jsonnet dhall gomplate doxygen fossil ranger lf nnn vifm irssi weechat kermit r2 radare2 rizin rz uwsgi execlineb kotlinc idris2 ipython3 flask',
  ],
  // Build, test and project tools
  [
    'build',
    'make just task go-task mk redo samu ninja cmake ctest cpack meson muon scons waf bazel bazelisk buck buck2 plz please pants gradle gradlew mvn mvnw mvnd ant sbt mill lein boot rake gulp grunt nimble cargo cross go msbuild xbuild mix rebar rebar3 cabal stack dune opam xcodebuild',
  ],
  [
    'build',
    'npm npx yarn pnpm pnpx bunx tox nox hatch pdm poetry pipenv uv uvx rye pixi pip pipx pytest robot behave coverage invoke inv fab doit snakemake nextflow conan vcpkg composer luarocks cpan cpanm gem bundle bundler shards dub gprbuild premake5 xmake qmake b2 bjam webpack vite rollup jest vitest mocha ava playwright cypress nx turbo lerna earthly dagger act nodemon watchexec entr air',
  ],
  [
    'build',
    'platformio pio west idf.py arduino-cli sphinx-build mkdocs hugo jekyll zola terraform tofu terragrunt packer ansible ansible-playbook pre-commit lefthook husky lint-staged foreman honcho overmind hyperfine colcon catkin_make catkin automake autoconf autoreconf bitbake kas tsc ts-node swc babel parcel esbuild next nuxt astro eslint prettier stylelint karma rspec cucumber phpunit phpstan pylint mypy ruff flake8 black latexmk pdflatex xelatex lualatex latex tex dpkg-buildpackage debuild rpmbuild makepkg abuild checkinstall configure',
  ],
  // Compilers: what they take in stands in the sources
  [
    'build',
    'gcc g++ cc c++ c89 c99 clang clang++ gfortran tcc rustc javac as nasm yasm ld cpp gnatmake gprbuild ocamlc ocamlopt mcs swiftc ldc2 dmd fpc crystal gccgo tinygo valac',
  ],
  // What starts programs that its arguments do not hold, or elsewhere
  [
    'launcher',
    'rr uftrace bind enable setarch runcon su runuser sg newgrp capsh script msgfilter perf volta cross-env-shell wezterm direnv dvc hg svn jj qsub bsub sbatch condor_run torchrun kernprof pidstat',
  ],
  [
    'launcher',
    'docker podman nerdctl buildah kubectl oc crictl ctr lxc compose docker-compose podman-compose tmux screen dtach abduco byobu zellij at batch crontab supervisord supervisorctl pm2 forever runsvdir s6-svscan s6-rc systemd-run vagrant qemu-system qemu-user kexec run-parts',
  ],
]

const CLASSES: ReadonlyMap<string, ProgramClass> = new Map(
  LINES.flatMap(([kind, names]) => names.split(' ').map((name) => [name, kind] as const)),
)

/** The class of a program that goes by `names`, the first that has one; undefined: its command line says what it does. */
export function programClass(names: readonly string[]): ProgramClass | undefined {
  for (let at = 0; at < names.length; at++) {
    const found = CLASSES.get(names[at] ?? '')
    if (found !== undefined) return found
  }
  return undefined
}
