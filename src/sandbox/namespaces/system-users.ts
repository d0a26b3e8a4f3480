/**
 * The lists of users and groups that a session sees instead of the real ones: those of the system, without persons.
 * Rules: passwd(5), group(5), login.defs(5); docs/sandbox.md (what a command sees).
 * @module
 */

/** They show the system's users without a person's fields: passwd(5), group(5). */
export const USER_LISTS = Object.freeze({ users: '/etc/passwd', groups: '/etc/group' })
/** login.defs(5): below are those of the system; nobody is one too. */
const PERSONS_FROM = 1_000
const NOBODY = 65_534

/**
 * passwd(5) without persons, but for `kept` user numbers, and without what it says of anybody beside name, numbers, home
 * and shell.
 */
export function systemUsers(
  text: string,
  kept: readonly number[],
): { text: string; dropped: ReadonlySet<string> } {
  const dropped = new Set<string>()
  const lines = text.split('\n').flatMap((line) => {
    const [name = '', , user = '', group = '', , home = '', shell = ''] = line.split(':')
    const number = Number(user)
    if (name === '' || user === '' || !Number.isInteger(number)) return []
    if (number >= PERSONS_FROM && number !== NOBODY && !kept.includes(number)) {
      dropped.add(name)
      return []
    }
    return [[name, 'x', user, group, '', home, shell].join(':')]
  })
  return { text: `${lines.join('\n')}\n`, dropped }
}

/** group(5) without the groups of persons, and without them as members. */
export function systemGroups(text: string, dropped: ReadonlySet<string>): string {
  const lines = text.split('\n').flatMap((line) => {
    const [name = '', , group = '', members = ''] = line.split(':')
    if (name === '' || group === '' || dropped.has(name)) return []
    const kept = members.split(',').filter((member) => member !== '' && !dropped.has(member))
    return [[name, 'x', group, kept.join(',')].join(':')]
  })
  return `${lines.join('\n')}\n`
}
