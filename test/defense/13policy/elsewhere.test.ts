/**
 * What is written, removed, moved or changed in mode or owner is noted at least, unless it is shown to lie where the
 * request runs or among temporary files: every kind of program that does so, by every way to a place elsewhere. The same
 * programs pass by the same ways to a place in the workspace.
 * @module
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { createMatcher } from '../../../src/defense/13policy/matcher.ts'
import { readRules } from '../../../src/defense/13policy/rules-file.ts'
import { effectiveCommands } from '../../../src/defense/13policy/unwrap.ts'

const CWD = '/home/dev/project'
const HOME = '/home/dev'

/** `@` is the place. */
const WRITERS: readonly string[] = [
  ...['rm @', 'rm -rf @', 'rmdir @', 'unlink @', 'mv @ b', 'mv a @', 'mv -t @ a', 'cp a @', 'cp -r a @'],
  ...['cp --target-directory=@ a', 'install -D a @', 'ln -s a @', 'tee @ < a', 'touch @', 'truncate -s 0 @'],
  ...['mkdir -p @', 'mktemp -p @', 'chmod +x @', 'chown dev @', 'setfacl -m u:a:r @', 'chattr +i @'],
  ...['dd if=a of=@', 'sed -i s/a/b/ @', 'perl -pi -e s/a/b/ @', 'echo a > @', 'echo a >> @', ': > @', '> @'],
  ...['echo a &> @', 'echo a >| @', 'echo a 3> @ >&3', '{ echo a; } > @', 'cat <<< a > @', 'exec 3> @'],
  ...[
    'find @ -delete',
    'find @ -exec rm {} +',
    'find . -fprint @',
    'busybox rm @',
    'rsync -a a/ @',
    'scp h:a @',
  ],
  ...[
    'tar xf a.tar -C @',
    'tar cf @ a',
    'unzip a.zip -d @',
    '7z x a.7z -o@',
    'cpio -i -D @ < a',
    'pax -rw a @',
    'pax -rw -pe ./etc/ @',
    'dpkg -x a @',
  ],
  ...[
    'curl -o @ https://x.org/a',
    'wget -O @ https://x.org/a',
    'wget -P @ https://x.org/a',
    'gzip @',
    'patch @ a',
  ],
  ...[
    'git clone https://x.org/a @',
    'git worktree add @ b',
    'git --work-tree=@ clean -fd',
    'git --git-dir=@/.git --work-tree=@ reset --hard',
  ],
  ...['git diff --output=@', 'git archive -o @ HEAD', 'make -C @', 'make DESTDIR=@ install', 'cargo new @'],
  ...['go build -o @ .', 'gcc a.c -o @', 'python3 -m venv @', 'npm --prefix @ install', 'pandoc a -o @'],
  ...[
    'black @',
    'prettier --write @',
    'gofmt -w @',
    'eslint --fix @',
    'sort a -o @',
    'split a @',
    'shuf -o @ a',
  ],
  ...['jest --coverageDirectory @', 'protoc --cpp_out=@ a', 'ffmpeg -i a @', 'zip @ a', 'strip @', 'sox a @'],
  ...[
    'xargs -a a cp -t @',
    'docker cp c:a @',
    'docker save -o @ a',
    'pg_dump -f @ a',
    'tcpdump -w @',
    'vim -c wq @',
  ],
]

/** Ways to `DIR/x`, or with `DIR` alone to where that lies. */
const WAYS: readonly ((write: (place: string) => string, dir: string) => string)[] = [
  (write, dir) => write(`${dir}/x`),
  (write, dir) => write(`${dir}/y/../x`),
  (write, dir) => write(`${dir}/{x,x}`),
  (write, dir) => write(`${dir}/*.x`),
  (write, dir) => `X=${dir}; ${write('"$X/x"')}`,
  (write, dir) => `X=${dir}; Y=X; ${write('"${!Y}/x"')}`,
  (write, dir) => write(`"\${UNSET:-${dir}}/x"`),
  (write, dir) => `cd ${dir} && ${write('x')}`,
  (write, dir) => `cd ${dir}; ${write('x')}`,
  (write, dir) => `pushd ${dir} && ${write('x')}`,
  (write, dir) => `CDPATH=${dir}; cd sub && ${write('x')}`,
  (write, dir) => `(cd ${dir}/sub && ${write('../x')})`,
  (write, dir) => `ln -s ${dir} l && ${write('l/x')}`,
  (write, dir) => `set -- ${dir}; ${write('"$1/x"')}`,
  (write, dir) => `a=(${dir}/*); ${write('"${a[@]}"')}`,
  (write, dir) => `f() { ${write('"$1/x"')}; }; f ${dir}`,
  (write, dir) => `read -r d <<< ${dir}; ${write('"$d/x"')}`,
  (write, dir) => `printf -v d %s ${dir}; ${write('"$d/x"')}`,
  (write, dir) => `for f in ${dir}/*; do ${write('"$f"')}; done`,
  (write, dir) => `for f in $(find ${dir} -type f); do ${write('"$f"')}; done`,
  (write, dir) => `find ${dir} -type f | while read -r f; do ${write('"$f"')}; done`,
  (write, dir) => `mapfile -t a < <(find ${dir} -type f); ${write('"${a[0]}"')}`,
  (write, dir) => `${write(`${dir}/x`)} &`,
  (write, dir) => `eval "${write(`${dir}/x`)}"`,
  (write, dir) => `bash -c "${write(`${dir}/x`)}"`,
]

/** Ways to a place of which nobody can say where it is. */
const UNKNOWN: readonly ((write: (place: string) => string) => string)[] = [
  (write) => write('"$X"'),
  (write) => `cd /srv; cd -; ${write('"$OLDPWD/x"')}`,
  (write) => write('"$X/x"'),
  (write) => write('"$(cat list)"'),
  (write) => write('"$(jq -r .path c.json)"'),
  (write) => `cd "$X" && ${write('x')}`,
  (write) => `cd "$(cat list)"; ${write('x')}`,
  (write) => `while read -r f; do ${write('"$f"')}; done < list`,
  (write) => `ls | sed 's#^#/srv/#' | while read -r f; do ${write('"$f"')}; done`,
  (write) => `for f in $(find . -printf '../%f'); do ${write('"$f"')}; done`,
  (write) => `mapfile -t a < list; ${write('"${a[0]}"')}`,
  (write) => `for f in $(ls src); do ${write('"$X/$f"')}; done`,
]

const ELSEWHERE: readonly string[] = ['/srv/data', '..', '/home/dev', '/home/pi', '/var/lib/app', '/opt/app']

const matcher = (() => {
  const text = readFileSync(new URL('../../../policy/default-rules.json', import.meta.url), 'utf8')
  const read = readRules(text, 'default-rules.json')
  if (!read.ok) throw new Error('the packaged rules cannot be read')
  return createMatcher(read.rules, HOME)
})()

/** The rule that has something to say of a line; undefined where none has. */
function toldBy(line: string): string | undefined {
  const surroundings = { cwd: CWD, home: HOME, resolved: undefined, terminal: false, stdin: false }
  const match = matcher.strictest(effectiveCommands(['bash', '-c', line], surroundings))
  return match?.rule.action === 'allow' ? undefined : match?.rule.id
}

const placed = (writer: string) => (place: string) => writer.replaceAll('@', () => place)

t.test('whatever writes, by whatever way it gets elsewhere, is noted', async (t) => {
  const lines = WRITERS.flatMap((writer) =>
    WAYS.flatMap((way) => ELSEWHERE.map((directory) => way(placed(writer), directory))),
  )
  t.same(
    lines.filter((line) => toldBy(line) === undefined),
    [],
  )
})

t.test('whatever writes to what nobody can tell the place of is noted', async (t) => {
  const lines = WRITERS.flatMap((writer) => UNKNOWN.map((way) => way(placed(writer))))
  t.same(
    lines.filter((line) => toldBy(line) === undefined),
    [],
  )
})

t.test('by the same ways, what lies in the workspace or among temporary files is written', async (t) => {
  const lines = WRITERS.flatMap((writer) =>
    WAYS.flatMap((way) => ['sub', '/tmp/job'].map((directory) => way(placed(writer), directory))),
  )
  t.same(
    lines.filter((line) => toldBy(line)?.endsWith('-elsewhere') === true),
    [],
  )
})
