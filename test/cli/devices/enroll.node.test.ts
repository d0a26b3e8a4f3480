import t from 'tap'
import { writeEnrolmentLine } from '../../../src/wire/enrolment-line.ts'
import { runMain } from '../run-main.node.ts'

t.test('each address that nobody answers at is told once', async (t) => {
  const directory = t.testdir({})
  const addresses = ['127.0.0.1:1', '127.0.0.1:2']
  const line = writeEnrolmentLine({
    ...{ device: 'edge7', agent: 'ci', addresses },
    keyDigest: new Uint8Array(32),
    token: new Uint8Array(16).fill(1),
    expiresAt: Math.ceil(Date.now() / 1_000) + 60,
  })
  const { code, stderr } = await runMain(directory, ['enroll', line])
  t.equal(code, 255, stderr)
  const said = stderr.trimEnd().split('\n')
  t.equal(said.length, 2, stderr)
  for (const index of [0, 1]) t.match(said[index], `127.0.0.1 port ${index + 1} cannot be reached`)
  t.match(said[1], /^sass-edge: /)
})
