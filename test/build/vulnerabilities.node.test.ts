/**
 * What is known against packages stops the build where it is critical. The client is npm itself; what it asks is the end
 * point of a registry, which here is a server of the test: no registry says the same for ever.
 * @module
 */
import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { askVulnerabilities } from '../../build/vulnerabilities.node.ts'
import { readAudit } from '../../build/vulnerabilities.ts'

const LOCK = {
  ...{ name: 'device', version: '1.0.0', lockfileVersion: 3 },
  packages: {
    '': {
      name: 'device',
      version: '1.0.0',
      dependencies: { leaky: '1.0.0' },
      devDependencies: { tool: '1.0.0' },
    },
    'node_modules/leaky': { version: '1.0.0' },
    'node_modules/tool': { version: '1.0.0', dev: true },
  },
}

/** A registry that knows these advisories, by package; its address and what it was asked. */
async function registry(t: Test, advisories: object | undefined) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const isKnown = advisories !== undefined && request.url === '/-/npm/v1/security/advisories/bulk'
    request.resume().on('end', () => {
      response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(isKnown ? advisories : {}))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`, asked }
}

/** npm remembers what it has heard of an advisory by its id. */
let advisories = 0
const advisory = (severity: string) => ({
  ...{
    id: ++advisories,
    url: 'https://example.org/1',
    title: 'It leaks',
    severity,
    vulnerable_versions: '<2.0.0',
  },
  ...{ cwe: [], cvss: { score: 9.8, vectorString: null } },
})

t.test(
  'npm asks the registry about what ships: critical stops, less does not, and no answer is no verdict (JF-R28)',
  async (t) => {
    const root = t.testdir({
      'package.json': JSON.stringify(LOCK.packages['']),
      'package-lock.json': JSON.stringify(LOCK),
    })
    // Whatever the user's own npm remembers stays as it is.
    process.env['npm_config_cache'] = join(root, 'cache')
    t.teardown(() => delete process.env['npm_config_cache'])
    const critical = await registry(t, { leaky: [advisory('critical')] })
    t.strictSame(await askVulnerabilities(root, critical.url), { kind: 'critical', packages: ['leaky'] })
    t.ok(critical.asked.includes('POST /-/npm/v1/security/advisories/bulk'), 'it was asked')
    const high = await registry(t, { leaky: [advisory('high')] })
    t.strictSame(await askVulnerabilities(root, high.url), { kind: 'none', lesser: 1 })
    const tool = await registry(t, { tool: [advisory('critical')] })
    t.strictSame(await askVulnerabilities(root, tool.url), { kind: 'none', lesser: 0 }, 'it does not ship')
    const silent = await registry(t, undefined)
    t.match(await askVulnerabilities(root, silent.url), { kind: 'unknown', why: /\S/ })
    t.match(await askVulnerabilities(root, 'http://127.0.0.1:1/'), { kind: 'unknown', why: /\S/ })
  },
)

t.test('only a report of npm is one', async (t) => {
  const report = (vulnerabilities: unknown) => JSON.stringify({ auditReportVersion: 2, vulnerabilities })
  t.strictSame(readAudit(report({})), { kind: 'none', lesser: 0 })
  const both = { a: { severity: 'moderate' }, b: { severity: 'critical' }, c: { severity: 'critical' } }
  t.strictSame(readAudit(report(both)), { kind: 'critical', packages: ['b', 'c'] })
  for (const [printed, why] of [
    ['', 'npm gave no report'],
    ['[]', '[]'],
    ['npm error ENOTFOUND\nmore', 'npm error ENOTFOUND'],
    [report([]), 'npm gave no report'],
    [JSON.stringify({ vulnerabilities: {} }), 'npm gave no report'],
    [JSON.stringify({ message: '405 Method Not Allowed', error: { summary: '' } }), '405 Method Not Allowed'],
    [
      JSON.stringify({ error: { code: 'ENOLOCK', summary: 'This command requires a lockfile.' } }),
      /lockfile/,
    ],
  ] as const)
    t.match(readAudit(printed), { kind: 'unknown', why }, printed)
})
