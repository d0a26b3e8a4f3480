import t from 'tap'
import { isRaku, plainRaku } from '../../../../src/defense/13policy/code/raku-forms.ts'

t.test('forms of Raku become those of Perl', async (t) => {
  t.equal(plainRaku('my $h = open "/x", :w; 1'), 'my $h = open(F, ">", "/x"; 1')
  t.equal(plainRaku('Proc::Async.new("x").start'), 'system("x").start')
  t.equal(plainRaku('EVAL "x"'), 'eval "x"')
  t.match(plainRaku('my &f = &shell; f "x"'), /&\$handed/)
  t.equal(isRaku('raku -e'), true)
  t.equal(isRaku('perl -e'), false)
})
