import t from 'tap'
import { runMain } from '../run-main.node.ts'

t.test('a side that is an empty word is told as that', async (t) => {
  const directory = t.testdir({ file: '' })
  for (const sides of [
    ['', 'edge7:'],
    ['edge7:file', ''],
  ])
    t.match(await runMain(directory, ['cp', ...sides]), {
      code: 125,
      stderr: /^sass-edge: One side of the copy is an empty word/,
    })
})
