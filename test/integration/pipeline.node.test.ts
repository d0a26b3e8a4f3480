import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import t from 'tap'
import { verifyWith } from '../../src/base/crypto/ed25519.node.ts'
import { decodeHex } from '../../src/base/encoding/hex.ts'
import { envelopeSignedBytes, readEnvelope } from '../../src/intent/envelopes/envelope.ts'

const run = promisify(execFile)
const SCRIPT = join(import.meta.dirname, '../../demo/pipeline/pipeline.node.ts')

t.test(
  'six agents make a page of an article by signed envelopes and plans, and the record is whole (FT-008, SA-01, SA-38, SA-39, SA-41, SA-42, SA-57, JF-F11)',
  async (t) => {
    const directory = t.testdir({})
    const { stdout, stderr } = await run(process.execPath, [
      '--disable-warning=ExperimentalWarning',
      SCRIPT,
      directory,
    ])
    t.match(stderr, /tools loaded=2 refused=0/, 'the manifests that ship are valid')
    t.match(stdout, /deployment_agent has done its part/)
    t.match(stdout, /every decision comes out the same once more/)

    const site = join(directory, '.sass-edge/workspace/site')
    const [image, page] = ['.jpg', '.html'].map((end) =>
      readdirSync(site).filter((name) => name.endsWith(end)),
    )
    t.equal(page?.length, 1)
    const session = page?.[0]?.replace('.html', '') ?? ''
    t.strictSame(image, [`${session}.jpg`], 'both parts have the session of the intake')
    const html = readFileSync(join(site, `${session}.html`), 'utf8')
    t.match(html, '<strong>propose</strong>')
    t.notMatch(html, /<script|href="javascript|ignore all/)
    t.match(html, 'href="https://example.org/"')
    const pixels = readFileSync(join(site, `${session}.jpg`))
    t.equal(pixels.includes('GPSLatitude'), false, 'of the photo its pixels are left')

    const index = new DatabaseSync(join(directory, '.sass-edge/state/intent/index.sqlite'), {
      readOnly: true,
    })
    t.teardown(() => index.close())
    const device = readFileSync(join(directory, '.sass-edge/state/intent/device.pub'))
    const envelopes = index
      .prepare('SELECT bytes FROM content')
      .all()
      .map(({ bytes }) => readEnvelope(bytes as Uint8Array))
      .flatMap((read) => (read.ok ? [read.envelope] : []))
    t.ok(
      envelopes.every(({ sessionId }) => sessionId === session),
      'the session goes unchanged through all of them',
    )
    const results = envelopes.filter(({ senderId }) => senderId === 'device')
    t.equal(
      results.length,
      8,
      'a result for each call and each plan, to whoever signed it and whoever ran it',
    )
    for (const { signature, ...unsigned } of results) {
      const signed = decodeHex(signature) ?? new Uint8Array()
      t.ok(verifyWith(device, envelopeSignedBytes(unsigned), signed), 'signed by the device')
      t.match(unsigned.payload, { session_id: session })
    }
  },
)
