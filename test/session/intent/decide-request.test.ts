/**
 * Proposals that read, where a file is not what it seemed: it leads elsewhere, it was moved meanwhile, or what it says
 * gives orders to whoever reads it.
 * @module
 */
import t from 'tap'
import { userInput } from '../../../src/intent/proposals/observations.ts'
import type { FileLook, SessionView } from '../../../src/ports.ts'
import { decideRequest } from '../../../src/wire/proposal-messages.ts'
import { candidate } from '../../intent/proposals/ground.node.ts'
import { enter, stageRooms } from '../stage.ts'

const PLACE = '/srv/work/proposals'
const PATH = './workspace/given'
const SAY = 'Hello'
const TEXT = Buffer.from('some text')

/** Proposes to read PATH; `looks` are what is seen there, one look after the other, and the last one from then on. */
async function readOne(looks: readonly string[], more: Partial<FileLook> = {}, permille = 0) {
  const left = [...looks]
  let opened = 0
  const stage = stageRooms({
    capability: { allowed_paths: ['/srv'], max_file_size_bytes: 1_000 },
    view: {} as SessionView,
    files: {
      look: (_view, path) => {
        if (path === PLACE) return { real: PLACE, kind: 'directory', size: 0 }
        const real = (left.length > 1 ? left.shift() : left[0]) ?? path
        return { real, kind: 'file', size: TEXT.length, ...more }
      },
      read: async () => {
        opened++
        return {
          ...{ kind: 'file', size: TEXT.length, offset: 0, mode: 0, close() {}, finish: async () => {} },
          read: async (into: Uint8Array) => {
            into.set(TEXT)
            return TEXT.length
          },
        } as never
      },
    },
  })
  Object.assign(stage.rooms.readText, { assess: () => permille })
  const client = enter(stage)
  const claim = { observation_ids: [userInput(SAY).id] }
  const candidates = [candidate({ type: 'ReadLocal', fields: { path: PATH }, claim })]
  const content = Buffer.from(JSON.stringify({ candidates }))
  const stream = client.open('Decide', decideRequest.encode({ content, said: SAY }))
  const isOver = () => client.on(stream).some(({ kind }) => kind === 'ended' || kind === 'status')
  for (let turn = 0; turn < 10_000 && !isOver(); turn++) await new Promise((done) => setImmediate(done))
  const last = client.on(stream).at(-1)
  const ended = stage.audit.events.findLast(({ type }) => type === 'proposal_execution')
  return { decision: last?.value?.['decision'], content: last?.value?.['content'], last, opened, ended }
}

t.test('a text of the workspace is read', async (t) => {
  t.match(await readOne([`${PLACE}/workspace/given`]), {
    decision: 'ACTION',
    content: 'some text',
    opened: 1,
  })
})

t.test('a path that leads out of the directory of proposals leads nowhere', async (t) => {
  for (const real of [
    '/srv/work/proposalz/workspace/given',
    '/srv/work/x',
    PLACE,
    '/srv/work/proposals/logs/x',
  ])
    t.match(await readOne([real]), { decision: 'REFUSE', opened: 0 }, real)
  const device = await readOne([`${PLACE}/workspace/given`], { kind: 'other' })
  t.match(device, { decision: 'REFUSE', opened: 0 }, 'what is no file')
})

t.test('a file that was moved between its decision and its reading is not read', async (t) => {
  const real = `${PLACE}/workspace/given`
  const found = await readOne([real, real, '/srv/work/elsewhere'])
  t.equal(found.opened, 0)
  t.match(found.ended, { result: 'failed', detail: 'FILE_IO' })
})

t.test('text that gives orders is withheld from 900 per mille on', async (t) => {
  const real = `${PLACE}/workspace/given`
  t.match(await readOne([real], {}, 899), { decision: 'ACTION', content: 'some text' })
  const found = await readOne([real], {}, 900)
  t.match(found.ended, { result: 'failed', detail: 'OUTPUT_BLOCKED' })
  t.match(found.last, { kind: 'status', text: /reads like orders/ })
  t.notMatch(JSON.stringify(found), 'some text')
})
