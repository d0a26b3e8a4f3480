/**
 * Which functions of the bundle V8 compiles when it reads it, and so has compiled in its code cache. All others it
 * compiles when they are first called: of `sass-edge exec` that takes 5 of its 65 ms of processor time.
 *
 * V8 compiles a function at once where a parenthesis stands before it, since such a function is mostly called at once.
 * So the functions of the modules that a start runs are written that way: their beginnings, `"src/x.ts"(){…}` as
 * `"src/x.ts":(function(){…})`, and what they declare, `function f(){…}` as `var f=(function(){…})`. The latter stand
 * first in the text, as a declaration holds from the first line on.
 * Source: https://v8.dev/blog/preparser (possibly invoked function expressions).
 * @module
 */
import { type FunctionDeclaration, type FunctionExpression, type Node, type Program, parse } from 'acorn'

/** What esbuild calls the helper that begins a module; its argument is an object with one method, named by the file. */
const BEGIN = '__esm'

type Beginning = { readonly module: string; readonly method: Node; readonly code: FunctionExpression }

/** The modules that begin in a statement. */
function beginnings(statement: Program['body'][number]): readonly Beginning[] {
  if (statement.type !== 'VariableDeclaration') return []
  return statement.declarations.flatMap(({ init }) => {
    if (init?.type !== 'CallExpression' || init.callee.type !== 'Identifier') return []
    const [argument] = init.arguments
    const method = argument?.type === 'ObjectExpression' ? argument.properties[0] : undefined
    if (init.callee.name !== BEGIN || method?.type !== 'Property' || method.key.type !== 'Literal') return []
    if (method.value.type !== 'FunctionExpression') return []
    return [{ module: String(method.key.value), method, code: method.value }]
  })
}

/**
 * The text, in which V8 compiles the functions of those modules at once; what it does is the same.
 * @param text a bundle that esbuild has made as one ES module
 * @param isStarted whether a start runs that module, by its path from the root
 */
export function compiledAtOnce(text: string, isStarted: (module: string) => boolean): string {
  const first: string[] = []
  const rest: string[] = []
  let at = 0
  function replace(node: Node, by: string): void {
    rest.push(text.slice(at, node.start), by)
    at = node.end
  }
  function expression(code: FunctionDeclaration | FunctionExpression): string {
    const kind = `${code.async ? 'async ' : ''}function${code.generator ? '*' : ''}`
    return `(${kind}${text.slice(text.indexOf('(', code.id?.end ?? code.start), code.end)})`
  }
  /** Of the next module that begins: its declarations stand before it. */
  let declared: FunctionDeclaration[] = []
  for (const statement of parse(text, { ecmaVersion: 'latest', sourceType: 'module' }).body) {
    if (statement.type === 'FunctionDeclaration') declared.push(statement)
    const begun = beginnings(statement)
    if (begun.length === 0) continue
    const started = begun.filter(({ module }) => isStarted(module))
    if (started.length > 0)
      for (const code of declared) {
        first.push(`var ${code.id.name}=${expression(code)};`)
        replace(code, '')
      }
    declared = []
    for (const { module, method, code } of started)
      replace(method, `${JSON.stringify(module)}:${expression(code)}`)
  }
  return `${first.join('')}${rest.join('')}${text.slice(at)}`
}
