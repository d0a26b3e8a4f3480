/**
 * What is sent to a server is told from what is only asked for.
 * @module
 */
import t from 'tap'
import { readCode } from '../../../../src/defense/13policy/code/words.ts'

t.test('a body and a method that changes something are sent', (t) => {
  for (const text of [
    "fetch('https://example.com', { body: x })",
    "fetch('https://example.com', { method: 'POST' })",
    "session.post('https://example.com', x)",
  ])
    t.ok(readCode(text, 'javascript', 'test').calls.includes('request:body'), text)
  t.end()
})

t.test('a question is none', (t) => {
  for (const text of ["fetch('https://example.com')", "list.delete('x')", "app.post('/x', f)"])
    t.notOk(readCode(text, 'javascript', 'test').calls.includes('request:body'), text)
  t.end()
})
