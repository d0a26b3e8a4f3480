import t from 'tap'
import { everyone, startBranched } from './branched.node.ts'
import { look, makeSessions } from './many-sessions.node.ts'

/** The long form takes ten thousand: SASS_SESSIONS=10000. */
const SESSIONS = Number(process.env['SASS_SESSIONS'] ?? 40)
const FIRST = 10
/** Objects of the kernel that others on the machine make and that are freed late. */
const KERNEL_SLACK = 600

for (const who of everyone(t)) {
  await t.test(`${who.name}: ${SESSIONS} sessions leave nothing`, async (t) => {
    // One agent makes them all: its share of a record with a bound would make it wait, and is not what is asked here.
    const daemon = await startBranched(t, who, { audit: { keep_bytes: null } })
    await makeSessions(daemon, FIRST)
    const before = look(daemon)
    await makeSessions(daemon, SESSIONS)
    const after = look(daemon)
    for (const name of ['mounts', 'processes', 'namespaces', 'groups', 'branches', 'stage'] as const)
      t.equal(after[name], before[name], name)
    t.ok(
      after.descriptors <= before.descriptors + 2,
      `${before.descriptors}, then ${after.descriptors} descriptors`,
    )
    t.comment(JSON.stringify({ before, after }))
    // Of ten thousand with some sixty mounts each, one in a thousand that stayed would show.
    if (before.kernelMounts !== undefined && after.kernelMounts !== undefined)
      t.ok(
        after.kernelMounts - before.kernelMounts < KERNEL_SLACK,
        `${after.kernelMounts - before.kernelMounts} more mounts in the kernel`,
      )
  })
}
