/**
 * Calls that no table knows write to a path where their name, a mode behind it or a setting says so.
 * @module
 */
import t from 'tap'
import { readCode } from '../../../../src/defense/13policy/code/words.ts'
import type { Language } from '../../../../src/defense/13policy/unwrap/inner.ts'

function written(text: string, language: Language): readonly string[] {
  return readCode(text, language, 'test').inner.flatMap((inner) =>
    inner.kind === 'path' && inner.use === 'write' ? inner.word.text : [],
  )
}

t.test('what is said to be written is', (t) => {
  const lines: readonly (readonly [Language, string])[] = [
    ['python', "zipfile.ZipFile('/srv/x', 'w')"],
    ['python', "tarfile.open('/srv/x', mode='w:gz')"],
    ['python', "logging.basicConfig(filename='/srv/x')"],
    ['python', "tempfile.mkstemp(dir='/srv/x')"],
    ['python', "logging.config.dictConfig({'handlers': {'h': {'filename': '/srv/x'}}})"],
    ['python', "py_compile.compile('a.py', cfile='/srv/x')"],
    ['python', "import shutil\nshutil.copy(src='a', dst='/srv/x')"],
    ['python', "import shutil\nshutil.make_archive('/srv/x', 'zip', 'src')"],
    ['python', "import pathlib\npathlib.Path('a').rename('/srv/x')"],
    ['javascript', "require('esbuild').buildSync({ outfile: '/srv/x' })"],
    ['javascript', "require('fs-extra').removeSync('/srv/x')"],
    ['perl', 'IO::File->new("/srv/x", "w")'],
    ['perl', 'path("/srv/x")->remove_tree'],
    ['ruby', 'Logger.new("/srv/x").info("y")'],
    ['ruby', 'Pathname("/srv").join("x").delete'],
    ['php', 'error_log("m", 3, "/srv/x");'],
    ['php', '$f = gzopen("/srv/x", "w");'],
  ]
  for (const [language, text] of lines) t.ok(written(text, language).includes('/srv/x'), text)
  t.end()
})

t.test('what is read, sent or only named is not written', (t) => {
  const lines: readonly (readonly [Language, string])[] = [
    ['python', "zipfile.ZipFile('/srv/x', 'r')"],
    ['python', "client.post('/srv/x', 'w')"],
    ['python', "re.sub('/srv/x', 'a', y)"],
    ['python', "Report.save(open('/srv/x').read())"],
    ['javascript', "app.get('/srv/x', 'a')"],
    ['perl', 'IO::File->new("/srv/x", "r")'],
    ['ruby', 'puts Pathname("/srv/x").exist?'],
    ['php', 'error_log("hello");'],
  ]
  for (const [language, text] of lines) t.same(written(text, language), [], text)
  t.end()
})
