/**
 * What is known of variables where it is hard to say: what programs print, traps, what a shell is started with, and
 * words of which not even the beginning is known.
 * @module
 */
import t from 'tap'
import { commandsOf, opaqueOf } from '../unwrap-staged.ts'

/** The operands of every `rm`. */
const removed = (line: string) =>
  commandsOf(line)
    .filter(({ names }) => names[0] === 'rm')
    .map(({ operands }) => operands.join(' '))

t.test('of what programs print, only that of echo and printf with known words is known', (t) => {
  for (const [line, name] of [
    ['d=$(mktemp -d); rm -rf "$d"', '<unknown>'],
    ['rm "$(mktemp)"/x', '<unknown>/x'],
    ['rm $(which x)', '<unknown>'],
    ['rm "$(pwd)/x"', '<unknown>/x'],
    ['rm "$PWD/x"', '/srv/work/x'],
    ['rm "$(dirname a/b/c)"', '<unknown>'],
    ['rm "$(basename "$X")"', '<unknown>'],
    ['rm $(echo a)/x', 'a/x'],
    ["rm $(printf '%s/%s' a b)", 'a/b'],
    ['rm $(echo $(echo a))', '<unknown>'],
    ['rm $(echo a; echo b)', '<unknown>'],
    ['rm $(echo a | tr a b)', '<unknown>'],
    ['rm $(echo $X)', '<unknown>'],
    ['rm $(echo *)', '<unknown>'],
    ['echo() { b; }; rm $(echo a)', '<unknown>'],
    ['env TMPDIR=/etc sh -c \'rm "${TMPDIR:-/tmp}/x"\'', '/etc/x'],
    ['rm "${TMPDIR:-/tmp}/x"', '/tmp/x'],
  ] as const)
    t.strictSame(removed(line), [name], line)
  t.end()
})

t.test(
  'the text of a trap is read with what is known where it is set, and when it runs is not known',
  (t) => {
    for (const [line, operands] of [
      ['x=a; trap "rm \\$x" EXIT', ['a']],
      ['trap \'rm "$x"\' EXIT; x=a', ['<unknown>']],
      ['x=a; trap \'rm "$x"\' EXIT; x=/etc; exit; x=a', ['a']],
      ["trap 'rm ~/x' EXIT; HOME=/etc", ['/home/agent/x']],
      ['trap \'rm "$1"\' EXIT', ['<unknown>']],
      ['c() { rm "$x"; }; trap c EXIT; x=a; exit 0', ['a']],
      ['c() { rm "$x"; }; x=a; trap c EXIT; x=/etc; exit; x=a', ['a']],
      ["trap 'x=/etc' INT; x=a; make; rm $x", ['a']],
      ['trap "$y" INT; x=a; make; rm $x', ['a']],
    ] as const) {
      t.strictSame([...new Set(removed(line))], operands, line)
      t.ok(opaqueOf(commandsOf(line)).includes('eval'), `when it runs is not known: ${line}`)
    }
    t.end()
  },
)

t.test('a shell has the variables that it is started with', (t) => {
  for (const [line, operands] of [
    ["env x=/etc sh -c 'rm $x'", '/etc'],
    ["HOME=/etc sh -c 'rm ~/x'", '/etc/x'],
    ["HOME=/etc; eval 'rm ~/x'", '/etc/x'],
    ["x=/etc; eval 'rm $x'", '/etc'],
    ["IFS=e sh -c 'rm $x'", '<unknown>'],
    ['x=$y sh -c \'rm "$x"\'', '<unknown>'],
  ] as const)
    t.strictSame(removed(line), [operands], line)
  t.end()
})

t.test('of a word of which not even the beginning is known, operands have the rest', (t) => {
  for (const [line, operands] of [
    ['rm "$X"', '<unknown>'],
    ['rm "$X/"*', '<unknown>/*'],
    ['rm ${X:?}/build', '<unknown>/build'],
    ['rm $A/$B', '<unknown>/<unknown>'],
    ['y=$X/b; rm "$y"/c', '<unknown>/b/c'],
    ['rm build/$X/c', 'build/ build/<unknown>/c'],
    ['rm a/$X b', 'a/ b a/<unknown>'],
    ['rm $PPID', '<unknown>'],
    ['p=$PPID; rm $p', '<unknown>'],
    ['rm $$', '<unknown>'],
    ['for p in /proc/[0-9]*; do rm ${p#/proc/}; done', '<unknown>'],
    ['for p in /proc/[0-9]*; do rm ${p##*/}; done', '<unknown>'],
  ] as const)
    t.strictSame(removed(line), [operands], line)
  t.end()
})
