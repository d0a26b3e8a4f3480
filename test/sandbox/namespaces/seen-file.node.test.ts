import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { seenFile } from '../../../src/sandbox/namespaces/seen-file.node.ts'

t.test('what cannot be looked at is not seen, and links are seen as themselves', (t) => {
  const directory = t.testdir({ file: 'x' })
  symlinkSync('nowhere', join(directory, 'link'))
  t.equal(seenFile(join(directory, 'file'))?.isFile(), true)
  t.equal(seenFile(join(directory, 'link'))?.isSymbolicLink(), true)
  t.equal(seenFile(join(directory, 'none')), undefined)
  t.equal(seenFile(join(directory, 'file/beneath')), undefined)
  t.equal(seenFile(`/${'x'.repeat(5_000)}`), undefined, 'nor what the kernel refuses to look for')
  t.end()
})
