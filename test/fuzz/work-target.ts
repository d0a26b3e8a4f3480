/**
 * What is hunted for slow inputs: command lines whose decision costs the most steps, and those whose steps are slower
 * than others. Each input has to stay within the bounds of one decision, whatever it is.
 * @module
 */
import { countEffective } from '../../src/defense/13policy/unwrap.ts'
import { DECISION_BYTES, DECISION_DEPTH, DECISION_STEPS } from '../../src/limits.ts'
import { HOME } from '../defense/staged-facts.ts'
import type { FuzzTarget } from './engine.ts'
import { latin, must, text } from './inputs.ts'

const SURROUNDINGS = { cwd: '/srv/work', home: HOME, resolved: undefined, terminal: false, stdin: false }

/** A frame has some more; the arguments of a request are less. */
export const WORK_INPUT_BYTES = 65_536

export const WORK_SEEDS: readonly Uint8Array[] = [
  ...['sh\0-c\0for i in *; do x=$x$y; done', 'sh\0-c\0a() { b; }; b() { a; }; a', 'sh\0-c\0trap "a $x" EXIT'],
  ...[
    'sh\0-c\0cat <<E | sh\n$(a)\nE\n',
    'sh\0-c\0echo {a,b}{c,d} *[?]* | xargs -n1 sh -c',
    'find\0.\0-exec\0a\0;',
  ],
  ...[
    'sed\0s/a/b/w f;/x/{p}',
    'awk\0BEGIN{"a"|getline; print > "b"}',
    "python3\0-c\0a='x'+f(b)[c]",
    'make\0--eval=$(shell a)',
  ],
  ...[
    'git\0-c\0alias.a=!b',
    "psql\0-c\0copy a to program 'b'",
    'vim\0-c\0!a|w b',
    'rm\0-rf\0/e*c/[a-f]?',
    'env\0-S\0a "b" c',
  ],
].map(text)

const PIECES = [
  ...[
    '\0',
    '$(',
    ')',
    '"',
    "'",
    '`',
    '{',
    '}',
    '(',
    '[',
    ']',
    '*',
    ';',
    '|',
    '&&',
    '\n',
    '<<E\n',
    'E\n',
    '$x',
    'x=$x$x;',
  ],
  ...[
    'for i in a b; do ',
    '; done',
    'if a; then ',
    '; fi',
    'a() { ',
    '$((',
    '))',
    'eval ',
    'command ',
    'trap a EXIT;',
  ],
  ...[
    '{a,b}',
    '{1..9}',
    '[[ a ]]',
    'case x in a) ',
    ';; esac',
    'cd a;',
    'set -- "$@" a;',
    'x+=(a);',
    'echo a > f;',
    'sh f;',
  ],
  ...[
    'sh\0-c\0',
    'env\0',
    'xargs\0',
    'ln -s a b;',
    'printf %s a',
    ' | sh',
    '-exec\0',
    'a+',
    'f(',
    '"a"+',
    'a.b',
    's/a/b/;',
    '!a|',
  ],
].map(text)

/** Feeds one input; what its decision has cost. */
export function workOf(input: Uint8Array): { readonly steps: number; readonly bytes: number } {
  const argv = latin(input).split('\0')
  const { work, effective } = countEffective(argv, SURROUNDINGS)
  must(work.steps <= DECISION_STEPS, `${work.steps} steps`)
  must(work.bytes <= DECISION_BYTES, `${work.bytes} bytes of text`)
  must(work.depth <= DECISION_DEPTH, `${work.depth} levels`)
  must(effective.commands[0]?.argv.length === argv.length, 'the command itself is another one')
  return work
}

export const workTarget: FuzzTarget = {
  name: 'work',
  seeds: WORK_SEEDS,
  pieces: PIECES,
  run(input) {
    const { steps, bytes } = workOf(input)
    // Each doubling is an outcome of its own, so that what costs more is kept and changed again.
    return `${Math.floor(Math.log2(steps + 1))} ${Math.floor(Math.log2(bytes + 1))}`
  },
}
