/**
 * What docs/security.md calls the two layers of each critical function: with the first one taken away the second still
 * holds. One daemon has all the first ones taken away that a configuration can take away, and is attacked for real; what
 * holds before and behind it is asked by itself.
 * @module
 */
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { chainHash, GENESIS, hashIn } from '../../src/audit/chain.ts'
import { sha256 } from '../../src/base/crypto/hash.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { connect } from '../../src/client/client.node.ts'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import { Warrant } from '../../src/defense/warrant.ts'
import { AGENT, executing, FACTS, LEDGER, policyWith } from '../defense/staged-facts.ts'
import { type Branched, everyone, inSession, startBranched } from './branched.node.ts'
import { ROOT, until } from './daemon.node.ts'
import { told } from './handoffs.node.ts'

t.setTimeout(120_000)

/** Put together here, so that nobody finds it in this file. */
const TOKEN = `ghp_${'Zq4LmW9xT2cVbN7yRk3PsD8fGh1JtU6aQwEr'}`

/** All that a configuration can take away of the first layers. */
const WITHOUT_FIRST = {
  acl: { allow: ['*'] },
  policy: { default_rules: false },
  security: { sensitive_files: 'allow', toxic_combinations: 'allow', opaque: 'allow' },
  capabilities: { default: { allowed_paths: ['*'] } },
}

type Printed = { readonly code: number | undefined; readonly text: string }

async function ran(daemon: Branched, command: string, ...args: readonly string[]): Promise<Printed> {
  return inSession(daemon, async (agent) => {
    const { exitCode, stdout, stderr } = await agent.execute(command, args)
    return { code: exitCode, text: `${Buffer.from(stdout)}${Buffer.from(stderr)}` }
  })
}

/** By the name that the page has: what shows that the second layer holds. */
const SECOND: Readonly<Record<string, (t: Test, daemon: Branched) => Promise<void>>> = {
  async 'who is let in'(t, daemon) {
    const { privateKey } = generateKeyPairSync('ed25519')
    const seed = privateKey.export({ format: 'jwk' }).d ?? ''
    const other = connect({
      ...{ host: '127.0.0.1', port: daemon.port, agent: 'agent', reconnect: false, pin: daemon.fingerprint },
      privateKey: new Uint8Array(Buffer.from(seed, 'base64url')),
    })
    t.not(await told(other), 'done', 'another key is nobody')
  },
  async 'what a command destroys'(t, daemon) {
    daemon.put('kept', 'text')
    t.equal((await ran(daemon, 'rm', '-rf', 'kept')).code, 0, 'nothing stops it')
    t.equal(readFileSync(join(daemon.workspace, 'kept'), 'utf8'), 'text', 'it was a branch')
  },
  async 'what is written outside of the workspace'(t, daemon) {
    const path = join(daemon.directory, 'outside')
    await inSession(daemon, (agent) => told(agent.upload(Buffer.from('x'), path)))
    await ran(daemon, 'cp', '/dev/null', path)
    t.notOk(existsSync(path))
  },
  async 'secrets of the device'(t, daemon) {
    const key = join(daemon.directory, '.sass-edge/keys/operator.key')
    for (const path of ['/etc/shadow', key]) {
      t.ok(existsSync(path), path)
      // No words name it, so that nothing reads them.
      daemon.put('read.sh', `head -c 9 '${path}'`)
      const { code, text } = await ran(daemon, 'sh', './read.sh')
      t.not(code, 0, path)
      t.match(text, /No such file|Permission denied/, path)
    }
  },
  async 'secrets in the workspace'(t, daemon) {
    daemon.put('.env', `GITHUB=${TOKEN}\n`)
    t.strictSame(await ran(daemon, 'cat', '.env'), { code: 0, text: 'GITHUB=[redacted:github-token]\n' })
  },
  async 'the network'(t, daemon) {
    let connections = 0
    const server = createServer((socket) => {
      connections++
      socket.destroy()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    daemon.put('reach.sh', `exec 3<>/dev/tcp/127.0.0.1/${port}`)
    t.not((await ran(daemon, 'bash', './reach.sh')).code, 0)
    t.equal(connections, 0)
    createConnection({ host: '127.0.0.1', port: port ?? 0 }).on('error', () => {})
    await until('who is not in a session', () => connections === 1)
  },
  async 'what whoever acts for another may'(t) {
    // The configuration refuses such a delegate; here the decision is given one.
    const chain = [{ name: 'boss', tools: ['Read'], capability: 'default' }] as const
    const identity = { ...AGENT, delegation: { chain, hops: 0 } }
    const facts = { ...FACTS, identity, action: executing(['touch', 'x']) }
    const verdict = adjudicate(facts, policyWith({}), LEDGER)
    t.match(verdict, { response: 'VI_SWAP', rule: 'delegation.rights' })
  },
  async 'what is done once'(t) {
    // Nobody has kept its id.
    const action = executing()
    const verdict = adjudicate({ ...FACTS, action }, policyWith({}), LEDGER)
    if (!('warrant' in verdict) || verdict.warrant === undefined) throw new Error('It is permitted.')
    const { warrant } = verdict
    const session = FACTS.session?.id ?? ''
    Warrant.redeem(warrant, action, session)
    t.throws(() => Warrant.redeem(warrant, action, session), /used twice/)
  },
  async 'the record'(t, daemon) {
    await daemon.stop()
    const path = join(daemon.state, 'audit/audit.jsonl')
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    t.equal((await daemon.cli(['audit', 'verify'])).code, 0)
    const at = lines.findLastIndex((line) => line.includes('"type":"decision"'))
    const forged = lines.map((line, index) => (index === at ? line.replace('"R1"', '"R4"') : line))
    t.not(forged[at], lines[at])
    writeFileSync(path, `${forged.join('\n')}\n`)
    t.equal((await daemon.cli(['audit', 'verify'])).code, 1, 'a hash does not fit')
    // Whoever writes a record anew also writes all hashes from there on.
    let previous = at === 0 ? GENESIS : hashIn(lines[at - 1] ?? '')
    const chained = forged.map((line, index) => {
      if (index < at) return line
      const record = JSON.parse(line)
      previous = encodeHex(chainHash(previous, record.event, record.timestamp, sha256).hash)
      return line.replace(record.chain_hash, previous)
    })
    writeFileSync(path, `${chained.join('\n')}\n`)
    const verified = await daemon.cli(['audit', 'verify'])
    t.equal(verified.code, 1, 'they fit now, and the signatures do not')
    t.match(`${verified.stdout}${verified.stderr}`, /not signed with the key/)
  },
}

t.test(
  'each critical function has a second layer, which holds where the first is taken away (JF-002)',
  async (t) => {
    const page = readFileSync(join(ROOT, 'docs/security.md'), 'utf8')
    const section = page.slice(page.indexOf('## Two layers'), page.indexOf('## How it is measured'))
    const named = [...section.matchAll(/^\| (?!function|---)([^|]+?) \|/gm)].map(([, name]) => name)
    t.strictSame(named, Object.keys(SECOND), 'the page has those that are tried here')
    const [who] = everyone(t)
    if (who === undefined) return
    const daemon = await startBranched(t, who, WITHOUT_FIRST)
    for (const [name, holds] of Object.entries(SECOND)) await t.test(name, (t) => holds(t, daemon))
  },
)
