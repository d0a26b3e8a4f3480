/**
 * What is known of variables where it is hard to say: names that `mktemp` makes, traps, what a shell is started with,
 * and words of which not even the beginning is known.
 * @module
 */
import t from 'tap'
import { commandsOf, opaqueOf } from '../unwrap-staged.ts'

/** The operands of every `rm`. */
const removed = (line: string) =>
  commandsOf(line)
    .filter(({ names }) => names[0] === 'rm')
    .map(({ operands }) => operands.join(' '))

t.test('a name that mktemp makes lies where it is asked for, and parts of paths are known', (t) => {
  for (const [line, name] of [
    ['d=$(mktemp -d); rm -rf "$d"', '/tmp/tmp.XXXXXXXXXX'],
    ['d=$(mktemp -d) || exit 1; rm -rf "$d"', '/tmp/tmp.XXXXXXXXXX'],
    ['rm "$(mktemp)"/x', '/tmp/tmp.XXXXXXXXXX/x'],
    ['rm $(which x)', '/usr/bin/x'],
    ['rm "$(command -v x)"', '/usr/bin/x'],
    ['rm `mktemp -p build`', 'build/tmp.XXXXXXXXXX'],
    ['rm `mktemp -dp build`', 'build/tmp.XXXXXXXXXX'],
    ['rm `mktemp --tmpdir=/a x.XXX`', '/a/x.XXX'],
    ['rm `mktemp -t x.XXX`', '/tmp/x.XXX'],
    ['rm `mktemp -t x`', '/tmp/x.XXXXXX'],
    ['rm `mktemp x.XXXX --suffix=.c`', 'x.XXXX.c'],
    ['rm `TMPDIR=/a mktemp`', '/a/tmp.XXXXXXXXXX'],
    ['rm "$(pwd)/x"', '/srv/work/x'],
    ['cd /etc && rm "$(pwd)/x"', '/etc/x'],
    ['rm "$(dirname a/b/c)"', 'a/b'],
    ['rm "$(dirname /a)" "$(dirname a/)" "$(dirname //)"', '/ . /'],
    ['rm "$(basename /a/b.c .c)"', 'b'],
    ['rm "$(basename "$X")"', '<unknown>'],
    ['env TMPDIR=/etc sh -c \'rm "${TMPDIR:-/tmp}/x"\'', '/etc/x'],
    ['rm "${TMPDIR:-/tmp}/x"', '/tmp/x'],
  ] as const)
    t.strictSame(removed(line), [name], line)
  t.end()
})

t.test('a name of mktemp is not known where another program may be meant, or another place', (t) => {
  for (const line of [
    'PATH=.:$PATH; rm `mktemp`',
    'env PATH=. sh -c "rm \\$(mktemp)"',
    'rm `TMPDIR=$X mktemp`',
    'rm `mktemp "$X"`',
    'rm `mktemp x`',
    'rm `mktemp --what`',
    'rm `mktemp || echo /`',
  ])
    t.strictSame(removed(line), ['<unknown>'], line)
  t.strictSame(removed('mktemp() { echo /etc; }; rm `mktemp`'), ['/etc'])
  t.end()
})

t.test('each place of mktemp has a name of its own', (t) => {
  t.strictSame(removed('a=`mktemp`; b=`mktemp`; rm $a $b'), ['/tmp/tmp.XXXXXXXXXX /tmp/tmp.XXXXXXXXX1'])
  t.end()
})

t.test('the text of a trap runs with what its variables have whenever that may be', (t) => {
  for (const [line, operands] of [
    ['x=a; trap "rm \\$x" EXIT', ['a']],
    ['trap \'rm "$x"\' EXIT; x=a', ['a', '']],
    ['trap \'rm "$x"\' EXIT; x=a; exit; x=b', ['<unknown>']],
    ['x=a; trap \'rm "$x"\' EXIT; x=/etc; exit; x=a', ['<unknown>']],
    ['x=a; trap \'rm "$x"\' EXIT; eval "$y"', ['<unknown>']],
    ["trap 'rm ~/x' EXIT; HOME=/etc", ['<unknown>/x']],
    ['trap \'rm "$1"\' EXIT', ['<unknown>']],
    ['c() { rm "$x"; }; trap c EXIT; x=a; exit 0', ['a', '']],
    ['trap c EXIT; c() { rm "$x"; }; exit; x=a', ['a', '']],
    ['c() { rm "$x"; }; x=a; trap c EXIT; x=/etc; exit; x=a', ['<unknown>']],
  ] as const)
    t.strictSame([...new Set(removed(line))], operands, line)
  t.end()
})

t.test('a trap for a signal makes variables unknown where it may change them, and nowhere else', (t) => {
  for (const line of [
    "trap 'exit 1' INT; x=a; make; rm $x",
    'c() { rm -f y; exit 1; }; trap c INT TERM; x=a; make; rm $x',
  ])
    t.ok(removed(line).includes('a'), line)
  for (const line of [
    "trap 'x=/etc' INT; x=a; make; rm $x",
    'c() { x=/etc; }; trap c INT; x=a; make; rm $x',
    'trap c INT; c() { x=/etc; }; x=a; make; rm $x',
    'c() { b; }; trap c INT; b() { x=/etc; }; x=a; make; rm $x',
    'trap "$y" INT; x=a; make; rm $x',
  ])
    t.ok(removed(line).includes('<unknown>'), line)
  t.end()
})

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
    ['rm $PPID', '<parent>'],
    ['p=$PPID; rm $p', '<parent>'],
    ['rm $$', '<self>'],
    ['for p in /proc/[0-9]*; do rm ${p#/proc/}; done', '[0-9]*'],
    ['for p in /proc/[0-9]*; do rm ${p##*/}; done', '[0-9]*'],
  ] as const)
    t.strictSame(removed(line), [operands], line)
  t.end()
})

t.test('a loop without an end that only starts processes is cut, and others are not', (t) => {
  for (const line of [
    'while :; do x & done',
    'while true; do x & done',
    'until false; do x & done',
    'while [ 1 ]; do echo y; x & done',
    'while ((1)); do x & done',
    'for ((;;)); do x & done',
    'while :; do (x &); done',
    'while :; do if a; then x & fi; done',
  ])
    t.ok(opaqueOf(commandsOf(line)).includes('limit'), line)
  for (const line of [
    'while :; do x; done',
    'while :; do sleep 1; done',
    'while true; do x & wait; done',
    'while :; do x & sleep 1; done',
    'for i in 1 2 3; do x & done',
    'while read -r l; do x & done',
    'while [ -f y ]; do x & done',
    'for ((i = 0; i < 3; i++)); do x & done',
  ])
    t.notOk(opaqueOf(commandsOf(line)).includes('limit'), line)
  t.end()
})
