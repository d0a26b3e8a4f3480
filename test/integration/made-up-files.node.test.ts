/**
 * Transfers of files that the kernel makes up, in a real session: opening some of them does something, and none is opened
 * with the rights of the daemon.
 * @module
 */
import t from 'tap'
import { everyone, run, startBranched } from './branched.node.ts'

const MADE_UP = [
  '/proc/kmsg',
  '/proc/version',
  '/proc/1/environ',
  '/proc/1/mem',
  '/sys/kernel/notes',
  '/sys/power/state',
]

for (const who of everyone(t))
  t.test(`as ${who.name}`, async (t) => {
    const daemon = await startBranched(t, who, {
      defense: { deny_response: 'reason', levels: { automatic: false } },
      capabilities: { default: { allowed_paths: ['/'] } },
      security: { questions: 'permissive', sensitive_files: 'allow' },
    })
    const client = await daemon.open()
    t.teardown(() => client.close())
    await run(client, 'true', [])
    for (const path of MADE_UP)
      await t.rejects(
        client.read(path, { maxBytes: 1_000 }),
        { message: /makes this file up|let this file be read|no such file/ },
        path,
      )
    const read = await client.read('/usr/bin/env', { maxBytes: 1_000 })
    t.ok(read, 'real files are read')
  })
