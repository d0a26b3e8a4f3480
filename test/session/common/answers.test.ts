import t from 'tap'
import { UNREAD_ANSWER_COST_BYTES, UNREAD_ANSWERS_BYTES } from '../../../src/limits.ts'
import { createAnswers } from '../../../src/session/common/answers.ts'

t.test(
  'answers that are not taken are many by their bytes or by their number, and few again when they are',
  (t) => {
    for (const bytes of [0, 100, UNREAD_ANSWERS_BYTES]) {
      const taken: (() => void)[] = []
      let freed = 0
      let told = 0
      const answers = createAnswers(
        { write: (_bytes, done) => taken.push(done ?? (() => {})) },
        () => freed++,
      )
      while (!answers.areMany) answers.send(new Uint8Array(bytes), () => told++)
      t.equal(taken.length, Math.ceil(UNREAD_ANSWERS_BYTES / (bytes + UNREAD_ANSWER_COST_BYTES)))
      for (const done of taken) done()
      t.notOk(answers.areMany)
      t.strictSame([freed, told], [1, taken.length])
    }
    t.end()
  },
)

t.test('what a lost connection gives back asks for nothing more', (t) => {
  const taken: ((isLost?: boolean) => void)[] = []
  let freed = 0
  let told = 0
  const answers = createAnswers({ write: (_bytes, done) => taken.push(done ?? (() => {})) }, () => freed++)
  while (!answers.areMany) answers.send(new Uint8Array(1), () => told++)
  for (const done of taken) done(true)
  t.strictSame([freed, told, answers.areMany], [0, taken.length, false])
  t.end()
})
