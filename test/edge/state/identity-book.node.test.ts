/**
 * The book of enrolments beside somebody who holds it.
 * @module
 */
import { closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createFileLock } from '../../../src/edge/state/file-lock.node.ts'
import { BOOK_NAME, updateBook } from '../../../src/edge/state/identity-book.node.ts'

t.test('a book that somebody holds is not changed, and nobody is told to remove it', (t) => {
  const directory = t.testdir()
  const descriptor = openSync(directory, 'r')
  t.ok(createFileLock()(descriptor))
  t.throws(() => updateBook(directory, (book) => book), {
    code: 'STATE_UNWRITABLE',
    message:
      /^Another process holds \S+, so nothing was changed: end it \(fuser -v tells which one\), and try again\.$/,
  })
  t.notOk(existsSync(join(directory, BOOK_NAME)))
  closeSync(descriptor)
  t.strictSame(
    updateBook(directory, (book) => book),
    { invitations: [], enrolled: [], keys: [] },
    'and is, when it is free',
  )
  t.end()
})
