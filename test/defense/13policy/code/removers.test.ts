import t from 'tap'
import { readCode } from '../../../../src/defense/13policy/code/words.ts'
import type { Language } from '../../../../src/defense/13policy/unwrap/inner.ts'

function isWritten([language, text, path]: readonly [Language, string, string]): boolean {
  return readCode(text, language, 'x').inner.some(
    (one) => one.kind === 'path' && one.use === 'write' && one.word.text === path,
  )
}

t.test('what removes files and is handed on may remove each place that the code names', async (t) => {
  const lines: readonly (readonly [Language, string, string])[] = [
    ['python', 'import pathlib\nlist(map(pathlib.Path.unlink, pathlib.Path("/opt/x").glob("*")))', '/opt/x'],
    ['python', 'import weakref, shutil\nweakref.finalize(f, shutil.rmtree, "/opt/x")', '/opt/x'],
    ['python', 'f = getattr(__import__("shutil"), "rm" + "tree")\nf("/opt/x")', '/opt/x'],
    ['ruby', 'Pathname("/opt/x").each_child(&:unlink)', '/opt/x'],
    ['ruby', '(Pathname.new("/opt") + "x").write "y"', '/opt/x'],
    ['php', 'array_filter(glob("/opt/x"), "unlink");', '/opt/x'],
    ['other', '"/opt/x" |> rm', '/opt/x'],
    ['other', '(map nil #\'delete-file (list "/opt/x"))', '/opt/x'],
    ['other', 'new File("/opt/x").eachFile{it.delete()}', '/opt/x'],
    ['perl', '$_->remove for path("/opt/x")->children', '/opt/x'],
  ]
  for (const line of lines) t.equal(isWritten(line), true, line[1])
})

t.test('what is taken out of a list or a text removes no file', async (t) => {
  const lines: readonly (readonly [Language, string, string])[] = [
    ['ruby', 'puts File.read("/etc/os-release").delete("x")', '/etc/os-release'],
    ['ruby', 'h.delete(:a); puts "/opt/x"', '/opt/x'],
    ['python', 'names.remove("a")\nprint("/opt/x")', '/opt/x'],
    ['javascript', 'seen.delete(key); console.log("/opt/x")', '/opt/x'],
  ]
  for (const line of lines) t.equal(isWritten(line), false, line[1])
})
