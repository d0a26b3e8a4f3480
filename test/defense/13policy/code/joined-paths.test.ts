/**
 * Paths that code puts together, with what is used otherwise than by its name.
 * @module
 */
import t from 'tap'
import { commandsOf, pathsOf } from '../unwrap-staged.ts'

/** Each writes, removes or changes /etc/passwd or /etc itself. */
const JOINED: readonly string[] = [
  `python3 -c 'import os; [os.remove(p) for p in [os.path.join("/", "etc", "passwd")]]'`,
  `python3 -c 'import os; list(map(os.remove, [os.sep + "etc/passwd"]))'`,
  `python3 -c 'import os; os.remove(f"{os.sep}etc{os.sep}passwd")'`,
  `node -e 'const p = require("path"); [p.join("/", "etc", "passwd")].forEach(f => fs.rmSync(f))'`,
  `ruby -e '[File.join("/", "etc", "passwd")].each { |f| File.delete(f) }'`,
  `ruby -e 'File.join("/", "etc", "passwd").then { |f| File.delete f }'`,
  `perl -e 'unlink join "/", "", "etc", "passwd"'`,
  `perl -e 'my $f = join "/", "", "etc", "passwd"; unlink $f'`,
  `php -r 'unlink(DIRECTORY_SEPARATOR . "etc/passwd");'`,
  `lua -e 'os.remove(table.concat({"", "etc", "passwd"}, "/"))'`,
  `gawk 'BEGIN { f = sprintf("/%s/%s", "etc", "passwd"); printf "" > f }'`,
  `elixir -e 'File.rm!(Path.join(["/", "etc", "passwd"]))'`,
  `elixir -e 'Path.join("/etc", "passwd") |> File.rm()'`,
  `julia -e 'rm(join(["", "etc", "passwd"], "/"))'`,
  `jshell - <<< 'new File(String.join("/", "", "etc", "passwd")).delete();'`,
  `echo 'removeFile("/" / "etc" / "passwd")' > a.nim; nim r a.nim`,
  `echo 'fn main() { fs::remove_file(Path::new("/etc").join("passwd")); }' > a.rs; rustc a.rs`,
  `echo 'func main() { os.RemoveAll(filepath.Join("/", "etc", "passwd")) }' > a.go; go run a.go`,
  `amm -c 'os.remove.all(os.root / "etc" / "passwd")'`,
  `amm -c 'rm! root/"etc"/"passwd"'`,
  `amm -c 'os.list(root/"etc"/"passwd").foreach(os.remove.all(_))'`,
  `scala -e '(root/"etc"/"passwd").delete()'`,
]

t.test('a path that is put together is used as one that is written out', async (t) => {
  for (const line of JOINED) t.ok(pathsOf(commandsOf(line)).includes('write /etc/passwd'), line)
})

t.test('what is put together and only read, or of names here, is not written', async (t) => {
  for (const line of [
    `python3 -c 'import os; print(open(os.path.join("/", "etc", "passwd")).read())'`,
    `node -e 'const p = require("path"); console.log(p.join("/", "etc", "passwd"))'`,
    `python3 -c 'import os; [os.remove(p) for p in [os.path.join("build", "x")]]'`,
    `Rscript -e 'root <- 4; n <- 2; print(root/n)'`,
  ])
    t.notOk(pathsOf(commandsOf(line)).includes('write /etc/passwd'), line)
})
