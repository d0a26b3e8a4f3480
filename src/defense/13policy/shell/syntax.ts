/**
 * The syntax tree of a shell text, and what an analysis of it gives. Types alone; lexer.ts and parser.ts
 * make the tree, run.ts walks it.
 * Rules: POSIX.1-2024 XCU 2, with what bash and busybox ash add.
 * @module
 */
import type { Opaque } from '../effective.ts'

export type ShellWord = {
  /** The value after quote removal and known expansions; where opaque, the longest beginning that is known. */
  readonly text: string
  /** Unquoted `*`, `?` or `[ ]` are in it. */
  readonly isGlob: boolean
  readonly opaque: Opaque | undefined
  /** Where opaque: the whole word, with `<unknown>` for what is not known. */
  readonly stands?: string
}

/** `write` covers `>`, `>>`, `>|`, `&>` and `&>>`; of `text` (here-document, here-string) the target is the text. */
export type ShellRedirect = {
  readonly fd: number
  readonly kind: 'read' | 'write' | 'readwrite' | 'text' | 'dup'
  readonly target: ShellWord
}

export type ShellCommand = {
  /** Program first; empty for a bare assignment or redirection. */
  readonly words: readonly ShellWord[]
  readonly assignments: readonly { readonly name: string; readonly value: ShellWord }[]
  readonly redirects: readonly ShellRedirect[]
  /** Followed through `cd` and `pushd`; undefined once it is not known. */
  readonly cwd: string | undefined
  /** Commands of one pipeline share the number; `place` is the position in it, 0 first. */
  readonly pipeline: number
  readonly place: number
  /** It ran inside `$( )`, backticks, `<( )` or `>( )`. */
  readonly isSubstitution: boolean
  /** Of `eval` and `trap`, whose text runs in the shell itself: what is known of the variables there. */
  readonly environment?: NonNullable<ShellContext['environment']>
}

/** `opaque` is about the whole text: `syntax` or `limit`. */
export type ShellScript = { readonly commands: readonly ShellCommand[]; readonly opaque: readonly Opaque[] }

export type ShellContext = {
  readonly cwd: string | undefined
  readonly home: string
  /**
   * Values known beforehand. With `@` given, the positional parameters are all known: those called `1`, `2`..., or
   * where none is, the words of `@`. Without this map there are none; with it and without `@` they are not known.
   */
  readonly variables?: ReadonlyMap<string, string>
  /** The positional parameters, where they are known as words. */
  readonly positional?: readonly ShellWord[]
  /** Variables that the shell is started with, the later of two of a name. */
  readonly environment?: readonly { readonly name: string; readonly value: ShellWord }[]
}

export type WordPart =
  | { readonly kind: 'text'; readonly text: string; readonly isQuoted: boolean }
  | { readonly kind: 'parameter'; readonly parameter: Parameter; readonly isQuoted: boolean }
  /** `isValue`: it gives the value of REPLY, and not what it prints. */
  | {
      readonly kind: 'substitution'
      readonly body: List
      readonly isQuoted: boolean
      readonly isValue?: boolean
    }
  | { readonly kind: 'substituted'; readonly isInput: boolean; readonly body: List }
  | { readonly kind: 'arithmetic'; readonly expression: Word; readonly isQuoted: boolean }

export type Word = readonly WordPart[]

export type Parameter = {
  readonly name: string
  readonly index: Word | undefined
  readonly form: 'value' | 'length' | 'indirect'
  /** As written: `:-`, `%%`, `/`, `:`...; undefined for none, `?` (bad) for one that is not understood. */
  readonly operator: string | undefined
  readonly argument: Word
  /** What follows the second `/` or `:`. */
  readonly second: Word | undefined
}

export type Assignment = {
  readonly name: string
  readonly index: Word | undefined
  readonly isAppend: boolean
  /** A list for `name=(...)`. */
  readonly value: Word | readonly Word[]
  readonly isArray: boolean
}

export type Redirect = {
  readonly fd: number
  readonly kind: ShellRedirect['kind']
  readonly target: Word
}

export type Simple = {
  readonly kind: 'simple'
  readonly assignments: readonly Assignment[]
  readonly words: readonly Word[]
  /** Arrays given to `declare` and its kin. */
  readonly arrays: readonly Assignment[]
  readonly redirects: readonly Redirect[]
}

export type Compound =
  | { readonly kind: 'group' | 'subshell'; readonly body: List }
  | {
      readonly kind: 'if'
      readonly arms: readonly { readonly condition: List; readonly body: List }[]
      readonly otherwise: List | undefined
    }
  | { readonly kind: 'loop'; readonly condition: List; readonly body: List }
  | {
      readonly kind: 'for'
      readonly name: string
      readonly words: readonly Word[] | undefined
      readonly body: List
    }
  | {
      readonly kind: 'case'
      readonly subject: Word
      readonly arms: readonly { readonly patterns: readonly Word[]; readonly body: List }[]
    }
  /** `reading`: what a shell without `(( ))` or `[[ ]]` would run. */
  | { readonly kind: 'arithmetic'; readonly expression: Word; readonly reading: List | undefined }
  | {
      readonly kind: 'condition'
      readonly parts: readonly { readonly words: readonly Word[]; readonly isAfterOr: boolean }[]
    }
  | { readonly kind: 'define'; readonly name: string; readonly body: Command }

export type Command =
  | Simple
  | { readonly kind: 'compound'; readonly compound: Compound; readonly redirects: readonly Redirect[] }

export type Pipeline = { readonly commands: readonly Command[]; readonly isNegated: boolean }

export type AndOr = {
  readonly first: Pipeline
  readonly rest: readonly { readonly isAnd: boolean; readonly pipeline: Pipeline }[]
  readonly isBackground: boolean
}

export type List = readonly AndOr[]
