/**
 * A merge, or taking one back, that ends by SIGKILL before the step whose number it is given. Started by the tests in a
 * process of its own: `crash-work.node.ts FILE KIND STEP`, with the branch in FILE.
 * @module
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { mergeBranch, resumeMerge, undoMerge } from '../../../src/sandbox/branch/merge/merge.node.ts'
import { surveyBranch } from '../../../src/sandbox/branch/survey/survey.node.ts'
import { syscalls } from './made-branch.node.ts'

const [file = '', kind = '', step = ''] = process.argv.slice(2)
const { directory, branch } = JSON.parse(readFileSync(file, 'utf8'))
let left = Number(step)
const names: string[] = []

function beforeStep(name: string): void {
  names.push(name)
  if (left-- === 0) {
    writeFileSync(`${file}.step`, name)
    process.kill(process.pid, 'SIGKILL')
  }
}

if (kind === 'merge') {
  const { digest } = surveyBranch(syscalls, directory, branch)
  mergeBranch(syscalls, directory, branch, { digest, id: 'a'.repeat(32), allowHeldBack: true }, beforeStep)
} else if (kind === 'undo') undoMerge(syscalls, directory, branch, beforeStep)
else resumeMerge(syscalls, directory, branch, beforeStep)
writeFileSync(`${file}.steps`, String(names.length))
