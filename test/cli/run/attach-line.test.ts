import t from 'tap'
import { attachLine } from '../../../src/cli/run/attach-line.ts'

const line = (options: Record<string, string>, target?: string) =>
  attachLine(
    {
      arguments: {
        options: new Map(Object.entries(options).map(([name, value]) => [name, [value]])),
        positionals: [],
        rest: undefined,
      },
    },
    target,
    'ab12',
  )

t.test('the way back has what chose the device and the caller, as a shell takes it', (t) => {
  t.equal(line({}), 'sass-edge attach ab12')
  t.equal(line({ cwd: '/x', timeout: '5' }, 'ci@edge7:19284'), 'sass-edge attach ci@edge7:19284 ab12')
  t.equal(
    line({ key: "/it's/my key", agent: 'ci', config: '/etc/a.json' }, '[::1]:7'),
    "sass-edge attach --config /etc/a.json --agent ci --key '/it'\\''s/my key' '[::1]:7' ab12",
  )
  t.end()
})
