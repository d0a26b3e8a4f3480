import t from 'tap'
import { readCode } from '../../../../src/defense/13policy/code/words.ts'
import type { Language } from '../../../../src/defense/13policy/unwrap/inner.ts'

function isServed([language, text]: readonly [Language, string]): boolean {
  return readCode(text, language, 'x').calls.includes('unknown:served-place')
}

t.test('a server whose files are a whole place of the device is told', async (t) => {
  const served: readonly (readonly [Language, string])[] = [
    ['javascript', 'const e = require("express"); e().use(e.static("/")).listen(80)'],
    ['javascript', 'e().use("/files", e.static("/etc")).listen(80)'],
    ['python', 'from flask import Flask\nFlask(__name__, static_folder="/")'],
    ['other', 'http.ListenAndServe(":80", http.FileServer(http.Dir("/")))'],
  ]
  for (const one of served) t.equal(isServed(one), true, one[1])
})

t.test('one whose files lie in the project, or a route, is not', async (t) => {
  const kept: readonly (readonly [Language, string])[] = [
    ['javascript', 'app.use("/static", e.static("public"))'],
    ['python', 'from flask import Flask\nFlask(__name__, static_url_path="/static")'],
    ['other', 'http.Handle("/", http.FileServer(http.Dir("./public")))'],
  ]
  for (const one of kept) t.equal(isServed(one), false, one[1])
})
