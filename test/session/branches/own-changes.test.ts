/**
 * ShowChanges: an agent looks at the branch that its own session works in, and at no other, without contents.
 */
import t from 'tap'
import type { CborValue } from '../../../src/base/encoding/cbor.ts'
import { decodeHex } from '../../../src/base/encoding/hex.ts'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import { SassError } from '../../../src/errors.ts'
import type { SessionView } from '../../../src/ports.ts'
import type { BranchWork } from '../../../src/sandbox/branch/threads/branch-work.ts'
import type { Place, Places } from '../../../src/sandbox/places/place.ts'
import * as m from '../../../src/wire/messages.ts'
import { type Client, enter, stageRooms } from '../stage.ts'

const ONE = 'aa'.repeat(16)
const DIGEST = 'cd'.repeat(32)

const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

function stage({ branch = ONE, review }: { branch?: string; review?: BranchWork['review'] } = {}) {
  const deeds: string[] = []
  const root = { path: '/srv/work', store: '/state/0', baseNs: '1' }
  const found = {
    session: ONE,
    agent: 'bot',
    level: 'overlay',
    attributes: 'trusted',
    roots: [root],
  } as const
  const text = encodeUtf8('0123456789'.repeat(30_000))
  const work = {
    list: () => [],
    find: (session: string) => (session === ONE ? found : undefined),
    isEmpty: () => false,
    mergedAtMs: () => undefined,
    sweep: () => {},
    review:
      review ??
      (async (session: string, form: string, paths: readonly { path: Uint8Array }[]) => {
        deeds.push(
          `review ${session.slice(0, 2)} ${form} ${paths.map(({ path }) => Buffer.from(path)).join()}`,
        )
        let at = 0
        return {
          ...{ digest: DIGEST, changes: 3, conflicts: 1, heldBack: 0, shown: 2 },
          text: {
            sizeBytes: text.length,
            async read(target: Uint8Array) {
              const piece = text.subarray(at, at + target.length)
              target.set(piece)
              at += piece.length
              return piece.length
            },
            close: () => void deeds.push('closed'),
          },
        }
      }),
  } as unknown as BranchWork
  const place = { branch } as Place
  const places = {
    prepare: () => {},
    find: () => place,
    close: () => Promise.resolve(),
    has: () => false,
    sessionsIn: () => [],
    useOf: () => 'none',
    closeAll: () => Promise.resolve(),
  } as unknown as Places
  const staged = stageRooms({ branchWork: work, places, view: {} as SessionView })
  return { ...staged, bot: enter(staged), deeds }
}

async function drain(client: Client, stream: number): Promise<string> {
  for (let turn = 0; turn < 20; turn++) {
    client.connection.grant(stream, 65_536)
    await settled()
  }
  return client
    .on(stream)
    .map(({ value }) => String(value?.['data'] ?? ''))
    .join('')
}

async function ask(client: Client, request: CborValue) {
  const stream = client.open('ShowChanges', request)
  await settled()
  return client.on(stream).at(-1)
}

t.test('an agent sees what its branch would change, under credit, and which branch that is', async (t) => {
  const { bot, deeds } = stage()
  const request = m.changesRequest.encode({ form: 1, paths: [encodeUtf8('src')] })
  const stream = bot.open('ShowChanges', request)
  await settled()
  t.equal((await drain(bot, stream)).length, 300_000)
  t.match(bot.on(stream).at(-1), {
    kind: 'ended',
    value: { changes: 3, conflicts: 1, shown: 2, is_preview: false, branch: '\u00aa'.repeat(16) },
  })
  t.strictSame(deeds, ['review aa stat src', 'closed'])
})

t.test('contents and digests of files are not among the forms', async (t) => {
  const { bot, deeds } = stage()
  for (const form of [2, 3])
    t.match(await ask(bot, new Map([[2, form]])), { kind: 'status', code: 106, text: /form/ }, `form ${form}`)
  t.match(
    await ask(bot, new Map([[1, decodeHex(ONE) ?? null]])),
    { kind: 'status', code: 106 },
    'a branch by name',
  )
  t.strictSame(deeds, [])
})

t.test('one look at a time, however many ask; who leaves makes room', async (t) => {
  const { bot, deeds } = stage()
  const first = bot.open('ShowChanges', new Map())
  await settled()
  t.match(await ask(bot, new Map()), { kind: 'status', code: 101 })
  bot.connection.reset(first)
  await settled()
  t.strictSame(deeds, ['review aa text ', 'closed'])
  const next = bot.open('ShowChanges', new Map())
  await settled()
  t.equal((await drain(bot, next)).length, 300_000)
})

t.test(
  'a path outside is a mistake, the real files have no branch, and what fails is not told in detail',
  async (t) => {
    const outside = m.changesRequest.encode({ paths: [encodeUtf8('/etc/passwd')] })
    t.match(await ask(stage().bot, outside), { kind: 'status', code: 106, text: /is not in the branch/ })
    t.match(await ask(stage({ branch: '' }).bot, new Map()), {
      kind: 'status',
      code: 17,
      text: /real files/,
    })
    const broken = stage({
      review: () => Promise.reject(new SassError('FILE_IO', 'The file /state/secret cannot be read.')),
    })
    const answer = await ask(broken.bot, new Map())
    t.match(answer, { kind: 'status', code: 22 })
    t.notMatch(JSON.stringify(answer), /secret/)
    t.match(await ask(broken.bot, new Map()), { code: 22 }, 'and the next look is not held up')
  },
)
