/**
 * The evidence of a session has what its branch would change: the very list that a merge is bound to.
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { auditEvents, startNew } from './daemon.node.ts'

t.test('the list of the branch goes along, and its digest is the one that a merge names', async (t) => {
  const daemon = await startNew(t)
  const ran = await daemon.cli([
    'exec',
    '--branch',
    'new',
    '--',
    'sh',
    '-c',
    'mkdir d; echo made > d/by-agent',
  ])
  t.equal(ran.code, 0, ran.stderr)
  const session = auditEvents(daemon.directory).find(({ action }) => action === 'execute')?.['session']
  const shown = await daemon.cli(['branch', 'diff', String(session), '--json'])
  const file = join(daemon.directory, 'evidence.json')
  const key = join(daemon.directory, '.sass-edge/state/audit.pub')
  const exported = await daemon.cli(['audit', 'export', String(session), '--out', file])
  t.equal(exported.code, 0, exported.stderr)
  const evidence = JSON.parse(readFileSync(file, 'utf8'))
  t.match(evidence.branch, /d\/by-agent/)
  const list = JSON.parse(shown.stdout.toString())
  t.same(JSON.parse(evidence.branch).changes, list.changes)
  const check = async (path: string) => {
    const said = await daemon.cli(['audit', 'verify', '--evidence', path, '--key', key, '--json'])
    return { code: said.code, ...JSON.parse(said.stdout.toString()) }
  }
  t.match(await check(file), { code: 0, ok: true, branch_digest: /^[0-9a-f]{64}$/, branch_recorded: false })
  const { branch_digest: digest } = await check(file)
  t.equal(digest, list.digest)
  const merged = await daemon.cli(['branch', 'merge', String(session), '--yes', '--digest', digest])
  t.equal(merged.code, 0, merged.stderr)
  t.equal(readFileSync(join(daemon.workspace, 'd/by-agent'), 'utf8'), 'made\n')
  const names = auditEvents(daemon.directory).filter((event) => event['shown'] === digest)
  t.ok(names.length > 0, 'the record of the merge names the list')
  writeFileSync(file, JSON.stringify({ ...evidence, branch: 7 }))
  t.equal((await daemon.cli(['audit', 'verify', '--evidence', file])).code === 0, false)
})
