/**
 * Programs with a prompt of their own: a line that gives a command to a shell, wherever it comes from; and that reading
 * one takes time in proportion to it.
 * @module
 */
import t from 'tap'
import { readEscapes, readQuery } from '../../../../src/defense/13policy/unwrap/escapes.ts'
import { startWork } from '../../../../src/defense/work.ts'
import { commandsOf, lineOf, pathsOf } from '../unwrap-staged.ts'

const word = (text: string) => ({ text, isGlob: false, opaque: undefined })
const shellTexts = (text: string) =>
  readEscapes(word(text), 'x', startWork()).flatMap((inner) =>
    inner.kind === 'shell' ? [inner.word.text] : [],
  )

t.test('a line that gives a command to a shell is found', (t) => {
  for (const line of [
    ...['!rm x', ':!rm x', ':%!rm x', 'r !rm x', ':.,$w !rm x', 'silent !rm x', "exe '!rm x'", ':term rm x'],
    ...[
      'shell rm x',
      '.shell rm x',
      '.system rm x',
      '\\! rm x',
      'system rm x',
      '/exec rm x',
      '/exec -o rm x',
    ],
    ...[
      'call system("rm x")',
      "echo system('rm x')",
      'esyscmd(rm x)',
      "syscmd(`rm x')",
      '| rm x',
      '.once |rm x',
    ],
    ...['set editor="rm x"', 'INPUT_FILTER = rm x', 'set noop; !rm x', 'q\n!rm x', 'platform shell rm x'],
  ])
    t.ok(shellTexts(line).includes('rm x'), `${line}: ${shellTexts(line).join(' / ')}`)
  t.end()
})

t.test('other lines give none', (t) => {
  for (const line of [
    ...['set nu', ':w', '2+3', 'scale=2; 10/3', 'select * from t where a != 1', '.tables', 's/a/b/g', 'bt'],
    ...['%s/a!b/c/', '/rm x', 'x = y', 'filesystem(x)', ''],
  ])
    t.strictSame(shellTexts(line), [], line)
  t.end()
})

t.test('a line that names a file uses it', (t) => {
  for (const [line, use, path] of [
    ['w! /b', 'write', '/b'],
    ['saveas /b', 'write', '/b'],
    ['.output /b', 'write', '/b'],
    ['.import /b t', 'read', '/b'],
    ['\\i /b', 'read', '/b'],
    ['e /b', 'read', '/b'],
  ] as const) {
    const found = readEscapes(word(line), 'x', startWork()).flatMap((inner) =>
      inner.kind === 'path' ? [`${inner.use} ${inner.word.text}`] : [],
    )
    t.ok(found.includes(`${use} ${path}`), `${line}: ${found}`)
  }
  t.end()
})

t.test('a query names programs and files', (t) => {
  t.match(readQuery(word("COPY t FROM PROGRAM 'rm x'"), 'x', startWork()), [
    { kind: 'shell', word: { text: 'rm x' } },
  ])
  t.match(readQuery(word("select 1 into outfile '/b'"), 'x', startWork()), [{ kind: 'path', use: 'write' }])
  t.match(readQuery(word("select load_file('/b')"), 'x', startWork()), [{ kind: 'path', use: 'read' }])
  t.strictSame(readQuery(word("select 'a', 'it'"), 'x', startWork()), [])
  t.end()
})

t.test('a prompt is fed by an option or by the standard input', (t) => {
  for (const [line, expected] of [
    ["bc <<< '!rm x'", 'sh -c > bc: rm x'],
    ["ed f <<< '!rm x'", 'sh -c > ed: rm x'],
    ["ex <<< '!rm x'", 'sh -c > vim: rm x'],
    ["echo '!rm x' | ftp", 'sh -c > ftp: rm x'],
    ["lftp -c '!rm x'", 'lftp: rm x'],
    ["r2 -qc '!rm x' f", 'r2: rm x'],
    ['gnuplot -e \'system("rm x")\'', 'gnuplot: rm x'],
    ["scanmem -c 'shell rm x'", 'scanmem: rm x'],
    ["lf -command '&rm x'", 'lf: rm x'],
    ["m4 <<< 'esyscmd(rm x)'", 'sh -c > m4: rm x'],
    ["m4 -D a='syscmd(rm x)'", 'm4: rm x'],
    ["lldb -b -o 'platform shell rm x'", 'lldb: rm x'],
    ["vifm -c '!rm x'", 'vifm: rm x'],
    ["sqlite3 <<< '.shell rm x'", 'sh -c > sqlite3: rm x'],
    ["crontab - <<< '* * * * * rm x'", 'sh -c > crontab: rm x'],
    ['busctl --address=unixexec:path=/bin/rm,argv1=x', 'busctl: /bin/rm x'],
  ] as const) {
    const lines = commandsOf(line).map(lineOf)
    t.ok(lines.includes(expected), `${line}\n${expected}\n${lines.join('\n')}`)
  }
  t.ok(pathsOf(commandsOf('terraform console <<< \'file("/b")\'')).includes('read /b'))
  t.ok(pathsOf(commandsOf('cpio -o <<< /b')).includes('read /b'))
  t.end()
})

t.test('a shell that is started at a prompt has nobody who vouches for what it reads', (t) => {
  const [, , shell] = commandsOf("ftp <<< '!/bin/sh'")
  t.strictSame(shell?.opaque, ['stdin'])
  t.end()
})

t.test('many marks in one text cost no more than their number', (t) => {
  for (const part of ['!', 'system(', "system('", ';!x', '!x\n', "'", "program '", '/exec -', 'exe ', ': ']) {
    const text = part.repeat(Math.floor(4_000 / part.length))
    t.ok(readEscapes(word(text), 'x', startWork()).length <= 513, part)
    t.ok(readQuery(word(text), 'x', startWork()).length <= 4_097, part)
  }
  t.end()
})

t.test('what stands behind more than is looked at is not taken for harmless', (t) => {
  for (const text of ['x\n'.repeat(5_000), 'system("x")\n'.repeat(600), '!x\n'.repeat(600)])
    t.match(readEscapes(word(`${text}!rm x`), 'x', startWork()).at(-1), { kind: 'opaque', opaque: 'limit' })
  t.match(readQuery(word("'a' ".repeat(5_000)), 'x', startWork()).at(-1), { kind: 'opaque', opaque: 'limit' })
  t.end()
})

t.test('what the functions of an editor do to files counts as written', (t) => {
  for (const line of [
    'vim -es \'+call delete("/opt/a","rf")\' +q',
    'vim -es -c \'call writefile([],"/opt/a")\' -c q',
    "nvim --headless -c \"call rename('/opt/a','b')\" +q",
  ])
    t.ok(pathsOf(commandsOf(line)).includes('write /opt/a'), line)
  t.end()
})
