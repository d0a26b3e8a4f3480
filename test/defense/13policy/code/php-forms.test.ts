import t from 'tap'
import { evaluatesPattern, plainPhp } from '../../../../src/defense/13policy/code/php-forms.ts'

t.test('the home directory within a text is told, and a pattern that evaluates', async (t) => {
  t.equal(plainPhp('f("{$_SERVER["HOME"]}/.bashrc");'), 'f("~/.bashrc");')
  t.equal(evaluatesPattern('preg_replace("/a/e", "system(1)", "a");'), true)
  t.equal(evaluatesPattern('mb_ereg_replace("a", "system(1)", "a", "e");'), true)
  t.equal(evaluatesPattern('preg_replace("/e/", "a", $x);'), false)
  t.equal(evaluatesPattern('preg_replace("/a/i", "e", $x);'), false)
})
