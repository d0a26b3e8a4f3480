/**
 * Places that code shows to whoever asks over the network: what a server is given as the root of its files, where that
 * is a whole path outside of what the code itself lies in.
 * From the references of Express, Fastify, Koa, Flask, Starlette, Rack, Go and Plack.
 * @module
 */
import { addCall, looksAbsolute, mark, nameAt, type Reading } from './reading.ts'
import { closing } from './values.ts'

/** Last parts of names that take such a root. */
const SERVERS: ReadonlySet<string> = new Set(
  `static serveStatic serve_static StaticFiles add_static mount_static send_from_directory SimpleHTTPRequestHandler
Rack.Directory Rack.Files Dir FileServer DirFS Flask static_file HTTPServer HTTPServer.new koaStatic Directory.new StaticFileHandler
createFileServer register koa-static serve-static serve-handler fastify/static ServeDir ServeFile NamedFile static_folder`.split(
    /\s+/,
  ),
)
/** How the root is called among settings. */
const ROOTS: ReadonlySet<string> = new Set(
  'root directory dir static_folder folder document_root DocumentRoot'.split(' '),
)
const KINDS = new Set(['string', 'name'])

/** Takes down that the call of `name` with its mark at `open` shows a place by its whole path. */
export function noteServed(reading: Reading, name: string, open: number): void {
  const last = name.slice(name.lastIndexOf('.') + 1)
  if (!SERVERS.has(last) && !SERVERS.has(name)) return
  // A directory of Go is served by what it is given to.
  if (last === 'Dir' && !name.startsWith('http')) return
  const close = closing(reading, open)
  for (let at = open + 1; at < close; at++) {
    const token = reading.tokens[at]
    if (token === undefined || !KINDS.has(token.kind)) continue
    const isPlace = token.kind === 'string' && (token.text === '/' || looksAbsolute(token.text))
    const isHome = token.kind === 'name' && /(?:^|\.)(?:homedir|home|HOME)$/.test(token.text)
    // `use("/files", static(...))`: the first of several is a route.
    const isSetting = ['=', ':'].includes(mark(reading, at - 1)) && ROOTS.has(nameAt(reading, at - 2))
    const isLast = mark(reading, at + 1) !== ',' && nameAt(reading, at + 1) === ''
    if (isHome || (isPlace && (isSetting || (isLast && !['=', ':'].includes(mark(reading, at - 1))))))
      addCall(reading, SERVES)
  }
}

/** Said of code that does. */
const SERVES = 'unknown:served-place'
