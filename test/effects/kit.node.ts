/**
 * What worlds share: the product as it is installed, the certificates of their outside, a repository that its Git
 * servers have. All of it in memory, in a directory that goes with the process; the caller is in a mount namespace of
 * its own.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EGRESS, type Place } from './stage.node.ts'

const PROJECT = join(import.meta.dirname, '../..')

export type Kit = {
  /** A place for the next world. */
  next(): Place
  remove(): void
}

function certify(directory: string, product: string): void {
  const openssl = (...args: readonly string[]) =>
    execFileSync('openssl', args, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] })
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '3650']
  openssl('req', '-x509', ...ec, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=outside')
  const names = [...EGRESS, '*.github.com', '*.example', 'github.com'].map((name) => `DNS:${name}`).join(',')
  openssl('req', ...ec, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=github.com')
  writeFileSync(join(directory, 'names'), `subjectAltName=${names}\n`)
  openssl(
    'x509',
    '-req',
    '-in',
    'server.csr',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-days',
    '3650',
    '-extfile',
    'names',
    '-out',
    'server.pem',
  )
  cpSync(join(directory, 'ca.pem'), join(product, 'ca.pem'))
}

function makeRepository(directory: string): void {
  const git = (cwd: string, ...args: readonly string[]) =>
    execFileSync('git', args, {
      cwd,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...{ PATH: process.env['PATH'], HOME: directory, GIT_CONFIG_NOSYSTEM: '1' },
        ...{ GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.com' },
        ...{ GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@example.com' },
      },
    })
  mkdirSync(join(directory, 'work'), { recursive: true })
  const work = join(directory, 'work')
  git(work, 'init', '-q', '-b', 'main', '.')
  writeFileSync(join(work, 'README.md'), '# From outside\n')
  git(work, 'add', '-A')
  git(work, 'commit', '-q', '-m', 'first')
  git(directory, 'clone', '-q', '--bare', 'work', 'bare')
  git(join(directory, 'bare'), 'update-server-info')
}

export function makeKit(): Kit {
  const base = mkdtempSync(join(tmpdir(), 'sass-effects-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1g,mode=700', 'sass-effects', base])
  const product = join(base, 'product')
  const certificates = join(base, 'certificates')
  const repository = join(base, 'repository')
  for (const directory of [product, certificates, repository]) mkdirSync(directory)
  for (const part of ['bin', 'dist', 'package.json'])
    cpSync(join(PROJECT, part), join(product, part), { recursive: true })
  const node = `node_modules/node-linux-${process.arch}`
  cpSync(join(PROJECT, node), join(product, node), { recursive: true, dereference: true })
  certify(certificates, product)
  makeRepository(repository)
  let worlds = 0
  return {
    next: () => ({
      base: join(base, `world${worlds++}`),
      product,
      certificates,
      repository: join(repository, 'bare'),
      project: PROJECT,
    }),
    remove() {
      execFileSync('umount', ['-l', base])
      rmSync(base, { recursive: true, force: true })
    },
  }
}
