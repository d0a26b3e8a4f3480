import t from 'tap'
import {
  contextUses,
  dependencyRows,
  evaluators,
  foreignImports,
  hiddenLookups,
  type Metafile,
  namedPackages,
  oversized,
  packageOfPath,
  packagesIn,
  unnamedPackages,
} from '../../build/bundle-checks.ts'

function metafile(inputs: string[], imports: { path: string; external?: boolean }[] = []): Metafile {
  return { inputs: Object.fromEntries(inputs.map((path) => [path, {}])), outputs: { 'out.mjs': { imports } } }
}

t.test('a path tells the innermost package that it lies in', (t) => {
  t.equal(packageOfPath('node_modules/cbor-x/decode.js'), 'cbor-x')
  t.equal(packageOfPath('node_modules/@noble/hashes/sha2.js'), '@noble/hashes')
  t.equal(
    packageOfPath('../../node_modules/asn1js/node_modules/@peculiar/utils/build/index.js'),
    '@peculiar/utils',
  )
  t.equal(packageOfPath('src/main.ts'), undefined)
  t.end()
})

t.test('packages that are not named are problems, named ones are not', (t) => {
  const meta = metafile(['src/main.ts', 'node_modules/cbor-x/decode.js', 'node_modules/left-pad/index.js'])
  t.strictSame(packagesIn(meta), ['cbor-x', 'left-pad'])
  const problems = unnamedPackages(meta, namedPackages('## Runtime\n| package |\n|---|\n| `cbor-x` | 1 |\n'))
  t.equal(problems.length, 1)
  t.match(problems[0], 'left-pad')
  t.end()
})

t.test(
  'a table row counts by its first cell and its heading, and only bundled sections allow a bundle',
  (t) => {
    const text = `not \`this\`
## Runtime
| package | version |
| \`@noble/hashes\` | 2.4.0 | MIT | beside \`that\` |
## Development
| \`tap\` | 21 | BlueOak-1.0.0 | tests |
`
    t.strictSame(dependencyRows(text), [
      {
        section: 'Runtime',
        name: '@noble/hashes',
        version: '2.4.0',
        licence: 'MIT',
        reason: 'beside `that`',
      },
      { section: 'Development', name: 'tap', version: '21', licence: 'BlueOak-1.0.0', reason: 'tests' },
    ])
    t.strictSame(namedPackages(text), ['@noble/hashes'])
    t.end()
  },
)

t.test('what stays an import must be Node, and nothing that loads code', (t) => {
  const external = (path: string) => ({ path, external: true })
  t.strictSame(
    foreignImports(metafile([], [external('node:tls'), external('node:ffi'), { path: 'chunk.mjs' }])),
    [],
  )
  for (const path of ['left-pad', 'fs', './native.node', 'node:module', 'node:vm']) {
    const problems = foreignImports(metafile([], [external(path), external(path)]))
    t.equal(problems.length, 1, path)
    t.match(problems[0], path)
  }
  t.end()
})

t.test('modules of Node that are loaded late are held to the same', (t) => {
  t.strictSame(foreignImports(metafile(['builtin:node:tls', 'src/main.ts'])), [])
  t.match(foreignImports(metafile(['builtin:node:vm']))[0], 'node:vm')
  t.strictSame(
    hiddenLookups('a=process.getBuiltinModule("node:tls"),b=process.getBuiltinModule?.("node:ffi")'),
    [],
  )
  for (const bad of [
    'getBuiltinModule("node:module")',
    'getBuiltinModule(name)',
    'getBuiltinModule?.("fs")',
    'getBuiltinModule(`node:vm`)',
  ]) {
    t.equal(hiddenLookups(`process.${bad}`).length, 1, bad)
  }
  t.end()
})

t.test('a context may be made to read the name of the collector, and for nothing else', (t) => {
  const loaded = 'var import_node_vm=__toESM(require_node_vm());'
  t.strictSame(contextUses(`${loaded}collect=(0,import_node_vm.runInNewContext)("gc")`), [])
  t.strictSame(foreignImports(metafile(['builtin:node:vm']), 'node:vm'), [])
  t.strictSame(hiddenLookups('module.exports=process.getBuiltinModule("node:vm")', 'node:vm'), [])
  t.equal(hiddenLookups('const vm=process.getBuiltinModule("node:vm")', 'node:vm').length, 1)
  for (const bad of [
    '(0,import_node_vm.runInNewContext)("gc()")',
    '(0,import_node_vm.runInNewContext)(text)',
    '(0,import_node_vm2.runInThisContext)("gc")',
    'new import_node_vm.Script("gc")',
    'other(import_node_vm)',
  ]) {
    t.equal(contextUses(`${loaded}${bad}`).length, 1, bad)
  }
  t.end()
})

t.test('references to eval, Function and require are problems, tests of a type are not', (t) => {
  t.strictSame(
    evaluators(
      'if(x instanceof PROBE_FUNCTION&&typeof PROBE_FUNCTION)PROBE_FUNCTION.prototype.call;typeof PROBE_REQUIRE',
    ),
    [],
  )
  for (const bad of [
    'PROBE_EVAL("1")',
    'new PROBE_FUNCTION("a")',
    'PROBE_FUNCTION("a")',
    'let F=PROBE_FUNCTION',
    'PROBE_REQUIRE("fs")',
  ]) {
    t.equal(evaluators(`a();${bad};b()`).length, 1, bad)
  }
  t.end()
})

t.test('the size budget is a bound, not a goal', (t) => {
  t.strictSame(oversized('a.mjs', 100, 100), [])
  t.match(oversized('a.mjs', 101, 100)[0], 'a.mjs has 101 bytes')
  t.end()
})
