import t from 'tap'
import { readCode } from '../../../../src/defense/13policy/code/words.ts'
import type { Language } from '../../../../src/defense/13policy/unwrap/inner.ts'

/** What the code writes; `?` for a path that could be any. */
function written(text: string, language: Language): string {
  return readCode(text, language, 'x')
    .inner.flatMap((one) => (one.kind === 'path' && one.use === 'write' ? [one.word.text || '?'] : []))
    .join(' ')
}

const CODE: readonly (readonly [Language, string, string])[] = [
  ['python', 'for f in ["/etc/a", "b"]: open(f, "w")', '/etc/a'],
  ['python', 'import os\nfor f in os.listdir("/etc"): os.remove(f)', '/etc'],
  ['python', 'import os\nfor r, d, f in os.walk("/"): os.remove(f)', '/'],
  ['python', 'import glob\nfor f in glob.glob("src/*.py"): open(f, "w").write(f.split("/")[-1])', ''],
  ['python', 'def save(p): open(p, "w")\nsave("out.json")', ''],
  ['python', 'import sys; open(sys.argv[1], "w")', '?'],
  ['python', 'import base64; open(base64.b64decode("eA=="), "w")', '?'],
  ['python', 'open(chr(47) + x, "w")', '?'],
  ['javascript', 'for (const f of ["/etc/a"]) require("fs").writeFileSync(f, "")', '/etc/a'],
  ['javascript', 'const save = (p) => fs.writeFileSync(p, ""); save("a.json")', ''],
  ['javascript', 'fs.writeFileSync(process.argv[2], "")', '?'],
  ['ruby', 'Dir["*.txt"].each { |f| File.write(f, "x") }', ''],
  ['ruby', '["/etc/a"].each { |f| File.write(f, "x") }', '/etc/a'],
]

t.test('a path that is worked out is one that the code names, or any where texts come from outside', (t) => {
  for (const [language, text, expected] of CODE) t.equal(written(text, language), expected, text)
  t.end()
})
