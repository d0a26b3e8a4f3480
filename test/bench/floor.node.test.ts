import t from 'tap'
import { measureFloor } from '../../bench/floor.node.ts'

t.test('starting a program takes some time, and its whole life no less', (t) => {
  const floor = measureFloor(20)
  t.equal(floor.runs, 20)
  t.ok(floor.spawnMedianUs > 5, `${floor.spawnMedianUs} us`)
  t.ok(floor.lifeMedianUs >= floor.spawnMedianUs)
  t.ok(floor.life95Us >= floor.lifeMedianUs)
  t.end()
})

t.test('a program that is not there is an error with its errno', (t) => {
  t.throws(() => measureFloor(1, '/not/there'), /errno 2/)
  t.end()
})
