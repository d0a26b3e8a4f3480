/**
 * Runs test files, each in a process of its own, and tells what they say as one TAP 14 document, a file after the other
 * as they end: a subtest for each, as the runner of tap writes it. That one brings a hook into every Node that a test
 * starts, to know which files it reads: for most files it is two thirds of what they cost.
 * A file is not ok where it ends with another code than 0 or by a signal, or ends without a plan; tap itself answers for
 * the rest of it. One that says nothing to its end in time is killed.
 * Format: https://testanything.org/tap-version-14-specification.html
 * @module
 */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

/** Files of which `jobs` run at once, begun in this order. */
export type Lane = { readonly files: readonly string[]; readonly jobs: number }
export type RunOptions = {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** What a file may take; tap ends it then, and says what it waited for. */
  readonly seconds: number
  /** What cannot even be ended is killed then. */
  readonly killSeconds: number
}

/** The lines of one file, without its number. */
async function runFile(
  file: string,
  { cwd, env, seconds, killSeconds }: RunOptions,
): Promise<(number: number) => string[]> {
  const startMs = performance.now()
  const child = spawn(process.execPath, [file], {
    cwd,
    env: { ...env, TAP_TIMEOUT: String(seconds) },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: killSeconds * 1_000,
    killSignal: 'SIGKILL',
  })
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  const [said, { code, signal }] = await Promise.all([text(child.stdout), ended])
  const lines = said.trimEnd().split('\n')
  const plan = lines.map((line) => /^1\.\.(\d+)(?: # (.*))?$/.exec(line)).find((match) => match !== null)
  const isOk = code === 0 && plan !== undefined
  const skip = isOk && plan[1] === '0' ? ` # SKIP ${plan[2] ?? 'no tests found'}` : ''
  const took = ` # time=${(performance.now() - startMs).toFixed(0)}ms`
  return (number) => [
    `# Subtest: ${file}`,
    ...lines.filter((line) => !line.startsWith('TAP version ')).map((line) => `    ${line}`),
    `${isOk ? 'ok' : 'not ok'} ${number} - ${file}${skip}${took}`,
    ...(isOk ? [] : ['  ---', `  exitCode: ${code}`, `  signal: ${signal}`, `  plan: ${plan?.[0]}`, '  ...']),
    '',
  ]
}

/** Runs the files of all lanes and gives each line as soon as its file is over. @param lanes run beside each other */
export async function runFiles(
  lanes: readonly Lane[],
  options: RunOptions,
  tell: (line: string) => void,
): Promise<void> {
  let number = 0
  const work = async (files: Iterable<string>) => {
    for (const file of files) {
      const lines = await runFile(file, options)
      number += 1
      for (const line of lines(number)) tell(line)
    }
  }
  tell('TAP version 14')
  await Promise.all(
    lanes.flatMap(({ files, jobs }) => {
      // Each takes the next one that nobody has.
      const next = files.values()
      return Array.from({ length: jobs }, () => work(next))
    }),
  )
  tell(`1..${number}`)
}
