import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkHalt, type LevelState, openLevelStore } from '../../../src/edge/state/level-store.node.ts'

const CONTAINED: LevelState = {
  entries: [
    { scope: 'agent', name: 'ci', level: 'CONTAIN', why: 'three violations', sinceMs: 1_700_000_000_000 },
    { scope: 'daemon', name: '', level: 'HALT', why: 'too many', sinceMs: 1_700_000_000_001 },
  ],
  incident: 'ab'.repeat(32),
}
const NONE: LevelState = { entries: [], incident: undefined }

t.test('without a file everybody is at NORMAL', async (t) => {
  t.strictSame(openLevelStore(t.testdir()).state, NONE)
})

t.test('what is saved is there after a restart, in a file that is replaced whole', async (t) => {
  const directory = t.testdir()
  openLevelStore(directory).save(CONTAINED)
  t.strictSame(openLevelStore(directory).state, CONTAINED)
  const path = join(directory, 'levels.json')
  const before = statSync(path)
  t.equal(before.mode & 0o777, 0o600)
  openLevelStore(directory).save({ ...CONTAINED, incident: undefined })
  t.not(statSync(path).ino, before.ino, 'another file in its place, never half of one')
  t.strictSame(readdirSync(directory), ['levels.json'], 'nothing temporary is left')
  t.equal(openLevelStore(directory).state.incident, undefined)
})

t.test('when everybody is at NORMAL again there is no file', async (t) => {
  const directory = t.testdir()
  const store = openLevelStore(directory)
  store.save(CONTAINED)
  store.save(NONE)
  store.save(NONE)
  t.strictSame(readdirSync(directory), [])
})

t.test('a file that cannot be read whole is refused, and is left as it is', async (t) => {
  const directory = t.testdir()
  const path = join(directory, 'levels.json')
  openLevelStore(directory).save(CONTAINED)
  const whole = readFileSync(path, 'utf8')
  const entry = CONTAINED.entries[0]
  const bad: Record<string, string> = {
    torn: whole.slice(0, whole.length / 2),
    'torn before its end': whole.slice(0, -3),
    empty: '',
    'no object': '[]',
    'without entries': '{"incident": null}',
    'an unknown level': whole.replace('CONTAIN', 'CALM'),
    'a level that is none': JSON.stringify({ entries: [{ ...entry, level: 'constructor' }], incident: null }),
    'an unknown scope': JSON.stringify({ entries: [{ ...entry, scope: 'session' }], incident: null }),
    'an entry that is none': JSON.stringify({ entries: [null], incident: null }),
    'an incident that is none': JSON.stringify({ entries: [], incident: 5 }),
    'without an incident': JSON.stringify({ entries: [] }),
    'a key twice': '{"entries": [], "entries": [], "incident": null}',
    'no UTF-8': '\xff',
    'too large': `{"entries": [], "incident": null${' '.repeat(1_048_576)}}`,
  }
  for (const [name, text] of Object.entries(bad)) {
    writeFileSync(path, text, 'latin1')
    t.throws(
      () => openLevelStore(directory),
      { code: 'STATE_UNWRITABLE', message: /levels\.json cannot be read, so it is not known which agents/ },
      name,
    )
    t.equal(readFileSync(path, 'latin1'), text)
  }
})

t.test('a directory in its place is refused too', async (t) => {
  const directory = t.testdir()
  mkdirSync(join(directory, 'levels.json'))
  t.throws(() => openLevelStore(directory), { code: 'STATE_UNWRITABLE' })
})

t.test('where it cannot be written the caller hears of it, and the old one stays', async (t) => {
  const directory = t.testdir({ state: {} })
  const state = join(directory, 'state')
  const store = openLevelStore(state)
  store.save(CONTAINED)
  if (process.getuid?.() === 0) return t.comment('skipped: root may write everywhere')
  chmodSync(state, 0o500)
  t.teardown(() => chmodSync(state, 0o700))
  t.throws(() => store.save({ ...CONTAINED, incident: undefined }), { code: 'EACCES' })
  t.strictSame(openLevelStore(state).state, CONTAINED)
})

t.test('a daemon that has halted starts only for who names the incident', async (t) => {
  t.equal(checkHalt(NONE, undefined), false)
  t.equal(checkHalt(NONE, 'ab'), false, 'there is nothing to acknowledge')
  t.equal(checkHalt(CONTAINED, CONTAINED.incident), true)
  for (const named of [undefined, '', 'ab', 'AB'.repeat(32)])
    t.throws(() => checkHalt(CONTAINED, named), {
      code: 'STATE_UNWRITABLE',
      message: new RegExp(`--ack-incident ${CONTAINED.incident}\\.$`),
    })
})
