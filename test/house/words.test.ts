import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

/** What has no place in the repository: how it came about is not what it is. Each in two parts, so as not to match itself. */
const FOREIGN: readonly RegExp[] = [
  // Paths of a machine, and documents that are not here; vectors may lie beside the repository.
  new RegExp(`shared/${'(?!vectors)[a-z]'}`),
  new RegExp(`/work/(${'main'}|shared)`),
  new RegExp(`/tmp/${'(brief|h\\d)'}\\b`),
  // Plans of work, and numbers of a tracker.
  new RegExp(`\\b(stage|milestone|sprint)${' '}\\d`, 'i'),
  new RegExp(`\\bissues? #${'\\d'}`, 'i'),
  new RegExp(`\\bas (requested|instructed|${'discussed'})\\b`, 'i'),
  // Authorship belongs to the history.
  new RegExp(`co-authored${'-by'}|generated with ${'\\['}`, 'i'),
  // Work left over.
  new RegExp(`\\b(TODO|FIXME|XXX)${'[:(]'}`),
]
/** Where others wrote the text. */
const FOREIGN_FILES = new Set(['LICENSE', 'package-lock.json'])
const FILE_BYTES_MAX = 2_000_000

const root = join(import.meta.dirname, '../..')

t.test('the repository speaks of what it is, not of how it was made', (t) => {
  const ignored = readFileSync(join(root, '.gitignore'), 'utf8').split('\n').filter(Boolean)
  const paths = globSync(['*', '.*', '{.ci,bench,bin,build,docs,src,targets,test}/**'], { cwd: root })
    .filter(
      (path) => !FOREIGN_FILES.has(path) && !ignored.some((rule) => path.startsWith(rule.replace(/\/$/, ''))),
    )
    .filter((path) => {
      const facts = statSync(join(root, path), { throwIfNoEntry: false })
      return facts?.isFile() && facts.size <= FILE_BYTES_MAX
    })
  t.ok(paths.length > 50, `${paths.length} files are read`)
  const found = paths.flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        FOREIGN.some((pattern) => pattern.test(line))
          ? [`${path}:${index + 1}: ${line.trim().slice(0, 120)}`]
          : [],
      ),
  )
  t.strictSame(found, [])
  t.end()
})
