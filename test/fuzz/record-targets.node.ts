/**
 * The record is read from files that somebody else may have written: lines of a chain, sealed bodies, time stamps and
 * evidence. Whatever is in them, they are refused or mean what they meant.
 * @module
 */
import { createHash, sign } from 'node:crypto'
import { chainHash, GENESIS, readRecord, recordHead, recordSeal } from '../../src/audit/chain.ts'
import { openBody } from '../../src/audit/sealed-form.ts'
import { createVerifier, isFinding } from '../../src/audit/verify.ts'
import { privateKeyOf, publicKeyOf } from '../../src/base/crypto/ed25519.node.ts'
import { encodeBase64Url } from '../../src/base/encoding/base64.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { parseEvidence } from '../../src/edge/record/evidence.node.ts'
import { readTimeStamp } from '../../src/edge/record/time-stamp.node.ts'
import { asSassError } from '../../src/errors.ts'
import type { FuzzTarget } from './engine.ts'
import { latin, must, text } from './inputs.ts'

const SEED = new Uint8Array(32).fill(3)
const KEY = privateKeyOf(SEED)
const PUBLIC = publicKeyOf(SEED)
const sha256 = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest()

/** A small chain, all by one key. */
function chain(): readonly string[] {
  let previous = GENESIS
  return [
    { type: 'epoch', epoch: 0, public_key: encodeBase64Url(PUBLIC) },
    { type: 'daemon', what: 'started' },
    { type: 'decision', text: 'grün "\\', nested: { a: null } },
  ].map((event, index) => {
    const { hash, json } = chainHash(
      previous,
      { ...event, seq: index + 1 },
      '2026-01-02T03:04:05.678Z',
      sha256,
    )
    previous = encodeHex(hash)
    return recordHead(json, '2026-01-02T03:04:05.678Z', hash) + recordSeal(sign(null, hash, KEY)).trimEnd()
  })
}

const LINES = chain()

/** What the key has signed, by its signatures: a fast stand-in for Ed25519 that nobody can forge either. */
const SIGNED: ReadonlyMap<string, string> = new Map(
  LINES.map((line) => {
    const record = readRecord(line)
    return [encodeHex(record?.signature ?? new Uint8Array()), encodeHex(record?.hash ?? new Uint8Array())]
  }),
)

const chainLine: FuzzTarget = {
  name: 'chain-line',
  seeds: [text(`${LINES.join('\n')}\n`), ...LINES.map(text)],
  pieces: [
    '"seq":2',
    '"type":"epoch"',
    '","event":',
    ',"chain_hash":"',
    '","signature":"',
    '{"timestamp":"',
    '\n',
  ].map(text),
  run(input) {
    const verifier = createVerifier({
      hash: sha256,
      verifySignature: (key, message, signature) =>
        encodeHex(key) === encodeHex(PUBLIC) && SIGNED.get(encodeHex(signature)) === encodeHex(message),
    })
    const lines = latin(input).split('\n')
    for (const [index, line] of lines.slice(0, -1).entries()) {
      const decoded = Buffer.from(line, 'latin1').toString('utf8')
      const finding = verifier.push(decoded)
      if (finding !== undefined) return finding.why.slice(0, 40)
      must(decoded === LINES[index], 'another line was taken for one of the chain')
    }
    const end = verifier.end(lines.at(-1) ?? '')
    return isFinding(end) ? end.why.slice(0, 40) : `whole ${end.records} ${end.unfinished}`
  },
}

const sealed: FuzzTarget = {
  name: 'sealed-body',
  seeds: [new Uint8Array(40), new Uint8Array(64).fill(7)],
  run(input) {
    must(openBody(input, SEED) === undefined, 'what nobody sealed was opened')
    return `${input.length > 40}`
  },
}

const timeStamp: FuzzTarget = {
  name: 'time-stamp',
  seeds: [
    new Uint8Array(Buffer.from('30053003020100', 'hex')),
    new Uint8Array(Buffer.from('3082001a300302010030820011060960864886f70d010702a00430020201', 'hex')),
  ],
  pieces: ['06092a864886f70d010702', '060b2a864886f70d0109100104', 'a0023000', '3100', '0400'].map(
    (hex) => new Uint8Array(Buffer.from(hex, 'hex')),
  ),
  run(input) {
    const stamp = readTimeStamp(input, [])
    must(!stamp.ok, 'a time stamp that nobody made was believed')
    return stamp.ok ? '' : stamp.why
  },
}

const evidence: FuzzTarget = {
  name: 'evidence',
  seeds: [
    text(
      JSON.stringify({
        form: 1,
        session: 'ab'.repeat(16),
        links: [],
        context: null,
        previous: GENESIS,
        records: LINES,
        frames: [],
        keys: [],
        policies: {},
      }),
    ),
  ],
  pieces: ['"form":1', '"links":[', 'null', '"records":{}'].map(text),
  run(input) {
    try {
      return `${parseEvidence(input, 'x').records.length}`
    } catch (cause) {
      const known = asSassError(cause)
      must(known?.code === 'FILE_IO', 'another error than a sentence')
      return 'refused'
    }
  },
}

export const RECORD_TARGETS: readonly FuzzTarget[] = [chainLine, sealed, timeStamp, evidence]
