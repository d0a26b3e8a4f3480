/**
 * Programs that change the files that they are given in their place: formatters, fixers, optimisers. Some always do,
 * unless they are told to look alone; others where an option or a word says so. And programs of many words with those
 * that make a directory or a file of what is named behind them.
 * From the manual pages of the programs named.
 * @module
 */

import { goesBy } from '../programs/names.ts'
import type { ShellWord } from '../shell/shell.ts'
import type { ParsedArguments } from './options.ts'

const ALWAYS: ReadonlySet<string> = new Set(
  'black isort rustfmt elm-format swiftformat astyle indent buildifier scalafmt mdformat jpegoptim optipng oxipng advpng upx chrpath install_name_tool patchelf pyupgrade nimpretty csharpier stylua dartfmt phpcbf pint ktfmt nixfmt alejandra nixpkgs-fmt fantomas addlicense pyproject-fmt ssort recode elfedit yamlfmt yamlfix jhead mid3v2 id3v2 eyeD3 exiv2 reorder-python-imports gersemi'.split(
    ' ',
  ),
)
const LOOKING: readonly string[] = Object.freeze([
  ...[
    '--check',
    '--diff',
    '--dry-run',
    '--dryrun',
    '--lint',
    '--test',
    '--list',
    '--print-rpath',
    '-n',
    '-t',
  ],
])
/** These take one of the short options for it. */
const BY_LETTER: ReadonlySet<string> = new Set(
  'gofmt goimports gofumpt shfmt yapf autopep8 autoflake docformatter clang-format cmake-format ormolu fourmolu brittany stylish-haskell hindent ocamlformat google-java-format palantir-java-format uncrustify ktlint rubocop standardrb codespell misspell typos perltidy tidy toml-sort pg_format php-cs-fixer sqlfluff taplo dprint yq xmlstarlet terraform tofu deno cljfmt zprint black ruff biome'.split(
    ' ',
  ),
)
const LETTERS: readonly string[] = Object.freeze([
  '-i',
  '-w',
  '-F',
  '-a',
  '-A',
  '-m',
  '-b',
  '-ir',
  '-wr',
  '-L',
])
/** To these, one of the words says it, and no letter. */
const BY_WORD: ReadonlySet<string> = new Set('cargo go dotnet zig mix dart swift gleam'.split(' '))
const WORDS: readonly string[] = Object.freeze(['fmt', 'format', 'fix'])
/** Whatever the program, it changes what it is given. */
const LONG =
  /^--(?:fix|write|in-?place|replace|overwrite|auto-?correct(?:-all)?|auto-?fix|fix-(?:only|dry)|unsafe-fixes|apply)$/

/** Whether the program `names` changes the files among its operands. */
export function rewrites(names: readonly string[], { options, operands }: ParsedArguments): boolean {
  if (options.some((option) => LONG.test(option))) return true
  if (goesBy(names, ALWAYS)) return !options.some((option) => LOOKING.includes(option))
  if (goesBy(names, BY_WORD)) return WORDS.includes(operands[0]?.text ?? '')
  if (!goesBy(names, BY_LETTER)) return false
  return options.some((option) => LETTERS.includes(option)) || WORDS.includes(operands[0]?.text ?? '')
}

const CREATIONS: ReadonlyMap<string, readonly string[]> = new Map(
  [
    'cargo new init vendor',
    'flutter create',
    'dart create',
    'svn checkout co export',
    'hg clone init archive',
    'bzr branch checkout init',
    'git submodule bundle',
    'gh repo',
    'glab repo',
    'rails new',
    'django-admin startproject startapp',
    'uv venv init',
    'poetry new init',
    'meson setup',
    'npm init',
    'npx *',
    'ng new',
    'hugo new',
    'zola init',
    'mdbook init',
    'mix new',
    'stack new',
    'dpkg-deb *',
    'west init',
    'nest new',
    'vue create',
    'wkhtmltopdf *',
    'sphinx-build *',
    'sphinx-quickstart *',
    'mksquashfs *',
    'create-react-app *',
    'virtualenv *',
    'degit *',
    'tiged *',
    'giget *',
  ].map((line) => {
    const [name = '', ...orders] = line.split(' ')
    return [name, orders] as const
  }),
)

/** The operand that such a program makes, where it is not the first word: the last one that is no address. */
export function created(name: string, { operands }: ParsedArguments): ShellWord | undefined {
  const orders = CREATIONS.get(name)
  if (orders === undefined) return undefined
  const isAny = orders.includes('*')
  if (!isAny && !orders.includes(operands[0]?.text ?? '')) return undefined
  const last = operands.slice(isAny ? 0 : 1).findLast(({ text }) => !text.includes('://'))
  // In a bundle the file comes first.
  return name === 'git' && operands[0]?.text === 'bundle' ? operands[2] : last
}
