/**
 * The demonstration: an article and a photo become a page, by six agents that sign what they mean, on one device, without
 * a network. Run in an empty directory: `node …/demo/pipeline/pipeline.node.ts`, or `npm run demo -- DIRECTORY`.
 *
 * It plays every part: the dispatcher who publishes templates, the operator who configures the device and merges what was
 * made, and each agent as a process of its own. It ends with the page, the results that the device has signed, and a
 * record that verifies and decides once more as it did.
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createJimp } from '@jimp/core'
import jpeg from '@jimp/js-jpeg'
import { build } from 'esbuild'
import { type Given, PROGRAM, places, ROLES, sassEdge } from './common.ts'
import { MANIFESTS, PROGRAMS, type ToolName } from './tools/manifests.ts'

const directory = resolve(process.argv[2] ?? '.')
const here = import.meta.dirname
const at = places(directory)
const began = performance.now()
const say = (line: string) =>
  process.stdout.write(`${((performance.now() - began) / 1_000).toFixed(1).padStart(5)} s  ${line}\n`)
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const cli = (...args: readonly string[]) => sassEdge(directory, args)

/** A photo that knows where it was taken, which nobody is to learn. */
async function writePhoto(file: string): Promise<void> {
  const [width, height] = [960, 720]
  const data = Buffer.alloc(width * height * 4, 255)
  for (let at = 0; at < data.length; at += 4) data[at] = at % 251
  const image = new (createJimp({ formats: [jpeg], plugins: [] }))({ width, height, data })
  const bytes = await image.getBuffer('image/jpeg', { quality: 70 })
  const exif = Buffer.from('Exif\0\0GPSLatitude 47.3769 N')
  const segment = Buffer.concat([Buffer.from([0xff, 0xe1, 0, exif.length + 2]), exif])
  writeFileSync(file, Buffer.concat([bytes.subarray(0, 2), segment, bytes.subarray(2)]))
}

/** Each tool as one file that needs nothing but Node, and its manifest with the digest of that file. */
async function makeTools(): Promise<void> {
  for (const [name, manifest] of Object.entries(MANIFESTS)) {
    const executable = join(at.programs, PROGRAMS[name as ToolName])
    await build({
      ...{ entryPoints: [join(here, 'tools', `${PROGRAMS[name as ToolName]}.ts`)], outfile: executable },
      ...{ bundle: true, platform: 'node', format: 'esm', minify: true, logLevel: 'error' },
      banner: {
        js: `#!${process.execPath} --preserve-symlinks-main\nimport { createRequire } from 'node:module';const require = createRequire(import.meta.url);`,
      },
    })
    chmodSync(executable, 0o755)
    const text = JSON.stringify(
      { name, executable, sha256: sha256(readFileSync(executable)), ...manifest },
      null,
      2,
    )
    writeFileSync(join(at.tools, `${name}.tool.json`), text)
  }
}

/** What the dispatcher does, somewhere else: a vault with what may be asked for. */
async function publish(): Promise<string> {
  await cli('keygen', 'dispatcher')
  const { dispatcher_pin: pin } = await cli(
    'intent',
    'vault',
    'vault',
    '--dispatcher',
    'dispatcher.pub',
    '--identity',
  )
  for (const name of readdirSync(join(here, 'vault')).sort()) {
    const file = join(here, 'vault', name)
    const { sha256: digest } = await cli('intent', 'digest', file)
    await cli(
      ...['intent', 'publish', file, '--vault', 'vault', '--dispatcher', 'dispatcher.key'],
      '--sha256',
      String(digest),
    )
  }
  return String(pin)
}

/** What the operator of the device writes down. */
async function configure(dispatcherPin: string): Promise<void> {
  const file = join(directory, '.sass-edge/sass.edge.json')
  const config = JSON.parse(readFileSync(file, 'utf8'))
  const agents = ROLES.map((name) => ({
    ...{ name, role: 'agent', capability: 'default' },
    public_key: readFileSync(join(at.keys, `${name}.pub`)).toString('base64url'),
  }))
  const planner = readFileSync(join(at.keys, 'over_agent.pub'))
  writeFileSync(
    file,
    JSON.stringify({
      ...config,
      agents: [...config.agents, ...agents],
      sandbox: {
        ...config.sandbox,
        network: 'none',
        read: [...config.sandbox.read, process.execPath],
      },
      intent: {
        ...{ vault: at.vault, dispatcher_pin: dispatcherPin, tools: at.tools },
        issuer_pins: { over_agent: { sha256: sha256(planner) } },
        grants: Object.fromEntries(
          Object.entries(MANIFESTS).map(([name, { permissions }]) => [name, { permissions }]),
        ),
      },
    }),
  )
  for (const name of ['incoming', 'site']) mkdirSync(join(at.workspace, name))
  await writePhoto(join(at.workspace, 'incoming/photo.jpg'))
}

/** Resolves with where it listens. */
async function start(): Promise<{ daemon: ChildProcess; port: number; pin: string }> {
  const daemon = spawn(PROGRAM, ['run', '--json'], { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const chunk of daemon.stdout ?? []) {
    const { address, fingerprint } = JSON.parse(String(chunk))
    return { daemon, port: Number(String(address).split(':').at(-1)), pin: fingerprint }
  }
  throw new Error('The daemon ended before it listened.')
}

async function playAgents(port: number, pin: string): Promise<void> {
  const children = ROLES.map((role) => {
    const given: Given = { directory, role, host: '127.0.0.1', port, pin }
    const words = [
      '--disable-warning=ExperimentalWarning',
      join(here, 'agents.node.ts'),
      JSON.stringify(given),
    ]
    return { role, child: spawn(process.execPath, words, { stdio: ['ignore', 'inherit', 'inherit'] }) }
  })
  try {
    await Promise.all(
      children.map(async ({ role, child }) => {
        const [code] = await once(child, 'close')
        if (code !== 0) throw new Error(`${role} ended with ${code}.`)
        say(`${role} has done its part`)
      }),
    )
  } finally {
    for (const { child } of children) child.kill()
  }
}

/** What the operator does with what was made: reads it, and merges it. */
async function merge(): Promise<void> {
  for (const role of ['image_filter_agent', 'deployment_agent']) {
    const { branches } = (await cli('branch', 'list')) as { branches: { session: string; agent: string }[] }
    for (const { session } of branches.filter(({ agent }) => agent === role)) {
      await cli('branch', 'merge', session, '--yes')
      say(`the operator has merged what ${role} made`)
    }
  }
}

mkdirSync(directory, { recursive: true })
if (readdirSync(directory).length > 0)
  throw new Error(`${directory} is not empty: run it in a directory of its own.`)
for (const path of [at.keys, at.tools, at.work]) mkdirSync(path, { mode: 0o755 })
cpSync(join(here, 'article.md'), at.article)
for (const role of ROLES) await cli('keygen', join('keys', role))
await cli('init', '--port', '0')
mkdirSync(at.programs)
await makeTools()
await configure(await publish())
say('the dispatcher has published, the operator has configured')
const { daemon, port, pin } = await start()
try {
  await playAgents(port, pin)
  await merge()
  const { envelopes } = (await cli('intent', 'inbox', '--all')) as { envelopes: { sender: string }[] }
  const results = envelopes.filter(({ sender }) => sender === 'device').length
  const site = join(at.workspace, 'site')
  const pages = readdirSync(site).filter((name) => name.endsWith('.html'))
  const page = pages.length === 1 && pages[0] !== undefined ? join(site, pages[0]) : ''
  const images = readdirSync(site).filter((name) => name.endsWith('.jpg'))
  if (!existsSync(page) || images.length !== 1) throw new Error(`There is no page with its image in ${site}.`)
  const leaked = [page, join(site, String(images[0]))].find((file) =>
    /GPSLatitude|<script|ignore all/.test(readFileSync(file, 'latin1')),
  )
  if (leaked !== undefined) throw new Error(`${leaked} has what it was to lose.`)
  say(`the page is ${page}`)
  say(`${results} results that the device has signed wait for their readers`)
} finally {
  daemon.kill('SIGTERM')
  await once(daemon, 'exit')
}
await cli('audit', 'verify')
await cli('audit', 'replay')
say('the record verifies, and every decision comes out the same once more')
