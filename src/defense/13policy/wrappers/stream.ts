/**
 * What a command puts out where that is known beforehand, for the shell or interpreter that it feeds: `echo` and
 * `printf` of known words, a here-document through `cat`. And which programs decode what they are fed.
 * Rules: POSIX.1-2024, echo and printf; bash(1), echo -e.
 * @module
 */

import type { Stdin } from '../arguments/inner.ts'
import type { EffectiveCommand } from '../effective.ts'
import { outputOf } from '../shell/output.ts'
import type { ShellWord } from '../shell/shell.ts'

/** What `words` put out; undefined where it is not known. */
export function knownOutput(
  names: readonly string[],
  words: readonly ShellWord[],
  stdin: Stdin,
): string | undefined {
  const name = names[0]
  if (name === 'cat' || name === 'tee') {
    if (stdin.kind !== 'text' && stdin.kind !== 'pipe') return undefined
    const isPlain = words
      .slice(1)
      .every(({ text }) => text === '-' || text === '-u' || (name === 'tee' && !text.startsWith('/dev/')))
    if (!isPlain) return undefined
    if (stdin.kind === 'pipe') return stdin.isDecoded ? undefined : stdin.output
    return stdin.word.opaque === undefined ? stdin.word.text : undefined
  }
  if (name !== 'echo' && name !== 'printf') return undefined
  if (words.some(({ opaque, isGlob }) => opaque !== undefined || isGlob)) return undefined
  const texts = words.slice(1).map(({ text }) => text)
  const output = outputOf([name, ...texts])
  // Whether a plain echo reads escapes is the shell's choice; what it would then run is the worse of the two.
  return output ?? (name === 'echo' ? outputOf([name, '-e', ...texts]) : undefined)
}

const ALWAYS_DECODES: ReadonlySet<string> = new Set(
  'gunzip zcat bzcat bunzip2 xzcat unxz lzcat unlzma zstdcat unzstd lz4cat uncompress uudecode rev tr rot13 crypt ccrypt unpigz funzip'.split(
    ' ',
  ),
)
const DECODES_WITH: ReadonlyMap<string, readonly string[]> = new Map([
  ['base64', ['-d', '-D', '--decode', '-i', '--d']],
  ['base32', ['-d', '-D', '--decode']],
  ['basenc', ['-d', '--decode']],
  ['xxd', ['-r', '-revert', '-reverse']],
  ['openssl', ['-d', '-decrypt']],
  ['gzip', ['-d', '--decompress', '--uncompress']],
  ['bzip2', ['-d', '--decompress']],
  ['xz', ['-d', '--decompress']],
  ['lzma', ['-d', '--decompress']],
  ['zstd', ['-d', '--decompress']],
  ['lz4', ['-d']],
  ['pigz', ['-d']],
  ['gpg', ['-d', '--decrypt']],
  ['age', ['-d', '--decrypt']],
])

/** Whether the command turns what it reads into something that no reader of the command line can see. */
export function decodes({ names, options }: Pick<EffectiveCommand, 'names' | 'options'>): boolean {
  return names.some((name) => {
    if (ALWAYS_DECODES.has(name)) return true
    const wanted = DECODES_WITH.get(name)
    // Long options also count by their beginnings.
    return (
      wanted?.some((option) =>
        options.some((given) => given === option || (given.length > 3 && option.startsWith(given))),
      ) ?? false
    )
  })
}
