/**
 * Where the paths of a command really lie: only links are told, and only so many are looked up.
 * @module
 */
import t from 'tap'
import { effectiveCommands } from '../../../src/defense/13policy/unwrap.ts'
import { RESOLVED_PATHS } from '../../../src/limits.ts'
import { findRealPaths } from '../../../src/session/standing/real-paths.ts'
import { enter, run, stageRooms } from '../stage.ts'

function stage(links: Readonly<Record<string, string>>) {
  const looked: string[] = []
  const finder = {
    find: () => undefined,
    realDirectory: (path: string) => path,
    realPath(path: string) {
      looked.push(path)
      return links[path] ?? path
    },
    pin: () => undefined,
  }
  const find = (...argv: string[]) =>
    findRealPaths(
      effectiveCommands(argv, {
        cwd: '/srv',
        home: '/home/u',
        resolved: undefined,
        terminal: false,
        stdin: false,
      }),
      finder,
    )
  return { find, looked }
}

t.test('only paths that lie elsewhere are told, each once', (t) => {
  const { find } = stage({ '/srv/link': '/etc/shadow' })
  t.strictSame(find('cat', 'plain', 'link', '/srv/link', './link'), [
    { path: '/srv/link', real: '/etc/shadow' },
  ])
  t.strictSame(find('cat', 'plain'), [])
  t.end()
})

t.test('paths of every command that would really run are looked up', (t) => {
  const { find } = stage({ '/srv/a': '/1', '/srv/b': '/2' })
  t.strictSame(find('sh', '-c', 'cat a; env cat b'), [
    { path: '/srv/a', real: '/1' },
    { path: '/srv/b', real: '/2' },
  ])
  t.end()
})

t.test('what a shell would expand is not looked up, and more than so many are not either', (t) => {
  const { find, looked } = stage({})
  find('sh', '-c', 'cat *.txt')
  t.notOk(looked.some((path) => path.includes('*')))
  looked.splice(0)
  find('cat', ...Array.from({ length: RESOLVED_PATHS * 2 }, (_, index) => `f${index}`))
  t.ok(looked.length > 0 && looked.length <= RESOLVED_PATHS, `${looked.length}`)
  t.end()
})

t.test(
  'a link to a secret is judged as the secret, also when it was made while the request waited (OS-05)',
  (t) => {
    let real = '/srv/work/a'
    const stage = stageRooms({
      finder: { realPath: (path) => (path === '/srv/work/a' ? real : path) },
      security: { sensitiveFiles: 'deny' },
      capability: { max_concurrent: 1 },
    })
    const client = enter(stage)
    run(client, 'sleep', { args: ['9'] })
    const stream = run(client, 'cat', { args: ['a'] })
    t.match(client.on(stream), [{ value: { is_queued: true } }])
    real = '/etc/shadow'
    stage.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
    t.equal(stage.spawner.children.length, 1)
    t.match(stage.audit.events.at(-1), { response: 'R4', layer: 'specifics', rule: 'sensitive_files' })
    t.end()
  },
)
