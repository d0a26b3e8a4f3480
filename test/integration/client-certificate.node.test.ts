/**
 * A device with tls.client_ca: besides its key a client needs a certificate of that CA, and its CN is its name.
 * @module
 */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type ClientCertificate, connect } from '../../src/client/client.node.ts'
import { selfSigned } from '../../src/edge/sockets/self-signed.node.ts'
import { refusedOnce } from './connections.node.ts'
import { install, startDaemon, temporary } from './daemon.node.ts'

/** A certificate that is its own CA. */
function certificateOf(name: string): ClientCertificate {
  const { privateKey } = generateKeyPairSync('ed25519')
  const keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { certificatePem: selfSigned(privateKey, name), keyPem }
}

const agent = certificateOf('agent')
const operator = certificateOf('operator')
const path = join(temporary(t), 'ca.pem')
writeFileSync(path, agent.certificatePem + operator.certificatePem)
const daemon = await startDaemon(t, await install(t, { tls: { client_ca: path } }))
const { port, fingerprint: pin } = daemon

const open = (certificate: ClientCertificate | undefined, name = 'agent') =>
  connect({
    host: '127.0.0.1',
    port,
    agent: name,
    privateKey: daemon.seed(name),
    pin,
    certificate,
    timeoutMs: 1_000,
  })

t.test('the name in the certificate and the listed key together let a client in (SS-10)', async (t) => {
  for (const [name, certificate] of [
    ['agent', agent],
    ['operator', operator],
  ] as const) {
    const client = await open(certificate, name)
    t.match(await client.ping(), { active_processes: 0 })
    await client.close()
  }
})

t.test('a certificate of the same name by another CA is refused with the handshake', async (t) => {
  await refusedOnce(t, daemon, /layer=transport .*no client certificate of tls\.client_ca/, async () => {
    await t.rejects(open(certificateOf('agent')), { code: 'CONNECT_FAILED' })
  })
})

t.test('no certificate at all is refused with the handshake', async (t) => {
  await refusedOnce(t, daemon, /layer=transport .*PEER_DID_NOT_RETURN_A_CERTIFICATE/, async () => {
    await t.rejects(open(undefined), { code: 'CONNECT_FAILED' })
  })
})

t.test('a good certificate does not let its holder be somebody else, even with that one’s key', async (t) => {
  await refusedOnce(t, daemon, /layer=identity .*client certificate is of another name/, async () => {
    await t.rejects(open(operator, 'agent'), { code: 'CONNECT_FAILED' })
  })
  t.match(
    daemon.audit().find(({ code }) => code === 'TLS_CLIENT_CERT_INVALID'),
    { type: 'decision', layer: 'identity', response: 'R5', agent: null },
  )
})

t.test('the admin socket asks for no certificate', async (t) => {
  const client = await connect({ socketPath: daemon.adminSocket })
  t.match(await client.ping(), { active_processes: 0 })
  await client.close()
})
