/**
 * The single binary and what installs it: built, taken apart by the tools of the systems that it is for, and run.
 * Where such a tool is missing the test says so.
 * @module
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { SOURCES } from '../../build/bundle.node.ts'
import { stripElf } from '../../build/elf-strip.ts'
import { nodeBinary } from '../../build/node-binary.node.ts'
import { PLACES } from '../../build/packages.ts'
import { loadTarget, makeBinary, release, targetNames } from '../../build/sea.node.ts'
import { readTarget } from '../../build/targets.ts'
import { environment } from '../integration/daemon.node.ts'

const { root } = SOURCES
const HERE = `linux-${process.arch}`
/** The least that zstd can do: what is packed is looked at, not weighed. */
const QUICK = 1
/** elf(5) */
const PT_LOAD = 1
const ELF_HEADER_BYTES = 64
const run = (file: string, ...args: string[]): string => execFileSync(file, args, { encoding: 'utf8' })
const sha256 = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex')

/** Whether a program is here; where not, the test is skipped with its name. */
function has(t: Test, program: string): boolean {
  if (spawnSync('/bin/sh', ['-c', `command -v ${program}`]).status === 0) return true
  t.pass(`${program} is not installed here`, { skip: true })
  return false
}

function files(directory: string): Record<string, string> {
  const names = globSync('**/*', { cwd: directory }).filter((name) =>
    statSync(join(directory, name)).isFile(),
  )
  return Object.fromEntries(
    names
      .sort()
      .map((name) => [
        name,
        `${(statSync(join(directory, name)).mode & 0o777).toString(8)} ${sha256(join(directory, name))}`,
      ]),
  )
}

t.test('targets: what bin/sass-edge runs the bundle with is built in, and a slip is found', (t) => {
  const written = readFileSync(join(root, 'bin/sass-edge'), 'utf8')
  // The daemon's; a command on a device has more room in the package's script.
  t.match(written, '\nyoung=--max-semi-space-size=2\n')
  const script = written.replace('"$young"', '--max-semi-space-size=2')
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  t.strictSame(targetNames(root), ['linux-arm64', 'linux-x64'])
  for (const name of targetNames(root)) {
    const target = loadTarget(root, name)
    t.match(script, `exec "$node" ${target.execArgv.join(' ')} "$bundle"`, name)
    t.match(script, target.libc.loader)
    t.equal(optionalDependencies[target.node.package], target.node.version)
    const text = readFileSync(join(root, 'targets', `${name}.json`), 'utf8')
    t.throws(() => readTarget(name, text.replace('"sha256"', '"sha265"')), /sha265 is unknown/)
    t.throws(() => readTarget(name, text.replace(/"sha256": "../, '"sha256": "XY')), /sha256 does not match/)
  }
  t.throws(() => loadTarget(root, 'linux-mips'), /no target; there are linux-arm64, linux-x64/)
  const wrong = { ...loadTarget(root, HERE) }
  const node = { ...wrong.node, sha256: '0'.repeat(64) }
  t.throws(() => nodeBinary(root, { ...wrong, node }), /has the SHA-256 [0-9a-f]{64}, and targets/)
  t.end()
})

/** Where the last part of an ELF file that is loaded ends: the program headers say. */
function loadedEnd(elf: Uint8Array): number {
  const view = new DataView(elf.buffer, elf.byteOffset, elf.byteLength)
  const at = Number(view.getBigUint64(32, true))
  const ends = Array.from({ length: view.getUint16(56, true) }, (_, index) => at + index * 56)
    .filter((header) => view.getUint32(header, true) === PT_LOAD)
    .map((header) => Number(view.getBigUint64(header + 8, true) + view.getBigUint64(header + 32, true)))
  return Math.max(...ends)
}

t.test('a stripped binary keeps what is loaded, byte for byte', (t) => {
  const { binary } = nodeBinary(root, loadTarget(root, HERE))
  const stripped = stripElf(binary)
  t.ok(stripped.length < binary.length * 0.9, `${binary.length} bytes become ${stripped.length}`)
  const end = loadedEnd(binary)
  t.equal(loadedEnd(stripped), end)
  t.ok(end > ELF_HEADER_BYTES && stripped.length >= end)
  const loaded = (file: Uint8Array) => Buffer.from(file.subarray(ELF_HEADER_BYTES, end))
  t.ok(loaded(stripped).equals(loaded(binary)), 'all but the header, which says where the sections are')
  t.throws(() => stripElf(new Uint8Array(100)), /no 64-bit little-endian ELF/)
  t.end()
})

t.test('one release: archive, packages, installer, list of parts', async (t) => {
  const out = t.testdir()
  const made = await release({ root, out, targets: [HERE], environment: {}, level: QUICK })
  const binary = join(out, HERE, 'sass-edge')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const target = loadTarget(root, HERE)
  const archive = join(out, `sass-edge-${version}-${HERE}.tar.zst`)
  const deb = join(out, `sass-edge_${version}_${target.packageArchitecture.deb}.deb`)

  await t.test('a second build has the same bytes', (t) => {
    const again = join(t.testdir(), 'sass-edge')
    makeBinary(root, target, again)
    t.equal(sha256(again), made[`${HERE}/sass-edge`])
    t.end()
  })

  await t.test('it runs alone and says what it is', (t) => {
    const directory = t.testdir()
    t.match(run(binary, 'version'), `sass-edge ${version} (`)
    const options = { encoding: 'utf8' as const, cwd: directory, env: environment(directory) }
    const hostile = { ...options, env: { ...options.env, NODE_OPTIONS: '--require=/nowhere.js' } }
    t.equal(
      spawnSync(binary, ['version'], hostile).status,
      0,
      'options of other Node programs do not reach it',
    )
    const init = spawnSync(binary, ['init'], options)
    t.equal(init.status, 0, init.stderr)
    t.end()
  })

  await t.test('readelf finds nothing wrong with it', (t) => {
    if (has(t, 'readelf')) {
      const { stderr, stdout } = spawnSync('readelf', ['-W', '-S', '-l', '-d', binary], { encoding: 'utf8' })
      t.equal(stderr, '')
      t.notMatch(stdout, /\.symtab/)
    }
    t.end()
  })

  await t.test('the sums hold, and cover everything that is downloaded', (t) => {
    t.match(spawnSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: out }).status, 0)
    const listed = readFileSync(join(out, 'SHA256SUMS'), 'utf8').split('\n').filter(Boolean)
    t.equal(listed.length, 4)
    t.end()
  })

  await t.test('the list of parts names the packages of the bundle, and the Node', (t) => {
    const text = readFileSync(join(out, `sass-edge-${version}-${HERE}.cdx.json`), 'utf8')
    const { components, bomFormat, dependencies } = JSON.parse(text)
    t.equal(bomFormat, 'CycloneDX')
    const names = components.map(({ name }: { name: string }) => name)
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    for (const name of Object.keys(manifest.dependencies)) t.ok(names.includes(name), name)
    for (const name of Object.keys(manifest.devDependencies)) t.notOk(names.includes(name), name)
    t.match(components.at(-1), { name: 'node', hashes: [{ content: target.node.sha256 }] })
    t.equal(dependencies[0].dependsOn.length, components.length)
    t.notMatch(text, root, 'no path of this machine')
    t.end()
  })

  await t.test('install.sh: twice is once, its own files go again, what is not its own stays', (t) => {
    if (!has(t, 'zstd')) {
      t.end()
      return
    }
    const directory = t.testdir({ unpacked: {}, root: {} })
    const image = join(directory, 'root')
    const unpacked = join(directory, 'unpacked')
    execFileSync('/bin/sh', ['-c', `zstd -dc "${archive}" | tar -x --strip-components=1 -C "${unpacked}"`])
    const install = (...args: string[]) =>
      spawnSync(join(unpacked, 'install.sh'), args, {
        encoding: 'utf8',
        env: { ...process.env, DESTDIR: image },
      })
    const first = install()
    t.equal(first.status, 0, first.stderr)
    const installed = files(image)
    t.strictSame(Object.keys(installed), Object.values(PLACES).toSorted())
    // It finds its rules where they were put, and the configuration that ships is one that it takes.
    const program = join(image, 'usr/bin/sass-edge')
    const lint = spawnSync(program, ['policy', 'lint'], { encoding: 'utf8', cwd: t.testdirName })
    t.equal(lint.status, 0, lint.stderr)
    const config = join(image, 'etc/sass-edge/sass.edge.json')
    const shown = spawnSync(program, ['config', 'show', '--config', config], { encoding: 'utf8' })
    t.equal(shown.status, 0, shown.stderr)
    execFileSync('/bin/sh', ['-c', `echo ' ' >>"${config}"`])
    const changed = sha256(config)
    t.equal(install().status, 0)
    t.equal(sha256(config), changed, 'a configuration is left as it is')
    t.strictSame(Object.keys(files(image)), Object.keys(installed))
    t.equal(install('--uninstall').status, 0)
    t.strictSame(Object.keys(files(image)), [
      'etc/sass-edge/sass.edge.json',
      'etc/sass-edge/sass.edge.schema.json',
    ])
    t.equal(install('--uninstall', '--purge').status, 0)
    t.strictSame(files(image), {})
    t.equal(install('--purge').status, 125)
    t.equal(install('--wat').status, 125)

    if (has(t, 'dpkg-deb')) {
      const other = join(directory, 'deb')
      mkdirSync(other)
      run('dpkg-deb', '-x', deb, other)
      t.strictSame(files(other), installed, 'the package puts the same files there')
    }
    t.end()
  })

  await t.test('dpkg installs and removes it', (t) => {
    if (!has(t, 'dpkg')) {
      t.end()
      return
    }
    t.match(run('dpkg-deb', '-f', deb, 'Package', 'Version', 'Architecture'), `Version: ${version}`)
    if (process.getuid?.() !== 0) {
      t.pass('only root may let dpkg install', { skip: true })
      t.end()
      return
    }
    const image = t.testdir({ var: { lib: { dpkg: { status: '', updates: {}, info: {} } } } })
    const dpkg = (...args: string[]) =>
      spawnSync('dpkg', [`--root=${image}`, '--force-depends', '--force-script-chrootless', ...args], {
        encoding: 'utf8',
      })
    const installed = dpkg('-i', deb)
    t.equal(installed.status, 0, installed.stderr)
    t.ok(statSync(join(image, 'usr/bin/sass-edge')).isFile())
    t.equal(statSync(join(image, 'var/lib/sass-edge')).mode & 0o777, 0o700)
    t.equal(dpkg('-r', 'sass-edge').status, 0)
    t.ok(statSync(join(image, 'etc/sass-edge/sass.edge.json')).isFile(), 'kept')
    t.equal(dpkg('-P', 'sass-edge').status, 0)
    t.notOk(statSync(join(image, 'var/lib/sass-edge'), { throwIfNoEntry: false }), 'purged')
    t.end()
  })
})

t.test('the units are what systemd takes', (t) => {
  if (!has(t, 'systemd-analyze')) {
    t.end()
    return
  }
  // The program is not at its place here: another one stands for it.
  const directory = t.testdir()
  for (const name of ['sass-edge.service', 'sass-edge.socket']) {
    const text = readFileSync(join(root, 'targets/install/systemd', name), 'utf8')
    execFileSync('/bin/sh', ['-c', `cat >"${join(directory, name)}"`], {
      input: text.replaceAll('/usr/bin/sass-edge', '/bin/true'),
    })
  }
  const units = ['sass-edge.service', 'sass-edge.socket'].map((name) => join(directory, name))
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', ...units], { encoding: 'utf8' })
  t.equal(`${verified.stdout}${verified.stderr}`, '')
  t.equal(verified.status, 0)
  t.end()
})

t.test('the scripts are what a plain shell takes', (t) => {
  const scripts = globSync(['install.sh', 'package/*', 'openrc/*', 'procd/*'], {
    cwd: join(root, 'targets/install'),
  })
  t.equal(scripts.length, 6)
  for (const script of scripts)
    t.equal(spawnSync('/bin/sh', ['-n', join(root, 'targets/install', script)]).status, 0, script)
  t.end()
})
