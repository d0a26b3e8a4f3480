import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runMain } from '../run-main.node.ts'

t.test('says the version of package.json, as version and as --version', async (t) => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'))
  const directory = t.testdir({})
  const run = await runMain(directory, ['version', '--json'])
  t.match(JSON.parse(run.stdout), { version: manifest.version, protocol: 'x-sakirpc-v5' })
  t.match((await runMain(directory, ['--version'])).stdout, `sass-edge ${manifest.version} (`)
  t.equal((await runMain(directory, ['version', 'x'])).code, 125)
})
