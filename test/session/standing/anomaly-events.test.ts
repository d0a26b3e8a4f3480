import t from 'tap'
import { anomalyEvents, seenIn } from '../../../src/session/standing/anomaly-events.ts'

const WHO = { agent: 'a', instance: 'a-1', session: 's', seq: 9 }

t.test('a turn is a command that has ended, or a request that was refused', async (t) => {
  const observed = (event: object) => seenIn({ type: 'decision', ...WHO, ...event }, 5)?.observation
  const ended = { type: 'execution_ended', stdout_bytes: 10, stderr_bytes: 5 }
  const turn = (bytes: number, ending: string) => ({ kind: 'turn', turn: { atMs: 5, bytes, ending } })
  for (const [event, expected] of [
    [{ ...ended, state: 'finished', exit_code: 0 }, turn(15, 'done')],
    [{ ...ended, state: 'finished', exit_code: 1 }, turn(15, 'failed')],
    [{ ...ended, state: 'finished', exit_code: null, signal: 9 }, turn(15, 'failed')],
    [{ ...ended, state: 'not_started', exit_code: null }, turn(15, 'refused')],
    [{ response: 'STATUS', layer: 'capability' }, turn(0, 'refused')],
    [{ response: 'R4', layer: 'specifics' }, turn(0, 'refused')],
    [{ response: 'R4', layer: 'level' }, undefined],
    [{ response: 'R3' }, undefined],
    [{ response: 'R2' }, undefined],
    [{ response: 'R1' }, undefined],
    [
      { response: 'R1', plan: 'inside' },
      { kind: 'command', isOutside: false },
    ],
    [
      { response: 'R1', plan: 'outside' },
      { kind: 'command', isOutside: true },
    ],
    [
      { response: 'R1', undeclared: 'secret+change' },
      { kind: 'command', isOutside: undefined, undeclared: 'secret+change' },
    ],
    [{ response: 'R6', agent: null }, undefined],
    [{ type: 'level' }, undefined],
  ] as const)
    t.same(observed(event), expected, JSON.stringify(event))
})

t.test(
  'what is recorded is what was found, in whole numbers, and names the record that led to it',
  async (t) => {
    const seen = seenIn({ type: 'execution_ended', ...WHO, exit_code: 0 }, 5)
    if (seen === undefined) throw new Error('nothing was seen')
    const alert = {
      measure: 'volume',
      value: 9,
      step: 8,
      mean: 7,
      variance: 6,
      limit: 5,
      samples: 4,
    } as const
    const found = { alerts: [alert], strayed: { permille: 400, commands: 10 }, contains: true }
    const who = { type: 'anomaly', agent: 'a', instance: 'a-1', session: 's', turn: 9 }
    t.same(anomalyEvents(seen, found, { sigma: 3, consecutive: 3, driftPermille: 300 }), [
      {
        ...{ ...who, what: 'beyond', measure: 'volume', value: 9, step: 8, mean: 7, limit: 5, samples: 4 },
        ...{ sigma: 3, sigma_squared: 6 },
      },
      { ...who, what: 'drift', measure: 'drift', value: 400, limit: 300, samples: 10 },
      { ...who, what: 'in_a_row', measure: 'turns', value: 3 },
    ])
  },
)
