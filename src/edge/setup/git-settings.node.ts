/**
 * The settings of git of whoever makes an installation, where commands may read them: without a name and an address git
 * makes no commit. Only a file that holds nothing but such settings: what leads to another server or proves who one is
 * (credential, url, http, includes) may hold a secret.
 * Rules: git-config(1); docs/sandbox.md (what a command sees).
 * @module
 */
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GIT_SETTINGS_BYTES } from '../../limits.ts'

const SECTION = /^\s*\[\s*([A-Za-z0-9.-]+)/gm
/** A second one behind it on its line. */
const SECTIONS = /^\s*\[[^\]]*\]\s*\[/m
const HARMLESS: ReadonlySet<string> = new Set(
  'user author committer init core color column alias pull push fetch merge mergetool diff difftool rebase commit branch log status tag safe advice format grep blame index gc pager rerere apply am'.split(
    ' ',
  ),
)

/** The file, real and absolute; undefined: there is none, or it may hold more than settings. */
export function gitSettings(environmentHome: string | undefined): string | undefined {
  if (environmentHome === undefined) return undefined
  const path = join(environmentHome, '.gitconfig')
  try {
    const found = lstatSync(path)
    if (!found.isFile() || found.size > GIT_SETTINGS_BYTES) return undefined
    const text = readFileSync(path, 'utf8')
    if (SECTIONS.test(text)) return undefined
    const sections = [...text.matchAll(SECTION)].map(([, name = '']) => name.toLowerCase())
    return sections.every((name) => HARMLESS.has(name)) ? path : undefined
  } catch {
    return undefined
  }
}
