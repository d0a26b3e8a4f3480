/**
 * One agent of the demonstration, as a process of its own with a key of its own: `agents.node.ts '{"role": …}'`. What it
 * has to say it says in signed envelopes, what it hears it takes from its inbox on the device, and what it does there
 * are calls of plans that somebody else has signed.
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, connect } from '../../src/client/client.node.ts'
import { type Given, places, type Role, sassEdge } from './common.ts'
import { sanitisedHtml } from './tools/sanitised-html.ts'

const given: Given = JSON.parse(process.argv[2] ?? '{}')
const { keys, vault, work, article } = places(given.directory)
const keyFile = join(keys, `${given.role}.key`)
const POLL_MS = 50
const LIFE_MS = 120_000

type Payload = Record<string, unknown>
type Letter = { readonly session: string; readonly payload: Payload }

/** Takes the next envelope of a template; other ones stay where they are. */
async function receive(device: Client, template: string, from?: string): Promise<Letter> {
  for (;;) {
    const { envelopes } = await device.intent.list()
    const found = envelopes.find(
      (one) => one.template === `${template} v1` && (from ?? one.sender) === one.sender,
    )
    if (found !== undefined) {
      const { bytes, session } = await device.intent.take(found.id)
      return { session, payload: JSON.parse(Buffer.from(bytes).toString('utf8')).payload }
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** Packs, signs and hands in. Keys never leave the machine of the agent. */
async function send(
  device: Client,
  to: string,
  template: string,
  { session, payload }: Letter,
): Promise<void> {
  const file = join(work, `${given.role}.${template}.${to}.json`)
  writeFileSync(file, JSON.stringify(payload))
  const words = ['--agent', given.role, '--key', keyFile, '--to', to, '--template', `${template}@1`]
  const where = ['--vault', vault, '--payload', file, '--session', session, '--out', work]
  const packed = await sassEdge(given.directory, ['intent', 'pack', ...words, ...where])
  await device.intent.submit(to, readFileSync(String(packed['file'])))
}

/** Signs a plan of these calls and sends it to whoever is to run it. */
async function sendPlan(
  device: Client,
  to: string,
  session: string,
  tool: string,
  args: Payload,
): Promise<void> {
  const calls = join(work, `${tool}.calls.json`)
  const plan = join(work, `${tool}.plan.json`)
  writeFileSync(
    calls,
    JSON.stringify({ session_id: session, tool_calls: [{ tool_call_id: tool, tool_name: tool, args }] }),
  )
  const words = ['--agent', given.role, '--key', keyFile, '--out', plan]
  await sassEdge(given.directory, ['intent', 'plan', calls, ...words])
  await send(device, to, 'execution_plan', {
    session,
    payload: { plan: JSON.parse(readFileSync(plan, 'utf8')) },
  })
}

/** Runs the plan that waits for this agent under its session, and passes on what it printed. */
async function runAndPassOn(device: Client, tool: string): Promise<void> {
  const { session } = await receive(device, 'execution_plan')
  const printed: Uint8Array[] = []
  const { planId, state, calls } = await device.plans.run({ sessionId: session }, (_source, bytes) =>
    printed.push(bytes.slice()),
  )
  if (state !== 'done')
    throw new Error(
      `The plan of ${tool} ended as ${state}: ${JSON.stringify(calls)} ${Buffer.concat(printed).toString('utf8')}`,
    )
  const result = { stdout: Buffer.concat(printed).toString('utf8') }
  const payload = { plan_id: planId, tool_call_id: tool, tool_name: tool, session_id: session, result }
  await send(device, 'deployment_agent', 'tool_result', { session, payload })
}

/** What nobody sees has no place in an article. */
const cleaned = (text: string): string =>
  text.replace(/<!--[\s\S]*?-->/g, '').replace(/[\p{Cf}\p{Co}]|[^\P{Cc}\n\t]/gu, '')

const outputOf = ({ payload }: Letter): string => (payload['result'] as { stdout: string }).stdout

const WORK: Readonly<Record<Role, (device: Client) => Promise<void>>> = {
  async intake_agent(device) {
    const text = readFileSync(article, 'utf8')
    const [heading = '', ...body] = text.split('\n')
    const payload = {
      title: heading.replace(/^# /, ''),
      body_markdown: body.join('\n'),
      ...{ image_present: true, image_path_token: 'incoming/photo.jpg' },
    }
    await send(device, 'sanitization_agent', 'blog_article_intent', { session: crypto.randomUUID(), payload })
  },
  async sanitization_agent(device) {
    const { session, payload } = await receive(device, 'blog_article_intent')
    const title = cleaned(String(payload['title']))
    const body = cleaned(String(payload['body_markdown']))
    await send(device, 'over_agent', 'blog_article_intent', {
      session,
      payload: { ...payload, title, body_markdown: body },
    })
  },
  async over_agent(device) {
    const { session, payload } = await receive(device, 'blog_article_intent')
    const markdown = `# ${payload['title']}\n\n${payload['body_markdown']}`
    await sendPlan(device, 'text_formatter_agent', session, 'markdown_to_html', { markdown })
    if (payload['image_present'] !== true) return
    await sendPlan(device, 'image_filter_agent', session, 'image_sanitize', {
      input_path: String(payload['image_path_token']),
      ...{ resize_max: 480, output_format: 'jpg', output_path: `site/${session}.jpg` },
    })
  },
  text_formatter_agent: (device) => runAndPassOn(device, 'markdown_to_html'),
  image_filter_agent: (device) => runAndPassOn(device, 'image_sanitize'),
  async deployment_agent(device) {
    const text = await receive(device, 'tool_result', 'text_formatter_agent')
    await receive(device, 'tool_result', 'image_filter_agent')
    // What came has been cleaned before; whoever shows it cleans it all the same.
    const html = sanitisedHtml(outputOf(text))
    const page = `<!doctype html>\n<meta charset="utf-8">\n<img src="${text.session}.jpg" alt="">\n${html}`
    const file = join(work, 'page.html')
    writeFileSync(file, page)
    await device.upload(file, `site/${text.session}.html`)
  },
}

const device = await connect({
  ...{ host: given.host, port: given.port, agent: given.role, pin: given.pin },
  privateKey: readFileSync(keyFile),
})
const tooLate = setTimeout(() => {
  throw new Error(`${given.role} waited ${LIFE_MS} ms for its part.`)
}, LIFE_MS)
await WORK[given.role](device)
clearTimeout(tooLate)
await device.close()
