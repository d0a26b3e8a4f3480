import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CONSTITUTION_SHA256, readConstitution } from '../../../src/intent/proposals/constitution.ts'
import { LAW } from './ground.node.ts'

const PATH = join(import.meta.dirname, '../../../policy/constitution/proposals.v0.1.1.json')
const BYTES = readFileSync(PATH)
const HASH = readFileSync(`${PATH}.sha256`, 'utf8')
const digest = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex')

/** The constitution with one thing in it changed, and pinned as such. */
function changed(from: string, to: string) {
  const text = BYTES.toString().replace(from, to)
  if (text === BYTES.toString()) throw new Error(`${from} is not in it`)
  return readConstitution({ bytes: Buffer.from(text), hashFile: `${digest(text)}  x\n` }, digest(text))
}

t.test('the constitution is taken by its bytes, and never without the file of its hash (RX-45)', (t) => {
  t.equal(digest(BYTES), CONSTITUTION_SHA256)
  t.match(readConstitution({ bytes: BYTES, hashFile: HASH }, CONSTITUTION_SHA256), { ok: true })
  const refused = (files: { bytes: Uint8Array; hashFile: string | undefined }, pin = CONSTITUTION_SHA256) => {
    const read = readConstitution(files, pin)
    return read.ok ? '' : read.problem
  }
  t.match(refused({ bytes: BYTES, hashFile: undefined }), /the file of its hash is not there/)
  t.match(refused({ bytes: BYTES, hashFile: `${'0'.repeat(64)}  x` }), /names other bytes/)
  t.match(refused({ bytes: BYTES, hashFile: '' }), /names other bytes/)
  t.match(refused({ bytes: BYTES, hashFile: HASH }, 'f'.repeat(64)), /not the pinned/)
  const one = Buffer.from(BYTES.toString().replace('"max_len": 2000', '"max_len": 2001'))
  t.match(refused({ bytes: one, hashFile: HASH }), /names other bytes/)
  t.match(
    refused({ bytes: one, hashFile: digest(one) }),
    /not the pinned/,
    'a hash file proves nothing by itself',
  )
  t.match(refused({ bytes: Buffer.alloc(100_000, 32), hashFile: HASH }), /larger than/)
  t.end()
})

t.test('it has the ids, limits and codes of version 0.1.1 (RX-45)', (t) => {
  const { constitution } = LAW
  t.equal(constitution.version, '0.1.1')
  t.strictSame(constitution.invariants, [
    'INV-NO-SIDE-EFFECTS-WITHOUT-WARRANT',
    'INV-AUTHORITY-CITED',
    'INV-NON-PRIVILEGED-REFLECTION',
    'INV-REPLAY-DETERMINISM',
  ])
  t.strictSame([...constitution.actions.keys()], ['Notify', 'ReadLocal', 'WriteLocal', 'Exit', 'LogAppend'])
  t.strictSame(constitution.log, { lines: 50, lineChars: 10_000, bytes: 256_000 })
  t.match(constitution, { candidatesMax: 5, tokensMax: 6_000 })
  t.strictSame(constitution.readRoots, ['./artifacts/', './workspace/'])
  t.strictSame(constitution.writeRoots, ['./workspace/', './logs/'])
  const codes = (constitution.document as { refusal_policy: { refusal_reason_codes: string[] } })
    .refusal_policy
  t.notOk(codes.refusal_reason_codes.includes('INTEGRITY_RISK'), 'integrity ends in EXIT alone')
  const lines = constitution.actions.get('LogAppend')?.fields.find(({ name }) => name === 'jsonl_lines')
  t.equal(lines?.type, 'array<string>', 'lines are a list')
  t.end()
})

t.test('whatever is missing in it, or would loosen what may not be, makes the whole of it unusable', (t) => {
  for (const [from, to] of [
    ['"version": "0.1.1"', '"version": ""'],
    ['"enabled": false', '"enabled": true'],
    ['"amendments_enabled": false', '"amendments_enabled": true'],
    ['"bundle_hash_lexicographic_min"', '"best"'],
    ['"authority_citations": true', '"authority_citations": false'],
    ['"max_candidates_per_cycle": 5', '"max_candidates_per_cycle": 0'],
    ['"max_total_tokens_per_cycle"', '"max_tokens"'],
    ['"must_be_under_allowlist_read"', '"must_be_nice"'],
    ['"type": "enum"', '"type": "float"'],
    ['"type": "Notify"', '"type": "Exit"'],
    ['"read_paths"', '"paths"'],
    ['"required_logs"', '"logs"'],
    ['{', '['],
    ['"meta"', '"meta": 1, "meta"'],
  ] as const)
    t.match(changed(from, to), { ok: false, problem: /./ }, `${from} -> ${to}`)
  t.end()
})
