/**
 * There is one way into the audit chain, and it goes on at its end.
 * @module
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')
const sources = globSync('src/**/*.ts', { cwd: root })
  .sort()
  .map((path) => ({ path, code: readFileSync(join(root, path), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '') }))
const files = (pattern: RegExp) => sources.filter(({ code }) => pattern.test(code)).map(({ path }) => path)

t.test('every part gives its events to one entrance, which only appends (JF-074)', async (t) => {
  t.strictSame(
    files(/\bopenChainFile\(/),
    ['src/audit/chain-file.node.ts', 'src/audit/journal.node.ts'],
    'the journal alone opens the file that is written to',
  )
  t.strictSame(
    files(/\bopenJournal\(/),
    ['src/audit/journal.node.ts', 'src/edge/record/record.node.ts'],
    'and there is one journal in a daemon',
  )
  const journal = sources.find(({ path }) => path === 'src/audit/journal.node.ts')?.code ?? ''
  t.equal(journal.match(/\bfile\.write\(/g)?.length, 2, 'a record, and the signature that ends it')
  t.notMatch(journal, /\bappendFileSync|\bwriteFileSync|\bwriteSync/)
  const ports = sources.find(({ path }) => path === 'src/ports.ts')?.code ?? ''
  const sink = /export interface AuditSink \{([\s\S]*?)\n\}/.exec(ports)?.[1] ?? ''
  const members = [...sink.matchAll(/^ {2}(?:readonly )?(\w+)/gm)].map(([, name]) => name)
  t.strictSame(
    members,
    ['append', 'whenKept', 'head', 'publicKey', 'keyFingerprint', 'genesisKey', 'epoch'],
    'what the rooms are given can append, and tell',
  )
  const chainFile = sources.find(({ path }) => path === 'src/audit/chain-file.node.ts')?.code ?? ''
  t.match(chainFile, /O_RDWR \| O_CREAT \| O_APPEND/)
})

t.test('nothing in the code of the daemon opens a file of the chain to write but these', async (t) => {
  const writers = sources.filter(
    ({ code }) =>
      /\b(activePath|closedPath|segmentsOf|chainPaths)\(/.test(code) &&
      /\b(writeSync|writeFileSync|appendFileSync|createWriteStream|ftruncateSync|truncateSync)\(/.test(code),
  )
  t.strictSame(
    writers.map(({ path }) => path),
    [
      'src/audit/chain-file.node.ts',
      // links.jsonl, which lies beside it.
      'src/audit/retention.node.ts',
      // A copy elsewhere, to be looked at.
      'src/edge/record/evidence.node.ts',
    ],
  )
})
