/**
 * Counts what taking command lines apart really does: how often each block of its code runs, by the precise coverage of
 * V8, how many characters the searches of strings go over, and the steps that are paid for. Run as a program, it prints the work of each kind of
 * text for two lengths, as JSON.
 * @module
 */
import { Session } from 'node:inspector'
import { countEffective } from '../../../src/defense/13policy/unwrap.ts'

const LENGTHS: readonly number[] = [4_096, 65_536]

const SURROUNDINGS = { cwd: '/w', home: '/h', resolved: undefined, terminal: false, stdin: false }

const SHELL: readonly string[] = [
  'a b; ',
  'x=y\n',
  '"$x" \'q\' ',
  '${x#a}',
  '$(a) ',
  '$((1+2)) ',
  '`a` ',
  '(',
  '{ ',
  '{a,b} ',
  '[*?] ',
  'a | b && ',
  'if a; then b; fi; ',
  'for i in a b; do c; done; ',
  'f() { a; }; ',
  '# c\n',
  '\\\n',
  '"',
  '~/a:~ ',
  'trap a EXIT; ',
  'a > b <<< c; ',
  'while :; do a & done; ',
  'x=$(mktemp); ',
  "$'\\x41'",
  '<<a\n',
]
const CODE: readonly string[] = [
  'x = 1\n',
  'f(',
  '"a" + ',
  "'a',",
  '# c\n',
  '/* ',
  'os.system("ls")\n',
  'a.b.c(',
  '"""',
  '`${',
  '/a/',
  '"a"[0]+',
  'a[b][',
]
const SED: readonly string[] = [
  's/a/b/;',
  '/x/{',
  'y/a/b/\n',
  '1,2p;',
  'a\\\n',
  'e ls\n',
  '[',
  '#x\n',
  's/[/',
]
const PROGRAMS: readonly string[] = ['ls', 'rm', 'cp', 'tar', 'env', 'xargs', 'curl', 'find', 'git', 'docker']
const WORDS: readonly string[] = ['a', '-x', '--o=v', './p', 'k=v', '*', '-abc', '{}', ';', '-exec', '']

function made(unit: string, length: number): string {
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length)
}

type Case = readonly [kind: string, make: (length: number) => readonly string[]]

const CASES: readonly Case[] = [
  ...SHELL.map((unit): Case => [`sh -c ${unit}`, (length) => ['sh', '-c', made(unit, length)]]),
  ...CODE.map((unit): Case => [`python3 -c ${unit}`, (length) => ['python3', '-c', made(unit, length)]]),
  ...CODE.map((unit): Case => [`node -e ${unit}`, (length) => ['node', '-e', made(unit, length)]]),
  ...CODE.slice(0, 5).flatMap((unit): Case[] => [
    [`awk ${unit}`, (length) => ['awk', made(unit, length)]],
    [`perl -e ${unit}`, (length) => ['perl', '-e', made(unit, length)]],
  ]),
  ...SED.map((unit): Case => [`sed ${unit}`, (length) => ['sed', made(unit, length)]]),
  ...[';', 'x;', '.x\n', "'a' || "].flatMap((unit): Case[] => [
    [`sqlite3 ${unit}`, (length) => ['sqlite3', 'x.db', made(unit, length)]],
    [`vim -c ${unit}`, (length) => ['vim', '-c', made(unit, length)]],
    [`psql -c ${unit}`, (length) => ['psql', '-c', made(unit, length)]],
  ]),
  ...WORDS.map((word, at): Case => {
    const program = PROGRAMS[at % PROGRAMS.length] ?? 'ls'
    return [
      `${program} ${word}...`,
      (length) => [program, ...Array.from({ length: Math.floor(length / (word.length + 1)) }, () => word)],
    ]
  }),
]

let characters = 0

/** Lets searches that go over a whole string count what they go over. */
function countSearches(): void {
  const { indexOf, includes, lastIndexOf, split, replaceAll, search } = String.prototype
  const { exec } = RegExp.prototype
  const over = (text: string, from: number, found: number) => {
    characters += found < 0 ? Math.max(0, text.length - from) : Math.max(0, found - from)
  }
  Object.assign(String.prototype, {
    indexOf(this: string, wanted: string, from = 0) {
      const found = indexOf.call(this, wanted, from)
      over(this, from, found)
      return found
    },
    includes(this: string, wanted: string, from = 0) {
      over(this, from, indexOf.call(this, wanted, from))
      return includes.call(this, wanted, from)
    },
    lastIndexOf(this: string, wanted: string, from = this.length) {
      const found = lastIndexOf.call(this, wanted, from)
      characters += Math.min(from, this.length) - Math.max(0, found)
      return found
    },
    split(this: string, ...given: Parameters<typeof split>) {
      const parts = split.apply(this, given)
      characters +=
        given[1] === undefined ? this.length : parts.reduce((sum, part) => sum + part.length + 1, 0)
      return parts
    },
    replaceAll(this: string, ...given: Parameters<typeof replaceAll>) {
      characters += this.length
      return replaceAll.apply(this, given)
    },
    search(this: string, pattern: RegExp) {
      const found = search.call(this, pattern)
      over(this, 0, found)
      return found
    },
  })
  RegExp.prototype.exec = function counted(this: RegExp, text: string) {
    const from = this.global || this.sticky ? this.lastIndex : 0
    const found = exec.call(this, text)
    if (found !== null) characters += found.index - from + found[0].length
    else if (!this.sticky && !this.source.startsWith('^')) characters += Math.max(0, text.length - from)
    return found
  }
}

const session = new Session()
session.connect()

type Coverage = {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]
  }[]
}

/** The blocks that have run since it was last asked. */
function blocks(): number {
  let sum = 0
  session.post('Profiler.takePreciseCoverage', (failure: Error | null, coverage: Coverage) => {
    if (failure !== null) throw failure
    for (const { url, functions } of coverage.result) {
      if (!url.includes('/src/')) continue
      for (const { ranges } of functions) for (const { count } of ranges) sum += count
    }
  })
  return sum
}

session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
countSearches()

const rows = CASES.map(([kind, make]) => ({
  kind,
  work: LENGTHS.map((length) => {
    const argv = make(length)
    blocks()
    characters = 0
    const { work } = countEffective(argv, SURROUNDINGS)
    const searched = characters
    return { blocks: blocks(), searched, steps: work.steps }
  }),
}))
console.log(JSON.stringify(rows))
