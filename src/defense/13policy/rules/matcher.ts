/**
 * Rules against effective commands: compiled once into an index by what a rule asks for (a program's name, or without
 * one a call, a path, a pipe...), so that only rules that can match are looked at. The strictest match wins, then the
 * smaller id; a guess is worth no more than a note. Nothing of a rule is kept but what a match says; the cost is linear in the commands.
 * Rules: docs/responses.md, section 2; docs/policy.md.
 * @module
 */
import type { Effective, EffectiveCommand } from '../effective.ts'
import { isKnownProgram, liesLoose } from '../opaque/known-programs.ts'
import { withoutVersion } from '../programs/names.ts'
import { type Facts, gatherFacts, type Indexes } from './facts.ts'
import { type Alternative, alternativesOf, type Rule } from './rule.ts'
import { type Condition, compileConditions, createShared, indexLists } from './rule-conditions.ts'
import { candidates, indexRules, namesProgram, type RuleIndex } from './rule-index.ts'
import { compareRules, type RuleHead, type RuleSet } from './rule-set.ts'

export type Match = {
  readonly rule: RuleHead
  /** Of the effective commands, one that the rule matches: the first, where one match is told. */
  readonly commandIndex: number
}

export type Matcher = {
  readonly count: number
  /** The match that decides; undefined where no rule matches. */
  strictest(effective: Effective): Match | undefined
  /** Every rule with every command that it matches, the strictest first. */
  everyMatch(effective: Effective): readonly Match[]
  /** Whether anybody has thought about what it does: its program stands in a table, or a rule for it has an answer. */
  knows(command: EffectiveCommand): boolean
}

type Compiled = {
  readonly rules: readonly CompiledRule[]
  readonly index: RuleIndex
  readonly paths: Indexes
}
type CompiledRule = { readonly head: RuleHead; readonly conditions: readonly Condition[] }

/** Words that make a shell's `*` stand for names that begin with a dot as well. */
const HIDDEN_WORDS: readonly string[] = Object.freeze(['dotglob', 'globdots', 'GLOB_DOTS'])

/** Whether the request has one of these words, looked at when it is first asked for. */
function hiddenAsker({ commands }: Effective): () => boolean {
  let isHidden: boolean | undefined
  return () => {
    isHidden ??= commands.some(({ argv }) =>
      argv.some((word) => HIDDEN_WORDS.some((option) => word.includes(option))),
    )
    return isHidden
  }
}

function holds({ conditions }: CompiledRule, facts: Facts): boolean {
  for (let at = 0; at < conditions.length; at++) if (conditions[at]?.(facts) === false) return false
  return true
}

/**
 * A copy without examples. Text that was cut out of a file keeps the whole file in memory (V8 makes it a slice), and
 * this is what lets go of it.
 */
function detach(rules: readonly Rule[]): readonly Rule[] {
  const none = { match: [], pass: [] }
  return JSON.parse(JSON.stringify(rules.map((rule) => ({ ...rule, examples: none })))) as Rule[]
}

function headOf({ id, action, severity, description, why }: Alternative): RuleHead {
  return { id, action, severity, description, why }
}

function compile(set: RuleSet, home: string): Compiled {
  const sorted = detach(set.rules).toSorted(compareRules).flatMap(alternativesOf)
  const shared = createShared()
  const heads = new Map<string, RuleHead>()
  const rules = sorted.map((rule) => {
    const head = heads.get(rule.id) ?? headOf(rule)
    heads.set(rule.id, head)
    return { head, conditions: compileConditions(rule, shared).slice() }
  })
  return { rules, index: indexRules(sorted, shared), paths: indexLists(shared, home) }
}

/**
 * @param home the home directory of the user that commands run as, for `~` in patterns; absolute
 */
export function createMatcher(set: RuleSet, home: string): Matcher {
  // Made by another function, so that the rules as they were written are not kept.
  const { rules: compiled, index, paths } = compile(set, home)
  const allowed = (place: number): boolean => compiled[place]?.head.action === 'allow'

  return {
    count: set.rules.length,
    strictest(effective) {
      const isHidden = hiddenAsker(effective)
      const { commands } = effective
      // A rule's place is its strictness: the smallest place wins, whatever the order of commands.
      let best = compiled.length
      let commandIndex = -1
      for (let at = 0; at < commands.length; at++) {
        const command = commands[at] as EffectiveCommand
        const facts = gatherFacts(command, paths, isHidden)
        candidates(index, facts, (places) => {
          for (let number = 0; number < places.length; number++) {
            const place = places[number] ?? best
            if (place >= best) break
            const rule = compiled[place]
            if (rule === undefined || !holds(rule, facts)) continue
            best = place
            commandIndex = at
          }
        })
      }
      const rule = compiled[best]
      return rule === undefined ? undefined : { rule: rule.head, commandIndex }
    },
    everyMatch(effective) {
      const isHidden = hiddenAsker(effective)
      const found: { readonly place: number; readonly match: Match }[] = []
      effective.commands.forEach((command, commandIndex) => {
        const facts = gatherFacts(command, paths, isHidden)
        const places = new Set<number>()
        candidates(index, facts, (list) => {
          for (const place of list) places.add(place)
        })
        const heads = new Set<RuleHead>()
        for (const place of [...places].toSorted((a, b) => a - b)) {
          const rule = compiled[place]
          if (rule === undefined || heads.has(rule.head) || !holds(rule, facts)) continue
          heads.add(rule.head)
          found.push({ place, match: { rule: rule.head, commandIndex } })
        }
      })
      return found
        .toSorted((a, b) => a.place - b.place || a.match.commandIndex - b.match.commandIndex)
        .map(({ match }) => match)
    },
    knows(command) {
      if (liesLoose(command)) return false
      if (isKnownProgram(command)) return true
      const named = command.names.map((name) => namesProgram(index, name, allowed))
      if (named.includes('allowed')) return true
      return command.names.some((name) => namesProgram(index, withoutVersion(name), allowed) === 'allowed')
    },
  }
}
