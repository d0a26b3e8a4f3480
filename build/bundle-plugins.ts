/**
 * How the bundle takes in what is not ours: modules of Node and libraries, each loaded when it is needed, and what the
 * SDK of the Model Context Protocol is made to do without. Plugins for esbuild, and nothing else.
 * @module
 */
import { dirname, join } from 'node:path'
import type { Plugin } from 'esbuild'
import { BUILTIN_NAMESPACE, CONTEXTS } from './bundle-checks.ts'

/**
 * Modules that are imported at a start and used by few: each of their exports stands in for itself and loads its module
 * when it is first called or read, which saves a start 10 ms. Not for what is called for every byte: a call through it
 * takes 50 ns more.
 */
const BUILTINS_OF_FEW: readonly string[] = ['node:child_process', 'node:fs/promises', 'node:zlib']
/** With the exports that the program uses: what else a library has stays out of the bundle. */
const LIBRARIES_OF_FEW: Readonly<Record<string, readonly string[]>> = {
  '@noble/ciphers/chacha.js': ['chacha20poly1305', 'hchacha', 'xchacha20poly1305'],
  '@noble/curves/ed25519.js': ['ed25519'],
  '@noble/hashes/hmac.js': ['hmac'],
  '@noble/hashes/sha2.js': ['sha256'],
}
const STAND_IN_NAMESPACE = 'stand-in'
const CHOSEN_NAMESPACE = 'chosen'

/** `load`: JavaScript, an expression for the module. A name that nothing uses is left out of the bundle. */
function standIns(load: string, names: readonly string[]): string {
  return [
    `const load = () => ${load}`,
    'const of = (name) => new Proxy(function () {}, {',
    '  get: (_, key) => load()[name][key],',
    '  apply: (_, self, values) => Reflect.apply(load()[name], self, values),',
    '  construct: (_, values) => Reflect.construct(load()[name], values),',
    '})',
    ...names.map((name) => `export const ${name} = /* @__PURE__ */ of('${name}')`),
  ].join('\n')
}

/**
 * Loads a module of Node when the first file that imports it runs. In one file of ES modules all imports stand at its
 * top and would be loaded at every start, `node:tls` for 11 ms too, also for a command that needs none of them.
 * Each name is a variable of the bundle, and one that nothing uses is left out: as CommonJS, every file that imports
 * `node:fs` would get an object of its own with a getter for each of its hundred names.
 */
export const LAZY_MODULES: Plugin = {
  name: 'lazy-modules',
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: BUILTIN_NAMESPACE }))
    build.onLoad({ filter: /.*/, namespace: BUILTIN_NAMESPACE }, ({ path }) => {
      const load = `process.getBuiltinModule(${JSON.stringify(path)})`
      // One object with a name of its own: what it is used for is looked up in the bundle (contextUses).
      if (path === CONTEXTS) return { contents: `module.exports = ${load}` }
      const names = namesOf(process.getBuiltinModule(path) ?? {})
      if (BUILTINS_OF_FEW.includes(path)) return { contents: standIns(load, names) }
      const exported = names.map((name) => `export const ${name} = /* @__PURE__ */ of('${name}')`)
      return {
        contents: [`const module = ${load}`, 'const of = (name) => module[name]', ...exported].join('\n'),
      }
    })
    build.onResolve({ filter: /^@noble\// }, ({ path, namespace, importer }) => {
      if (!Object.hasOwn(LIBRARIES_OF_FEW, path) || importer.includes('/node_modules/')) return undefined
      if (namespace === CHOSEN_NAMESPACE) return undefined
      return { path, namespace: namespace === STAND_IN_NAMESPACE ? CHOSEN_NAMESPACE : STAND_IN_NAMESPACE }
    })
    build.onLoad({ filter: /.*/, namespace: STAND_IN_NAMESPACE }, ({ path }) => ({
      contents: standIns(`require(${JSON.stringify(path)})`, LIBRARIES_OF_FEW[path] ?? []),
    }))
    build.onLoad({ filter: /.*/, namespace: CHOSEN_NAMESPACE }, ({ path }) => ({
      contents: `export { ${LIBRARIES_OF_FEW[path]?.join(', ')} } from ${JSON.stringify(path)}`,
      resolveDir: import.meta.dirname,
    }))
  },
}

/** Of all commands those alone that do something on a device. */
export const DEVICE_COMMANDS: Plugin = {
  name: 'device-commands',
  setup(build) {
    build.onResolve({ filter: /\/cli\/commands\.node\.ts$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, dirname(path), 'device-commands.node.ts'),
    }))
  },
}

const namesOf = (module: object): readonly string[] =>
  Object.keys(module).filter((name) => name !== 'default')

/**
 * What the thread of the Model Context Protocol does without. Its SDK brings a JSON Schema validator for answers to
 * questions that a server may ask its host; ours asks none, and that validator turns schemas into code. The server makes
 * one unless it is given another, and is then given this, which is never asked.
 */
export const NO_VALIDATOR: Plugin = {
  name: 'no-validator',
  setup(build) {
    build.onResolve({ filter: /\/validation\/ajv-provider\.js$/ }, ({ path }) => ({
      path,
      namespace: 'no-validator',
    }))
    build.onLoad({ filter: /.*/, namespace: 'no-validator' }, () => ({
      contents:
        "export class AjvJsonSchemaValidator { getValidator() { throw new Error('This server asks its host nothing.') } }",
    }))
  },
}

/**
 * And its schemas are read as they are and not compiled into code: the library tries whether `Function` works before it
 * does so, and there it is not.
 */
export const NO_COMPILER: Readonly<Record<string, string>> = Object.freeze({ Function: 'undefined' })

/**
 * Files of age are opened and sealed for X25519 keys and passphrases alone. What the library has for other recipients,
 * 110 KB of post-quantum and NIST curves, stays out: it is reached by keys that src/edge/intent/age.node.ts refuses.
 */
export const CLASSIC_AGE: Plugin = {
  name: 'classic-age',
  setup(build) {
    build.onResolve(
      { filter: /^@noble\/(?:post-quantum\/hybrid|curves\/nist)\.js$/ },
      ({ path, importer }) =>
        importer.includes('/node_modules/age-encryption/') ? { path, namespace: 'classic-age' } : undefined,
    )
    build.onLoad({ filter: /.*/, namespace: 'classic-age' }, () => ({
      contents: 'export const MLKEM768P256 = undefined, MLKEM768X25519 = undefined, p256 = undefined',
    }))
  },
}
