/**
 * One file of `targets/` a machine: read strictly, so that a slip is found before a binary is made.
 * @module
 */

export type Target = {
  /** Name of the file without its ending. */
  readonly name: string
  readonly architecture: string
  readonly libc: { readonly name: string; readonly minimum: string; readonly loader: string }
  readonly packageArchitecture: { readonly deb: string; readonly ipk: string }
  /** `sha256` is that of `bin/node` in the package. */
  readonly node: { readonly package: string; readonly version: string; readonly sha256: string }
  /** Options of Node that hold in the binary, whatever it is started with. */
  readonly execArgv: readonly string[]
}

type Fields = Readonly<Record<string, unknown>>

/** @throws Error that names the target and the field */
export function readTarget(name: string, text: string): Target {
  const wrong = (path: string, what: string) => new Error(`targets/${name}.json: ${path} ${what}.`)
  const fieldsOf = (value: unknown, path: string, names: readonly string[]): Fields => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(path, 'is no object')
    const fields = value as Fields
    for (const key of Object.keys(fields))
      if (!names.includes(key)) throw wrong(`${path}.${key}`, 'is unknown')
    return fields
  }
  const textOf = (fields: Fields, key: string, pattern: RegExp): string => {
    const value = fields[key]
    if (typeof value !== 'string' || !pattern.test(value))
      throw wrong(key, `does not match ${pattern.source}`)
    return value
  }
  const all = fieldsOf(JSON.parse(text), 'the file', [
    'architecture',
    'libc',
    'packageArchitecture',
    'node',
    'execArgv',
  ])
  const libc = fieldsOf(all['libc'], 'libc', ['name', 'minimum', 'loader'])
  const packages = fieldsOf(all['packageArchitecture'], 'packageArchitecture', ['deb', 'ipk'])
  const node = fieldsOf(all['node'], 'node', ['package', 'version', 'sha256'])
  const flags: unknown = all['execArgv']
  if (!Array.isArray(flags) || !flags.every((flag): flag is string => /^--[a-z0-9]/.test(String(flag))))
    throw wrong('execArgv', 'is no list of options')
  return {
    name,
    architecture: textOf(all, 'architecture', /^(x64|arm64)$/),
    libc: {
      name: textOf(libc, 'name', /^glibc$/),
      minimum: textOf(libc, 'minimum', /^\d+\.\d+$/),
      loader: textOf(libc, 'loader', /^\/lib/),
    },
    packageArchitecture: {
      deb: textOf(packages, 'deb', /^[a-z0-9]+$/),
      ipk: textOf(packages, 'ipk', /^[a-z0-9_]+$/),
    },
    node: {
      package: textOf(node, 'package', /^node-linux-[a-z0-9]+$/),
      version: textOf(node, 'version', /^\d+\.\d+\.\d+$/),
      sha256: textOf(node, 'sha256', /^[0-9a-f]{64}$/),
    },
    execArgv: flags,
  }
}
