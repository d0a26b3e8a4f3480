/**
 * The lists of secret places are of the form that they are read in.
 * @module
 */
import t from 'tap'
import { HIDDEN_PLACES, KEY_NAMES, SECRET_HOME_PLACES, SECRET_PLACES } from '../../src/base/secret-places.ts'

t.test('a star stands in the last name of a place alone, and no place is named twice', async (t) => {
  const system = [...SECRET_PLACES, ...HIDDEN_PLACES]
  for (const place of system) t.match(place, /^(?:\/[^/*]+)+\/[^/]+$/, place)
  for (const place of SECRET_HOME_PLACES) t.match(place, /^\.[^/]+$|^\.[^/*]+(?:\/[^/*]+)*\/[^/]+$/, place)
  for (const name of KEY_NAMES) t.notMatch(name, '/', name)
  for (const place of SECRET_PLACES) t.ok(place.startsWith('/etc/'), `${place} is looked for below /etc`)
  for (const list of [system, SECRET_HOME_PLACES, KEY_NAMES]) t.equal(new Set(list).size, list.length)
})
