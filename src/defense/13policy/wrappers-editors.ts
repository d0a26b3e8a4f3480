/**
 * Editors, pagers, debuggers and database clients: the commands in their own languages that run a program.
 * From vim(1), less(1), ed(1), gdb(1), sqlite3(1), psql(1).
 * @module
 */
import { argv, has, type Inner, shell, type Unwrap } from './inner.ts'
import type { ShellWord } from './shell.ts'

/** `!command` in the command of an editor, a pager or a debugger: what follows the mark, for a shell. */
function escaped(word: ShellWord, via: string): readonly Inner[] {
  let text = word.text.trimStart()
  while (text.startsWith(':') || text.startsWith('+')) text = text.slice(1).trimStart()
  const lower = text.slice(0, 12).toLowerCase()
  for (const prefix of ['silent! ', 'silent ', 'sil! ', 'sil ', 'exe ', 'execute ']) {
    if (lower.startsWith(prefix)) text = text.slice(prefix.length).trimStart()
  }
  if (text.startsWith("'") || text.startsWith('"')) text = text.slice(1)
  const mark = text.indexOf('!')
  // `:!cmd`, `:r !cmd`, `:w !cmd`, `:%!cmd`, `:.,$!cmd`, `:term cmd`.
  if (mark >= 0 && mark <= 8 && /^[a-z0-9%.,$ ]*$/.test(text.slice(0, mark))) {
    const command = text.slice(mark + 1)
    return command.trim() === '' ? [] : [shell({ ...word, text: command }, via)]
  }
  for (const prefix of ['terminal ', 'term ', 'shell ', 'ter ']) {
    if (text.startsWith(prefix)) return [shell({ ...word, text: text.slice(prefix.length) }, via)]
  }
  const call = text.indexOf('system(')
  if (call >= 0) {
    const quote = text.charAt(call + 7)
    const end = text.indexOf(quote, call + 8)
    if ((quote === '"' || quote === "'") && end > 0)
      return [shell({ ...word, text: text.slice(call + 8, end) }, via)]
    return [{ kind: 'opaque', opaque: 'eval' }]
  }
  const python = /^(?:py|py3|python|python3|pyx)\s/.exec(text)
  if (python !== null)
    return [{ kind: 'code', language: 'python', word: { ...word, text: text.slice(python[0].length) }, via }]
  if (text.startsWith('lua '))
    return [{ kind: 'code', language: 'lua', word: { ...word, text: text.slice(4) }, via }]
  const written = /^(?:%|\d[\d,]*)?(?:w|wq|write|saveas|sav)!? +(\S.*)$/.exec(text)
  if (written?.[1] !== undefined) return [{ kind: 'path', word: { ...word, text: written[1] }, use: 'write' }]
  const read = /^(?:e|edit|r|read|so|source|tabe|sp|vs)!? +(\S.*)$/.exec(text)
  if (read?.[1] !== undefined) return [{ kind: 'path', word: { ...word, text: read[1] }, use: 'read' }]
  return []
}

export const editor: Unwrap = (call) => {
  const inner: Inner[] = []
  for (const { option, word } of call.parsed.values) {
    if (option === '-c' || option === '--cmd') inner.push(...escaped(word, call.name))
  }
  for (const { text, opaque, isGlob } of call.words.slice(1)) {
    if (text.startsWith('+') && text.length > 1) inner.push(...escaped({ text, opaque, isGlob }, call.name))
  }
  return inner
}

export const gdb: Unwrap = (call) => {
  const inner: Inner[] = []
  for (const { option, word } of call.parsed.values) {
    if (!/^--?(?:ex|eval-command|iex|init-eval-command|o|one-line|k)$/.test(option)) continue
    const text = word.text.trimStart()
    const prefix = ['!', 'shell ', 'make ', 'platform shell '].find((start) => text.startsWith(start))
    const python = ['python ', 'py ', 'pi ', 'script '].find((start) => text.startsWith(start))
    if (prefix !== undefined) inner.push(shell({ ...word, text: text.slice(prefix.length) }, call.name))
    else if (python !== undefined) {
      inner.push({
        kind: 'code',
        language: 'python',
        word: { ...word, text: text.slice(python.length) },
        via: call.name,
      })
    } else if (text.includes('system(')) inner.push({ kind: 'opaque', opaque: 'eval' })
  }
  if (has(call.parsed, '--args', '-args'))
    inner.push(...argv(call.words.slice(call.parsed.firstOperand), call.name))
  return inner
}

/** `sqlite3 FILE '.shell cmd'`, `psql -c '\! cmd'`, `mysql -e 'system cmd'`. */
export const database: Unwrap = (call) => {
  const texts = [
    ...call.parsed.values
      .filter(({ option }) => /^(?:-c|-e|-cmd|--command|--execute)$/.test(option))
      .map(({ word }) => word),
    ...call.parsed.operands,
  ]
  return texts.flatMap((word): readonly Inner[] => {
    const text = word.text.trimStart()
    const prefix = [
      '.shell ',
      '.system ',
      '\\! ',
      '\\!',
      'system ',
      '.once |',
      '.output |',
      '.import "|',
    ].find((start) => text.startsWith(start))
    if (prefix !== undefined) return [shell({ ...word, text: text.slice(prefix.length) }, call.name)]
    const program = /\bprogram\s+'([^']*)'/i.exec(text.slice(0, 4_096))
    return program?.[1] === undefined ? [] : [shell({ ...word, text: program[1] }, call.name)]
  })
}
