/**
 * Loops without an end that start processes and wait for none, or that do nothing: a device runs out of them, or of time.
 * Rules: POSIX.1-2024 XCU 2.9.3 and 2.9.4.
 * @module
 */
import { literalOf } from './simple.ts'
import type { AndOr, Command, Compound, List } from './syntax.ts'

const CONSTANT: readonly string[] = Object.freeze([':', 'true', 'false', '[', 'test', '/bin/true'])

/** Commands that take no time, so that a loop with them goes on at once. */
const PASSIVE: readonly string[] = Object.freeze([
  ...[':', 'true', 'false', 'echo', 'printf', 'let', 'shift', 'continue', 'set', 'export', 'local', 'disown'],
])

/** Commands that each make a file or a directory and are done at once. */
const MAKING: readonly string[] = Object.freeze([
  'mkdir',
  'touch',
  'mktemp',
  'cd',
  'mkfifo',
  'ln',
  'fallocate',
])

/** A loop without an end that starts processes, that fills the disk or that does nothing, and waits for nothing. */
export function startsWithoutEnd(condition: List, body: List): boolean {
  if (!isConstant(condition)) return false
  if (spins(body)) return true
  return (startsSome(body) && isPassive(body)) || (fillsSome(body) && isPassive(body, MAKING))
}

/** Nothing is done at all, as fast as it goes. */
function spins(list: List): boolean {
  return list.every((item) =>
    commandsOf(item).every(
      (command) =>
        command.kind === 'simple' &&
        command.words.length === 1 &&
        [':', 'true', 'continue'].includes(literalOf(command.words[0] ?? []) ?? ''),
    ),
  )
}

/** Something is added to a file, or made. */
function fillsSome(list: List): boolean {
  return list.some((item) =>
    commandsOf(item).some((command) => {
      if (command.kind === 'compound') return (listsOf(command.compound) ?? []).some(fillsSome)
      const isWritten = command.redirects.some(
        ({ kind, target }) => kind === 'write' && literalOf(target)?.startsWith('/dev/') !== true,
      )
      return isWritten || MAKING.includes(literalOf(command.words[0] ?? []) ?? '')
    }),
  )
}

/** Whether the condition is always the same, so that the loop has no end, or does not begin. */
function isConstant(condition: List): boolean {
  return condition.every(({ first, rest }) => {
    const [command, ...others] = first.commands
    if (command === undefined || others.length > 0 || rest.length > 0) return false
    if (command.kind === 'simple') {
      const texts = command.words.map(literalOf)
      return CONSTANT.includes(texts[0] ?? '') && texts.every((text) => text !== undefined && text !== '-f')
    }
    if (command.compound.kind !== 'arithmetic') return false
    const text = literalOf(command.compound.expression)
    return text !== undefined && !/[A-Za-z_]/.test(text)
  })
}

/** Every list that a command holds; undefined where it is none that only holds others. */
function listsOf(compound: Compound): readonly List[] | undefined {
  switch (compound.kind) {
    case 'group':
    case 'subshell':
      return [compound.body]
    case 'if':
      return [
        ...compound.arms.map(({ body }) => body),
        ...(compound.otherwise === undefined ? [] : [compound.otherwise]),
      ]
    case 'arithmetic':
      return []
    case 'loop':
    case 'for':
    case 'case':
    case 'condition':
    case 'define':
      return undefined
  }
}

function commandsOf({ first, rest }: AndOr): readonly Command[] {
  return [first, ...rest.map(({ pipeline }) => pipeline)].flatMap(({ commands }) => commands)
}

function startsSome(list: List): boolean {
  return list.some(
    (item) =>
      item.isBackground ||
      commandsOf(item).some(
        (command) => command.kind === 'compound' && (listsOf(command.compound) ?? []).some(startsSome),
      ),
  )
}

function isPassive(list: List, others: readonly string[] = []): boolean {
  return list.every(
    (item) =>
      item.isBackground ||
      commandsOf(item).every((command) => {
        if (command.kind === 'compound')
          return listsOf(command.compound)?.every((inner) => isPassive(inner, others)) ?? false
        const [word] = command.words
        const name = word === undefined ? ':' : (literalOf(word) ?? '')
        return PASSIVE.includes(name) || others.includes(name)
      }),
  )
}
