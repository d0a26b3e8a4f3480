import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { publicKeyOf } from '../../../src/base/crypto/ed25519.node.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { createClock, createRandom } from '../../../src/edge/host/clock.node.ts'
import { openIntent } from '../../../src/edge/intent/intent.node.ts'
import { writeEnvelope } from '../../../src/intent/envelopes/envelope.ts'
import type { AuditEvent } from '../../../src/ports.ts'
import { makeDiskVault } from '../../intent/disk-vault.node.ts'
import { envelopeOf, INTAKE } from '../../intent/ground.ts'

/** A device with a vault, that looks at its inboxes so often. */
async function stand(t: Test, pollMs: number) {
  const directory = mkdtempSync(join(tmpdir(), 'intent-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const { directory: vault, pin } = await makeDiskVault(directory)
  const parsed = parseConfig(
    { state_directory: 'state', intent: { vault, dispatcher_pin: pin, poll_ms: pollMs } },
    { configDirectory: directory },
  )
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  const events: AuditEvent[] = []
  const intent = await openIntent({
    ...{ config: parsed.config, clock: createClock(), random: createRandom(), log: { write() {} } },
    record: (event) => events.push(event),
    note: (event) => events.push(event),
    keyOf: (name) => (name === 'intake_agent' ? publicKeyOf(INTAKE) : undefined),
  })
  if (intent === undefined) throw new Error('There is no vault.')
  return { directory, events, intent }
}

function envelopeBytes(envelopeId: string): Uint8Array {
  const timestampUtc = `${new Date().toISOString().slice(0, 19)}+00:00`
  return writeEnvelope(envelopeOf({ envelopeId, receiverId: 'device', timestampUtc }))
}

t.test('what throws at an envelope to the device is told, and the next one is done (SA-36)', async (t) => {
  const { directory, events, intent } = await stand(t, 50)
  const inbox = join(directory, 'state/intent/inbox/device')
  mkdirSync(inbox, { recursive: true })
  for (const id of ['e1', 'e2']) writeFileSync(join(inbox, `${id}.satl.json`), envelopeBytes(id))
  const done: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  intent.start(({ id }) => {
    done.push(id)
    if (done.length === 2) resolve()
    throw new Error('no such work')
  })
  await promise
  await intent.close()
  t.strictSame(done.sort(), ['e1', 'e2'])
  t.equal(events.filter(({ what }) => what === 'handler_error').length, 2)
})

t.test('what the device sends waits for no look at the inboxes, and not for the next start', async (t) => {
  const { events, intent } = await stand(t, 60_000)
  const { promise, resolve } = Promise.withResolvers<string>()
  intent.start(({ id }) => resolve(id))
  intent.outbox.send('device', 'e1', envelopeBytes('e1'))
  t.equal(await promise, 'e1')
  intent.outbox.send('device', 'e2', envelopeBytes('e2'))
  await intent.close()
  t.match(
    events.filter(({ what }) => what === 'validated'),
    [{ envelope: 'e1' }, { envelope: 'e2' }],
  )
})
