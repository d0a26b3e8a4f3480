/**
 * Shell texts that put together text of their own, and those that only read what is there.
 * @module
 */
import t from 'tap'
import { parseShell } from '../../../../src/defense/13policy/shell/shell.ts'
import { makesText } from '../../../../src/defense/13policy/unwrap/made-text.ts'

function makes(line: string, hasInput = false): boolean {
  return makesText(parseShell(line, { cwd: '/srv/work', home: '/home/agent' }).commands, hasInput)
}

const FOUND = [
  'V=$(cat VERSION)',
  'V=$(git describe --tags)',
  "V=$(git describe | sed 's/^v//')",
  'N=$(grep -n x f | cut -d: -f1)',
  "V=$(awk -F'\"' '/version/{print $2}' x)",
  'V=$(node -p "require(\'./package.json\').version")',
  'V=$(jq -r .version package.json)',
  'V=$(date +%F)',
  'while read l; do :; done < list',
  'V=$(cat VERSION); echo x > out',
]

const MADE = [
  'V=$(curl -s https://example.com)',
  'V=$(echo x/e | cut -c1-)',
  'V=$(printf \'x/e;%s\' "$U")',
  'V=$(date "+x/e")',
  "V=$(git log --format='x/e')",
  "V=$(awk 'BEGIN{print 1}')",
  "V=$(sed 's/.*/x\\/e/' f)",
  'V=$(jq -n \'"x/e"\')',
  "V=$(python3 -c 'print(1)')",
  'V=$($X)',
  'V=$(cut -c1- <<< "x/e;1e id")',
  "echo 'x/e;1e id' | while read l; do :; done",
  'read l <<< "x/e;1e id"',
  'echo x/e > f; V=$(cat f)',
  'cp x "$Y"; V=$(cat f)',
]

t.test('what files and the system hold is found', async (t) => {
  for (const line of FOUND) t.notOk(makes(line), line)
})

t.test('what is fetched, decoded, spelled or read back is made', async (t) => {
  for (const line of MADE) t.ok(makes(line), line)
  t.ok(makes('read l', true), 'from the caller')
})
