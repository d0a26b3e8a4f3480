/**
 * What is added to the value of a name is part of it.
 * @module
 */
import t from 'tap'
import { readCode } from '../../../../src/defense/13policy/code/words.ts'
import type { Language } from '../../../../src/defense/13policy/unwrap/inner.ts'

function started(text: string, language: Language): readonly string[] {
  return readCode(text, language, 'test').inner.flatMap((inner) =>
    inner.kind === 'shell'
      ? inner.word.text
      : inner.kind === 'argv'
        ? inner.words.map((word) => word.text).join(' ')
        : [],
  )
}

t.test('a text and a list that grow are started as they have become', (t) => {
  const lines: readonly (readonly [Language, string])[] = [
    ['python', "import os\nc='rm'\nc+=' -r x'\nos.system(c)"],
    ['python', "import subprocess\na=['rm']\na.append('-r')\na.append('x')\nsubprocess.run(a)"],
    ['javascript', "let c='rm'; c+=' -r x'; require('child_process').execSync(c)"],
    ['ruby', 'c="rm"; c << " -r x"; system c'],
    ['perl', '$c="rm"; $c.=" -r x"; system $c'],
    ['php', '$c="rm"; $c.=" -r x"; system($c);'],
    ['lua', 'local c="rm" c=c.." -r x" os.execute(c)'],
  ]
  for (const [language, text] of lines) t.same(started(text, language), ['rm -r x'], text)
  t.end()
})

t.test('what is added and not known leaves the rest open', (t) => {
  const { opaque } = readCode("import os\nc='rm '\nc+=x()\nos.system(c)", 'python', 'test')
  t.ok(opaque.includes('eval'))
  t.end()
})
