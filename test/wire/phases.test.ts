import t from 'tap'
import { KIND } from '../../src/wire/frame.ts'
import { PHASES } from '../../src/wire/phases.ts'

t.test('the table knows no kind that frames do not have, and no rule but take and refuse', (t) => {
  for (const phases of Object.values(PHASES)) {
    t.strictSame(Object.keys(phases), ['silent', 'open', 'draining'])
    for (const cells of Object.values(phases)) {
      for (const [kind, rule] of Object.entries(cells)) t.ok(kind in KIND && /^(take|refuse)$/.test(rule))
    }
  }
  t.end()
})

t.test(
  'only a daemon that goes down answers an OPEN without taking it, and only clients hear STATUS and GOAWAY',
  (t) => {
    const refused = Object.entries(PHASES).flatMap(([role, phases]) =>
      Object.entries(phases).flatMap(([phase, cells]) =>
        Object.entries(cells).flatMap(([kind, rule]) =>
          rule === 'refuse' ? [`${role} ${phase} ${kind}`] : [],
        ),
      ),
    )
    t.strictSame(refused, ['daemon draining OPEN'])
    for (const cells of Object.values(PHASES.daemon)) t.notOk('STATUS' in cells || 'GOAWAY' in cells)
    for (const cells of Object.values(PHASES.client)) t.notOk('OPEN' in cells)
    t.end()
  },
)
