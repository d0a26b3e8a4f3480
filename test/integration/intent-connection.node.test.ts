import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until } from './daemon.node.ts'
import { drop, HELPER, installIntent, intentEvents, newId, signed, started } from './intent.node.ts'

const json = (text: Buffer) => JSON.parse(text.toString('utf8'))

t.test(
  'what is handed in over a connection goes the way of a file, and its receiver takes it once (SA-35, SA-49)',
  async (t) => {
    const world = await installIntent(t)
    const daemon = await started(t, world)
    const envelopeId = newId()
    // More than one frame holds.
    const payload = { title: 'Long', body_markdown: 'x'.repeat(150_000), image_present: false }
    const bytes = signed(world, { envelopeId, payload })
    const file = join(world.directory, 'work.satl.json')
    writeFileSync(file, bytes)
    const submitted = await daemon.cli(['intent', 'submit', file, '--agent', 'agent', '--json'])
    t.match(json(submitted.stdout), { id: envelopeId, receiver: HELPER, size: bytes.length, taken: false })
    const twice = await daemon.cli(['intent', 'submit', file, '--agent', 'agent'])
    t.match(twice, { code: 255, stderr: /check 12.*FT-002/ })
    t.strictSame(json((await daemon.cli(['intent', 'inbox', '--agent', 'agent', '--json'])).stdout).total, 0)
    const waiting = await daemon.cli(['intent', 'inbox', '--agent', HELPER, '--json'])
    t.match(json(waiting.stdout), { total: 1, envelopes: [{ id: envelopeId, sender: 'agent' }] })
    t.match(await daemon.cli(['intent', 'inbox', 'take', envelopeId, '--agent', 'agent']), { code: 255 })
    const takeInto = (out: string) =>
      daemon.cli(['intent', 'inbox', 'take', envelopeId, '--agent', HELPER, '--out', out])
    t.match(await takeInto('nodir/got.json'), {
      code: 125,
      stderr: /nodir does not exist, so nothing was taken/,
    })
    t.match(await takeInto(file), { code: 125, stderr: /is there already, so nothing was taken/ })
    t.match(json((await daemon.cli(['intent', 'inbox', '--agent', HELPER, '--json'])).stdout), { total: 1 })
    const taken = await takeInto('got.json')
    t.match(taken, { code: 0, stderr: '' })
    t.strictSame(readFileSync(join(world.directory, 'got.json')), Buffer.from(bytes))
    t.match(json((await daemon.cli(['intent', 'inbox', '--agent', HELPER, '--json'])).stdout), { total: 0 })
    const again = await daemon.cli(['intent', 'inbox', 'take', envelopeId, '--agent', HELPER, '--json'])
    t.match(json(again.stdout), { taken: true })
    t.equal(intentEvents(daemon, 'taken').length, 1)
    t.equal(daemon.audit().filter(({ action }) => action === 'submit_envelope').length, 2)
  },
)

t.test(
  'an operator sees what was refused, has it judged once more, and throws it away (SA-08)',
  async (t) => {
    const world = await installIntent(t)
    const daemon = await started(t, world)
    drop(world, signed(world, { receiverId: 'device' }))
    await until('it is refused', () => intentEvents(daemon, 'rejected').length === 1)
    const listed = await daemon.cli(['intent', 'inbox', 'quarantine', '--json'])
    const { files } = json(listed.stdout)
    t.match(files, [{ receiver: HELPER, step: 4, code: 'RECEIVER_MISMATCH', from: 'inbox' }])
    const [{ name }] = files
    t.match(await daemon.cli(['intent', 'inbox', 'release', name]), { code: 255, stdout: /check 4/ })
    t.match(await daemon.cli(['intent', 'inbox', 'discard', name]), { code: 0 })
    t.strictSame(world.names('quarantine'), [])
    t.match(await daemon.cli(['intent', 'inbox', 'discard', name]), {
      code: 255,
      stderr: /No file of that name/,
    })
    t.match(
      intentEvents(daemon).map(({ what }) => what),
      ['rejected', 'released', 'rejected', 'discarded'],
    )
  },
)

t.test('an agent’s refused envelopes do not fill the quarantine (FT-009)', async (t) => {
  const world = await installIntent(t)
  const daemon = await started(t, world)
  const file = join(world.directory, 'bad.satl.json')
  writeFileSync(file, signed(world, {}, HELPER))
  const seen: unknown[] = []
  for (let count = 0; count < 9; count++) {
    writeFileSync(file, signed(world, { sessionId: `s${count}`, templateRef: undefinedTemplate(world) }))
    seen.push((await daemon.cli(['intent', 'submit', file, '--agent', 'agent'])).stderr.includes('check 5'))
  }
  t.strictSame(seen, [true, true, true, true, true, true, true, true, false])
})

function undefinedTemplate(_world: unknown) {
  return {
    ...{ templateId: 'no_such', version: '1', sha256: '00'.repeat(32), dispatcherSignature: '00'.repeat(64) },
    ...{ capabilitySetId: 'none', capabilitySetVersion: '1' },
  }
}

t.test('sass-edge intent send drops it into the inbox of its receiver, whole (SA-35)', async (t) => {
  const world = await installIntent(t)
  const daemon = await started(t, world)
  const envelopeId = newId()
  writeFileSync(join(world.directory, 'a.json'), signed(world, { envelopeId }))
  t.match(await daemon.cli(['intent', 'send', 'a.json']), { code: 0 })
  await until('it is accepted', () => world.names('accepted', HELPER).length === 1)
  t.match(await daemon.cli(['intent', 'inbox', '--show-key']), { stdout: /^device [A-Za-z0-9_-]{43}\n$/ })
  writeFileSync(join(world.directory, 'b.json'), '{}')
  t.match(await daemon.cli(['intent', 'send', 'b.json']), { code: 125, stderr: /is no envelope/ })
})
