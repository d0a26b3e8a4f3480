/**
 * Files that code changes in languages which are not told apart.
 * @module
 */
import t from 'tap'
import { commandsOf, pathsOf } from '../unwrap-staged.ts'

const source = (file: string, tool: string, code: string) => `cat > ${file} <<'X' && ${tool}\n${code}\nX`

const WRITTEN: readonly (readonly [string, string])[] = [
  [source('K.java', 'java K.java', 'new RandomAccessFile("/dev/mmcblk0", "rw");'), '/dev/mmcblk0'],
  [source('K.java', 'java K.java', 'new FileWriter("/etc/motd").close();'), '/etc/motd'],
  [source('K.java', 'java K.java', 'Files.copy(in, Path.of("/boot/x"));'), '/boot/x'],
  [source('K.java', 'java K.java', 'String d = "/dev/mtd0"; go(d);'), '/dev/mtd0'],
  [source('m.go', 'go run m.go', 'p := "/etc/hosts"\nf, _ := os.OpenFile(p, os.O_WRONLY, 0)'), '/etc/hosts'],
  [source('a.rs', 'rustc a.rs', 'OpenOptions::new().append(true).open("/etc/hosts")'), '/etc/hosts'],
  [source('a.cpp', 'g++ a.cpp', 'std::ofstream f("/etc/motd");'), '/etc/motd'],
  [source('a.groovy', 'groovy a.groovy', 'new File("/etc/motd").text = "x"'), '/etc/motd'],
  [source('a.groovy', 'groovy a.groovy', 'new File("/etc/motd") << "x"'), '/etc/motd'],
  [source('a.fs', 'gforth a.fs', 's" /etc/motd" w/o create-file throw'), '/etc/motd'],
]

const READ: readonly string[] = [
  source('K.java', 'java K.java', 'System.out.println("/dev/sda is a disk");'),
  source('K.java', 'java K.java', 'new RandomAccessFile("/etc/hosts", "r");'),
  source('m.go', 'go run m.go', 'b, _ := os.ReadFile("/etc/os-release")'),
  source('a.cpp', 'g++ a.cpp', 'std::ifstream f("/etc/os-release");'),
]

t.test('what such code opens to write is written', (t) => {
  for (const [line, path] of WRITTEN) t.ok(pathsOf(commandsOf(line)).includes(`write ${path}`), line)
  t.end()
})

t.test('what it reads or tells of is not', (t) => {
  for (const line of READ)
    t.notOk(
      pathsOf(commandsOf(line)).some((path) => /^write \/(?:etc|dev)/.test(path)),
      line,
    )
  t.end()
})
