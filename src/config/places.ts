/**
 * Where the keys of sass.edge.json stand in its text: the line and column of a path like `agents[2].capability`, of the
 * nearest object around it where the key itself is absent. For whoever corrects the file; asked only about problems.
 * Expects a text that strict JSON has accepted, and walks it once without recursion that could grow beyond its depth.
 * @module
 */

/** Both count from 1, as editors do. */
export type Place = { readonly line: number; readonly column: number }

/** A key as it appears in a path: as it is where it is a plain word, else quoted and cut. */
export function keyPath(parent: string, key: string): string {
  if (/^[$A-Za-z0-9_-]{1,64}$/.test(key)) return parent === '' ? key : `${parent}.${key}`
  return `${parent}[${JSON.stringify(key.slice(0, 64))}]`
}

/** The place of an offset, in UTF-16 code units. */
export function placeAt(text: string, offset: number): Place {
  const before = text.slice(0, offset)
  let line = 1
  for (let at = before.indexOf('\n'); at !== -1; at = before.indexOf('\n', at + 1)) line += 1
  return { line, column: offset - before.lastIndexOf('\n') }
}

/** The next token of a JSON text: a string, a mark, or the whole of a number or word. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g

type Frame = { readonly path: string; readonly isList: boolean; index: number; key: string | undefined }

/** Offsets of every path of `wanted` that the text has: of the key where it has one, else of the value. */
function offsetsOf(text: string, wanted: ReadonlySet<string>): Map<string, number> {
  const found = new Map<string, number>([['', Math.max(0, text.search(/\S/))]])
  const frames: Frame[] = []
  for (const { 0: token, index: at } of text.matchAll(TOKEN)) {
    const frame = frames.at(-1)
    if (token === ':') continue
    if (token === ',') {
      if (frame !== undefined) frame.index += 1
      continue
    }
    if (token === '}' || token === ']') {
      frames.pop()
      const outer = frames.at(-1)
      if (outer !== undefined) outer.key = undefined
      continue
    }
    if (frame !== undefined && !frame.isList && frame.key === undefined) {
      frame.key = keyPath(frame.path, JSON.parse(token) as string)
      if (wanted.has(frame.key)) found.set(frame.key, at)
      continue
    }
    const path = frame === undefined ? '' : frame.isList ? `${frame.path}[${frame.index}]` : (frame.key ?? '')
    if (frame?.isList && wanted.has(path)) found.set(path, at)
    if (token === '{' || token === '[') frames.push({ path, isList: token === '[', index: 0, key: undefined })
    else if (frame !== undefined) frame.key = undefined
  }
  return found
}

/** The path of what lies around; '' of what lies in the file itself. */
function around(path: string): string {
  return path.replace(/(?:\.?[^.[\]]+|\[[0-9]+\]|\["(?:[^"\\]|\\.)*"\])$/, '')
}

/** The places of the paths in the text, in their order. */
export function placesOf(text: string, paths: readonly string[]): readonly Place[] {
  const wanted = new Set<string>()
  for (const path of paths) for (let part = path; part !== ''; part = around(part)) wanted.add(part)
  const found = offsetsOf(text, wanted)
  return paths.map((path) => {
    let part = path
    while (!found.has(part)) part = around(part)
    return placeAt(text, found.get(part) ?? 0)
  })
}
