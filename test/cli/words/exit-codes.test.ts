import t from 'tap'
import { EXIT, exitOfError, exitOfRemote } from '../../../src/cli/words/exit-codes.ts'
import { CODES, type Code } from '../../../src/errors.ts'

t.test('a remote exit passes through, a remote signal is 128 and its number', async (t) => {
  for (let code = 0; code <= 255; code++) t.equal(exitOfRemote({ kind: 'exited', code }), code)
  t.equal(exitOfRemote({ kind: 'signalled', signal: 2 }), 130)
  t.equal(exitOfRemote({ kind: 'signalled', signal: 9 }), 137)
  t.equal(exitOfRemote({ kind: 'signalled', signal: 15 }), 143)
})

t.test('no error of ours is ever 0, and every code has one of the contract', async (t) => {
  const contract = new Set<number>(Object.values(EXIT))
  for (const code of Object.keys(CODES) as Code[]) {
    const exit = exitOfError(code)
    t.ok(contract.has(exit) && exit !== 0, `${code} ${exit}`)
  }
})

t.test(
  'tells local mistakes, starts that failed, unknown outcomes and proven non-starts apart',
  async (t) => {
    for (const code of [
      'USAGE',
      'CONFIG_INVALID',
      'CONFIG_LOAD_FAILED',
      'KEY_FILE_INVALID',
      'STATE_UNWRITABLE',
    ] as const) {
      t.equal(exitOfError(code), 125, code)
    }
    t.equal(exitOfError('EXECUTION_TIMEOUT'), 124)
    t.equal(exitOfError('SPAWN_FAILED', 'ENOENT'), 127)
    t.equal(exitOfError('SPAWN_FAILED', 'EACCES'), 126)
    t.equal(exitOfError('SPAWN_FAILED'), 126)
    for (const code of ['EXECUTION_OUTCOME_UNKNOWN', 'CONNECTION_LOST', 'RING_BUFFER_DATA_LOSS'] as const) {
      t.equal(exitOfError(code), 254, code)
    }
    for (const code of [
      'CONNECT_FAILED',
      'PIN_MISMATCH',
      'AUTH_SIGNATURE_INVALID',
      'RESPONSE_VI_SWAP_ENGAGED',
    ] as const) {
      t.equal(exitOfError(code), 255, code)
    }
  },
)
