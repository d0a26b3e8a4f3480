/**
 * The vault of a daemon that runs: what changes on the disk changes nothing until it is read again, and what must not be
 * read leaves what was read before.
 * @module
 */
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { encodeUtf8 } from '../../src/base/encoding/utf8.ts'
import { readIdentities, recipientsOf } from '../../src/edge/intent/age.node.ts'
import { prepareEntry, publishEntry } from '../../src/edge/intent/publish.node.ts'
import type { JsonObject } from '../../src/intent/canonical/python-json.ts'
import { writeEnvelope } from '../../src/intent/envelopes/envelope.ts'
import { DISPATCHER, envelopeOf } from '../intent/ground.ts'
import { type Daemon, sassEdge, until } from './daemon.node.ts'
import {
  AGENT,
  drop,
  HELPER,
  type IntentWorld,
  installIntent,
  intentEvents,
  newId,
  started,
  TEMPLATE,
} from './intent.node.ts'

const NEXT: JsonObject = { ...TEMPLATE, version: '2' }

/** Drops an envelope of that template, and says what became of it. */
async function judged(world: IntentWorld, daemon: Daemon, template: JsonObject): Promise<string> {
  const envelopeId = newId()
  const timestampUtc = `${new Date().toISOString().slice(0, 19)}+00:00`
  const of = { envelopeId, timestampUtc, senderId: AGENT, receiverId: HELPER }
  drop(world, writeEnvelope(envelopeOf(of, template, world.seed())))
  const found = () => intentEvents(daemon).find(({ envelope }) => envelope === envelopeId)
  await until('its judgement', () => found() !== undefined)
  return String(found()?.['code'] ?? found()?.['what'])
}

async function publish(vault: string, entry: JsonObject): Promise<void> {
  const recipients = await recipientsOf(
    readIdentities(readFileSync(join(vault, 'age_identity.key'), 'latin1')) ?? [],
  )
  await publishEntry(vault, prepareEntry(encodeUtf8(JSON.stringify(entry)), 'entry'), DISPATCHER, recipients)
}

t.test('what is published or removed while a daemon runs holds from the next reload on', async (t) => {
  const world = await installIntent(t)
  const vault = join(world.directory, 'vault')
  const daemon = await started(t, world)
  t.equal(await judged(world, daemon, TEMPLATE), 'validated')
  await publish(vault, NEXT)
  t.equal(await judged(world, daemon, NEXT), 'TEMPLATE_UNRESOLVED', 'it is on the disk alone')
  daemon.signal('SIGHUP')
  await until('the next vault', async () => (await judged(world, daemon, NEXT)) === 'validated')

  const entry = join(vault, 'templates/blog_article_intent_v1.json.age')
  chmodSync(join(vault, 'templates'), 0o755)
  rmSync(entry)
  t.equal(await judged(world, daemon, TEMPLATE), 'validated', 'what was read is what holds')
  t.match(await daemon.cli(['reload']), {
    code: 125,
    stderr: /vault was not.*can be written to \(mode 0755\)/,
  })
  t.equal(
    await judged(world, daemon, TEMPLATE),
    'validated',
    'the old one, after a vault that must not be read',
  )
  chmodSync(join(vault, 'templates'), 0o555)
  t.equal((await daemon.cli(['reload'])).code, 0)
  t.equal(await judged(world, daemon, TEMPLATE), 'TEMPLATE_UNRESOLVED')
  t.equal(await judged(world, daemon, NEXT), 'validated')
})

t.test(
  'a vault of another dispatcher is not taken over, and no daemon starts with it (FT-001, SA-55)',
  async (t) => {
    const world = await installIntent(t)
    const key = join(world.directory, 'vault/keys/dispatcher_verify.pub')
    const daemon = await started(t, world)
    chmodSync(key, 0o600)
    writeFileSync(key, Buffer.alloc(32, 7))
    chmodSync(key, 0o400)
    t.match(await daemon.cli(['reload']), { stderr: /vault was not.*the configuration pins another one/ })
    t.match(daemon.log().join('\n'), /intent_vault_refused/)
    t.equal(await judged(world, daemon, TEMPLATE), 'validated')
    await daemon.stop()
    t.not((await sassEdge(['run'], { cwd: world.directory })).code, 0)
  },
)
