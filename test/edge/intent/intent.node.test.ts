import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { publicKeyOf } from '../../../src/base/crypto/ed25519.node.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { createClock, createRandom } from '../../../src/edge/host/clock.node.ts'
import { openIntent } from '../../../src/edge/intent/intent.node.ts'
import { writeEnvelope } from '../../../src/intent/envelopes/envelope.ts'
import type { AuditEvent } from '../../../src/ports.ts'
import { type DiskVault, makeDiskVault } from '../../intent/disk-vault.node.ts'
import { envelopeOf, INTAKE } from '../../intent/ground.ts'

/** A device with a vault, that looks at its inboxes so often. */
async function stand(t: Test, pollMs: number, more: object = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'intent-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return startAgain(directory, await makeDiskVault(directory), pollMs, more)
}

/** What is in the directory, opened by a daemon. */
async function startAgain(directory: string, disk: DiskVault, pollMs = 50, more: object = {}) {
  const { directory: vault, pin } = disk
  const parsed = parseConfig(
    { state_directory: 'state', intent: { vault, dispatcher_pin: pin, poll_ms: pollMs, ...more } },
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
  return { directory, disk, events, intent }
}

function envelopeBytes(
  envelopeId: string,
  more: Parameters<typeof envelopeOf>[0] = {},
  seed?: Uint8Array,
): Uint8Array {
  const timestampUtc = `${new Date().toISOString().slice(0, 19)}+00:00`
  return writeEnvelope(
    envelopeOf({ envelopeId, receiverId: 'device', timestampUtc, ...more }, undefined, seed),
  )
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

/** Starts what is in the directory, and hands in one that is called so; what was done until that one was. */
async function doneBefore(last: string, directory: string, disk: DiskVault): Promise<readonly string[]> {
  const { intent } = await startAgain(directory, disk)
  const done: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  intent.start(({ id }) => {
    if (id === last) resolve()
    else done.push(id)
  })
  intent.outbox.send('device', last, envelopeBytes(last))
  await promise
  await intent.close()
  return done
}

t.test('what was accepted at the very end is done after the next start, once', async (t) => {
  const { directory, disk, intent, events } = await stand(t, 60_000)
  const bytes = envelopeBytes('e1')
  intent.start()
  intent.outbox.send('device', 'e1', bytes)
  await intent.close()
  t.ok(events.some(({ what, envelope }) => what === 'validated' && envelope === 'e1'))
  // As a loss of power leaves it: accepted, and in quarantine still.
  writeFileSync(join(directory, `state/intent/quarantine/device.${'ab'.repeat(16)}.satl.json`), bytes)
  t.strictSame(await doneBefore('e2', directory, disk), ['e1'])
  t.strictSame(await doneBefore('e3', directory, disk), [])
})

t.test('work that a loss of power cut off is gone on with, though it was marked as taken', async (t) => {
  const { directory, disk, intent } = await stand(t, 60_000)
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { promise: cut, resolve: end } = Promise.withResolvers<void>()
  intent.start(() => {
    begin()
    return cut
  })
  intent.outbox.send('device', 'e1', envelopeBytes('e1'))
  await begun
  const copy = mkdtempSync(join(tmpdir(), 'intent-'))
  t.teardown(() => rmSync(copy, { recursive: true, force: true }))
  cpSync(join(directory, 'state'), join(copy, 'state'), { recursive: true })
  end()
  await intent.close()
  t.strictSame(await doneBefore('e2', copy, disk), ['e1'])
  t.strictSame(await doneBefore('e3', copy, disk), [])
})

t.test('what an operator takes of the device’s, the device does not do', async (t) => {
  const { directory, disk, intent } = await stand(t, 60_000)
  intent.outbox.send('device', 'e1', envelopeBytes('e1'))
  await intent.close()
  const { intent: second } = await startAgain(directory, disk)
  t.match(second.room.take('e1', 'device'), { kind: 'given' })
  await second.close()
  t.strictSame(await doneBefore('e2', directory, disk), [])
})

t.test('what the device says is not counted as what a sender says, and is by its own key', async (t) => {
  const { directory, events, intent } = await stand(t, 50, {
    id: 'sanitization_agent',
    envelopes_per_hour: 1,
  })
  const receiverId = 'sanitization_agent'
  const own = { receiverId, senderId: receiverId }
  const put = (id: string, bytes: Uint8Array) =>
    writeFileSync(join(directory, 'state/intent/inbox', receiverId, `${id}.satl.json`), bytes)
  for (const id of ['e1', 'e2', 'e3']) put(id, envelopeBytes(id, own, intent.device.seed))
  for (const id of ['i1', 'i2']) put(id, envelopeBytes(id, { receiverId }))
  put('f1', envelopeBytes('f1', own, INTAKE))
  intent.start()
  await intent.close()
  const told = events.flatMap(({ what, envelope, code }) =>
    what === 'validated' ? [envelope] : what === 'rejected' ? [code] : [],
  )
  t.strictSame(told.filter((one) => String(one).startsWith('e')).sort(), ['e1', 'e2', 'e3'])
  t.strictSame(told.filter((one) => !String(one).startsWith('e')).length, 3)
  t.match(told.filter((one) => /_/.test(String(one))).sort(), ['BAD_SIGNATURE', 'CAPABILITY_CONSTRAINT'])
})
