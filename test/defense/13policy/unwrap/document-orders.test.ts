/**
 * Settings and recipes are read for what they clearly do, with their own settings put in.
 * @module
 */
import t from 'tap'
import {
  fileOrdersOf,
  ordersOf,
  withSettings,
} from '../../../../src/defense/13policy/unwrap/document-orders.ts'

const texts = (document: string) =>
  ordersOf(document).flatMap((inner) => (inner.kind === 'shell' ? [inner.word.text] : []))
const written = (document: string) =>
  fileOrdersOf(document).flatMap((inner) =>
    inner.kind === 'path' ? [`${inner.use} ${inner.word.text}`] : [],
  )

t.test('a setting is put in where the document uses it', (t) => {
  t.match(withSettings('set(D /opt)\nfile(REMOVE_RECURSE ${D})'), 'REMOVE_RECURSE /opt')
  t.match(withSettings('d = /opt\ncommand = rm -rf $d'), 'rm -rf /opt')
  t.match(withSettings('dir := "/opt"\nx:\n rm -rf {{dir}}'), 'rm -rf /opt')
  t.match(withSettings('<property name="d" value="/opt"/><delete dir="${d}"/>'), 'dir="/opt"')
  t.match(withSettings('<d>/opt</d><delete dir="${d}"/>'), 'dir="/opt"')
  t.equal(withSettings('no marks = /opt'), 'no marks = /opt')
  t.end()
})

t.test('a setting that is made of texts is put in as well', (t) => {
  const made = (text: string) => withSettings(`${text}\nexecute_process(COMMAND ${'${c}'} /opt)`)
  t.match(made('string(CONCAT c "r" "m")'), 'COMMAND rm /opt')
  t.match(made('string(ASCII 114 109 c)'), 'COMMAND rm /opt')
  t.match(made('set(c r)\nstring(APPEND c m)'), 'COMMAND rm /opt')
  t.match(made('list(APPEND c rm -rf)'), 'COMMAND rm -rf /opt')
  t.match(made('string(REPLACE x m c rx)'), 'COMMAND rm /opt')
  t.match(withSettings('foreach(d /opt)\nfile(REMOVE ${d})'), 'REMOVE /opt')
  t.end()
})

t.test('what a document takes in from where anybody writes is a program of that place', (t) => {
  const programs = (text: string) =>
    fileOrdersOf(text).flatMap((inner) =>
      inner.kind === 'argv' ? inner.words.map((word) => word.text) : [inner.kind],
    )
  t.same(programs('import "/tmp/x.just"'), ['/tmp/x.just'])
  t.same(programs('includes:\n  x: /tmp/x.yml'), ['/tmp/x.yml'])
  t.same(programs('apply from: "https://example.com/x.gradle"'), ['opaque'])
  t.same(programs('replace example.com/x => /tmp/x\n'), ['/tmp/x'])
  t.same(programs('"$schema": "https://example.com/x"\nimport x from "y"'), [])
  t.end()
})

t.test('settings that double end', (t) => {
  const doubling = Array.from({ length: 64 }, (_, i) => `a${i} = $a${i + 1}$a${i + 1}`).join('\n')
  t.ok(withSettings(doubling).length < 1_000_000)
  t.end()
})

t.test('orders are commands, and changes are files', (t) => {
  t.same(texts('run: "rm -rf /opt"'), ['rm -rf /opt'])
  t.same(texts('name: removal'), [])
  t.same(written('Remove Directory    /opt    recursive=True'), ['write /opt'])
  t.same(written('<delete><fileset dir="/opt"/></delete>'), ['write /opt'])
  t.same(written('include "/opt/x"'), [])
  t.same(written('configure_file(a /opt/b)'), ['write /opt/b'])
  t.same(written("install_data('x', install_dir: '/opt/b')"), ['write /opt/b'])
  t.same(written('cleanFiles += file("/opt/b")'), ['write /opt/b'])
  t.end()
})
