import t from 'tap'
import {
  asSassError,
  CODES,
  type Code,
  codeName,
  mayTellAgent,
  SassError,
  unreachable,
} from '../src/errors.ts'

const codes = Object.entries(CODES) as [Code, (typeof CODES)[Code]][]

/** Draft section 9, appendix D: first and last number of each range, and what it is about. */
const RANGES: readonly (readonly [number, number, RegExp])[] = [
  [1, 9, /^(ACL|AUTH)_/],
  [10, 19, /^(SHELL|SPAWN|EXECUTION|PROCESS|SIGNAL|OUTPUT|PTY|SANDBOX)_/],
  [20, 29, /^FILE_/],
  [30, 39, /^CONFIG_/],
  [40, 49, /^TLS_/],
  [50, 59, /^(CAPABILITY|INTENT|DECOMPRESSION|HANDOFF)_/],
  [60, 69, /^SESSION_/],
  [70, 79, /^AUTH_/],
  [80, 89, /^(CHALLENGE|ROGUE|CONFIRMATION|OUTPUT)_/],
  [90, 99, /^(LOCALHOST|SPOOFED)_/],
  [100, 109, /^(RESPONSE|RING|FRAME|DAEMON)_/],
]

t.test(
  'every code that may travel lies in its range, and 100 to 105 are the responses (SS-49)',
  async (t) => {
    for (const [name, { number, audience }] of codes) {
      if (audience === 'local') continue
      const range = RANGES.find(([first, last]) => number >= first && number <= last)
      t.ok(range?.[2].test(name), `${number} ${name}`)
    }
    t.strictSame([100, 101, 102, 103, 104, 105].map(codeName), [
      'RESPONSE_CHALLENGE_REQUIRED',
      'RESPONSE_THROTTLED',
      'RESPONSE_VI_SWAP_ENGAGED',
      'RESPONSE_TARPIT_ENGAGED',
      'RESPONSE_DROPPED',
      'RING_BUFFER_DATA_LOSS',
    ])
  },
)

t.test('a number has one name, a name one number', async (t) => {
  t.equal(new Set(codes.map(([, { number }]) => number)).size, codes.length)
  for (const [name, { number }] of codes) t.equal(codeName(number), name)
  t.equal(codeName(0), undefined)
  t.equal(codeName(999), undefined)
})

t.test('no agent is told that it was refused for what it is or did', async (t) => {
  for (const number of [53, 81, 90, 91, 103, 104]) {
    const name = codeName(number)
    t.equal(name !== undefined && mayTellAgent(name), false, String(name))
  }
  for (const [name, { number, audience }] of codes) {
    t.equal(mayTellAgent(name), audience === 'agent')
    t.equal(audience === 'local', number > 1_000, 'numbers over 1,000 never travel')
  }
})

t.test('an error is known by its code, across bundles too', async (t) => {
  const error = new SassError('FILE_IO', 'It broke.', { path: '/a' }, new Error('EIO'))
  t.match(error, { name: 'SassError', code: 'FILE_IO', details: { path: '/a' }, cause: { message: 'EIO' } })
  t.notOk('cause' in new SassError('FILE_IO', 'It broke.'))
  t.equal(asSassError(error), error)
  const foreign = Object.assign(new Error('x'), { code: 'FILE_IO', details: {} })
  t.equal(asSassError(foreign), foreign)
  for (const other of [
    new Error('x'),
    Object.assign(new Error('x'), { code: 'ENOENT', details: {} }),
    'x',
    null,
  ])
    t.equal(asSassError(other), undefined)
  t.throws(() => unreachable('x' as never), { code: 'INTERNAL' })
})
