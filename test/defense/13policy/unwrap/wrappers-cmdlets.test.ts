/**
 * Orders of PowerShell that act on what comes down the pipeline.
 * @module
 */
import t from 'tap'
import { commandsOf, pathsOf } from '../unwrap-staged.ts'

const ACTS: readonly (readonly [string, string])[] = [
  ["pwsh -c 'Get-ChildItem /var/log -Recurse | Clear-Content'", '/var/log'],
  ["pwsh -c 'gci /boot | ri -Recurse'", '/boot'],
  ["pwsh -c 'dir /etc/ssh | Move-Item -Destination out'", '/etc/ssh'],
  ["pwsh -c 'gci /etc | Set-Content -Value x'", '/etc'],
]

const DOES_NOT: readonly string[] = [
  "pwsh -c 'Get-ChildItem /etc'",
  "pwsh -c 'Get-Content /etc/motd | Set-Content out.txt'",
  "pwsh -c 'Get-ChildItem /etc | Measure-Object'",
]

t.test('what is listed is written or removed by the order that it is piped to', (t) => {
  for (const [line, path] of ACTS) t.ok(pathsOf(commandsOf(line)).includes(`write ${path} ...`), line)
  t.end()
})

t.test('a list alone, and a text that goes into a file that is named, change nothing elsewhere', (t) => {
  for (const line of DOES_NOT)
    t.notOk(
      pathsOf(commandsOf(line)).some((path) => /^write \/(?:etc|var)/.test(path)),
      line,
    )
  t.end()
})
