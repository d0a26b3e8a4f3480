/**
 * What a bundle must be before it may be called one: made only of packages that docs/dependencies.md names, without
 * anything that turns text into code, importing nothing but Node itself, and within its size.
 * Each check returns its problems as sentences; no problem is an empty list. Rules: CONTRIBUTING.md, "Dependencies".
 * @module
 */

/** The part of esbuild's metafile that the checks read. */
export interface Metafile {
  readonly inputs: Readonly<Record<string, unknown>>
  readonly outputs: Readonly<
    Record<string, { readonly imports: readonly { readonly path: string; readonly external?: boolean }[] }>
  >
}

/**
 * Substitutions for esbuild's `define`, which replaces references to a global and nothing else: no string, no comment,
 * no property and no local name. Run over a finished bundle, they mark what `evaluators` then looks for.
 */
export const EVALUATOR_PROBES: Readonly<Record<string, string>> = Object.freeze({
  eval: 'PROBE_EVAL',
  Function: 'PROBE_FUNCTION',
  require: 'PROBE_REQUIRE',
})

/** Builtin modules that load or evaluate code by name. */
const LOADERS: ReadonlySet<string> = new Set([
  'module',
  'vm',
  'repl',
  'inspector',
  'inspector/promises',
  'wasi',
])

/** Names of the packages that a bundle was made of, sorted; from paths such as `node_modules/@noble/hashes/sha2.js`. */
export function packagesIn(metafile: Metafile): string[] {
  const names = new Set<string>()
  for (const path of Object.keys(metafile.inputs)) {
    const name = packageOfPath(path)
    if (name !== undefined) names.add(name)
  }
  return [...names].sort()
}

/** The package that a path lies in, the innermost where they nest, or undefined for a path outside `node_modules`. */
export function packageOfPath(path: string): string | undefined {
  const innermost = path.split('node_modules/').at(-1)
  if (innermost === undefined || innermost === path) return undefined
  const [first, second] = innermost.split('/')
  return first?.startsWith('@') ? `${first}/${second}` : first
}

/** A row of docs/dependencies.md. */
export interface DependencyRow {
  readonly section: string
  readonly name: string
  readonly version: string
  readonly licence: string
  readonly reason: string
}

/** The rows of the tables of docs/dependencies.md, each with the heading that it stands under. */
export function dependencyRows(markdown: string): DependencyRow[] {
  const rows: DependencyRow[] = []
  let section = ''
  for (const line of markdown.split('\n')) {
    if (line.startsWith('## ')) section = line.slice('## '.length)
    const [name, version = '', licence = '', reason = ''] = line.split('|').slice(1, -1)
    const quoted = /^ *`([^`]+)` *$/.exec(name ?? '')?.[1]
    if (quoted === undefined) continue
    rows.push({
      section,
      name: quoted,
      version: version.trim(),
      licence: licence.trim(),
      reason: reason.trim(),
    })
  }
  return rows
}

/** Packages that may be in a bundle: those of the two sections that say so. */
export function namedPackages(markdown: string): string[] {
  return dependencyRows(markdown)
    .filter(({ section }) => section === 'Runtime' || section === 'In the bundle through another')
    .map(({ name }) => name)
}

/** Packages in the bundle that are not among `named`. */
export function unnamedPackages(metafile: Metafile, named: readonly string[]): string[] {
  return packagesIn(metafile)
    .filter((name) => !named.includes(name))
    .map(
      (name) =>
        `The bundle contains the package ${name}, which docs/dependencies.md does not name: name it there with its reason, or do without.`,
    )
}

/** How an import of Node's own appears among the inputs where it was made lazy (build/bundle.node.ts). */
export const BUILTIN_NAMESPACE = 'builtin'

/**
 * What the bundle asks of the machine at run time that is not Node's own, or is a builtin that loads code.
 * `mayUse`: one of these that is looked at elsewhere.
 */
export function foreignImports(metafile: Metafile, mayUse?: typeof CONTEXTS): string[] {
  const external = Object.values(metafile.outputs).flatMap(({ imports }) =>
    imports.filter((entry) => entry.external === true).map(({ path }) => path),
  )
  const lazy = Object.keys(metafile.inputs)
    .filter((path) => path.startsWith(`${BUILTIN_NAMESPACE}:`))
    .map((path) => path.slice(BUILTIN_NAMESPACE.length + 1))
  return [...new Set([...external, ...lazy])].sort().flatMap((path) => {
    if (!path.startsWith('node:')) {
      return [
        `The bundle imports ${path} at run time, which is not there on a device: bundle it, or import it as node:${path}.`,
      ]
    }
    return isLoader(path) && path !== mayUse
      ? [`The bundle imports ${path}, which can load or evaluate code: do without it.`]
      : []
  })
}

/** Evaluates text; the name of V8's collector is the one text that it may be given: see `contextUses`. */
export const CONTEXTS = 'node:vm'

function isLoader(path: string): boolean {
  return LOADERS.has(path.slice('node:'.length))
}

/** Uses of node:vm in a bundle beside `runInNewContext("gc")`, which reads a name and evaluates nothing else. */
export function contextUses(bundle: string): string[] {
  const uses = [...bundle.matchAll(/\bimport_node_vm\d*(?![\d=,;])(.{0,40})/g)].map(([, use = '']) => use)
  if (uses.length === 0 && bundle.includes(`"${CONTEXTS}"`))
    return ['The bundle has node:vm under another name, so that nobody sees what for: bundle it with names.']
  return [...new Set(uses)]
    .filter((use) => !use.startsWith('.runInNewContext)("gc")'))
    .map(
      (use) =>
        `The bundle uses node:vm in ${JSON.stringify(use)}, which evaluates more than the name of the collector.`,
    )
}

/**
 * Uses of process.getBuiltinModule in a minified bundle that are not of one named, harmless module. `mayUse` may be
 * looked up by the bundler's own words for an import alone: what becomes of that is looked at elsewhere.
 */
export function hiddenLookups(bundle: string, mayUse?: typeof CONTEXTS): string[] {
  const imported =
    mayUse === undefined ? undefined : `exports=process.getBuiltinModule(${JSON.stringify(mayUse)})`
  const rest = imported === undefined ? bundle : bundle.replaceAll(imported, '')
  const uses = [...rest.matchAll(/getBuiltinModule(?:\?\.)?\(([^)]{0,60})/g)].map((match) => match[1] ?? '')
  return [...new Set(uses)]
    .filter((argument) => {
      const name = /^"(node:[a-z0-9_/]+)"$/.exec(argument)?.[1]
      return name === undefined || isLoader(name)
    })
    .map(
      (argument) =>
        `The bundle looks up the builtin module ${argument}: name one that loads no code, or import it.`,
    )
}

/**
 * What evaluates text or loads files in a bundle that was rewritten with EVALUATOR_PROBES. `typeof` and `instanceof`
 * are harmless and allowed; a helper of esbuild that would call `require` is found as a reference to it.
 */
export function evaluators(probed: string): string[] {
  const uses: readonly [RegExp, string][] = [
    [/PROBE_EVAL/, 'eval'],
    [/(?<!instanceof )(?<!typeof )PROBE_FUNCTION(?!\.prototype)/, 'Function as a value'],
    [/(?<!typeof )PROBE_REQUIRE/, 'require'],
  ]
  return uses
    .filter(([pattern]) => pattern.test(probed))
    .map(([pattern, name]) => {
      const at = probed.search(pattern)
      const near = probed.slice(Math.max(0, at - 60), at + 60).replace(/\s+/g, ' ')
      return `The bundle uses ${name}, which turns text into code: remove it or the package that brings it (near: ${near}).`
    })
}

/** Over the size budget, or nothing. */
export function oversized(name: string, bytes: number, budgetBytes: number): string[] {
  if (bytes <= budgetBytes) return []
  return [
    `${name} has ${bytes} bytes, more than its budget of ${budgetBytes}: find what grew, or raise the budget with the reason.`,
  ]
}
