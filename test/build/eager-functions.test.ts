/**
 * The functions of a start are written so that V8 compiles them with the text, and the text does what it did.
 * @module
 */
import { runInNewContext, Script } from 'node:vm'
import t from 'tap'
import { compiledAtOnce } from '../../build/eager-functions.ts'

const HELPER = 'var __esm=(begin)=>()=>{begin[Object.keys(begin)[0]]()};'
const BODY = `let sum=0;${'for(let i=0;i<3;i++){sum+=i*2;sum^=i}'.repeat(40)}return sum+n`
const TEXT = [
  HELPER,
  `function first(n){${BODY}}async function later(n){return first(n)}function*each(n){yield first(n)}var a,init_a=__esm({"src/a.ts"(){"use strict";a=first(1)}});`,
  `function other(n){${BODY}}var b,init_b=__esm({"src/b.ts"(){"use strict";b=other(2)}});`,
  'init_a();init_b();result=[a,b,first.name,later.name,each.name,[...each(3)].length];',
].join('')

/** What V8 keeps of a text after reading it: the code of all functions that it compiled with it. */
const cachedBytes = (text: string): number => new Script(text).createCachedData().length

function resultOf(text: string): unknown {
  const context: { result?: unknown } = {}
  runInNewContext(text, context)
  return JSON.stringify(context.result)
}

t.test('the functions of a module that a start runs are compiled with the text', async (t) => {
  const none = compiledAtOnce(TEXT, () => false)
  const one = compiledAtOnce(TEXT, (module) => module === 'src/a.ts')
  const all = compiledAtOnce(TEXT, () => true)
  t.equal(none, TEXT, 'a text without such modules stays as it is')
  t.ok(cachedBytes(one) > cachedBytes(TEXT) + BODY.length / 2, 'V8 has compiled the first function')
  t.ok(cachedBytes(all) > cachedBytes(one) + BODY.length / 2, 'and the other one where that is wanted too')
  t.match(one, 'function other(n){', 'what a start does not run is left alone')
})

t.test('what the text does stays the same, with the names of its functions', async (t) => {
  const before = resultOf(TEXT)
  t.match(before, '"first","later","each"')
  for (const isStarted of [() => true, (module: string) => module === 'src/b.ts'])
    t.equal(resultOf(compiledAtOnce(TEXT, isStarted)), before)
})

t.test('a function is there from the first line on, wherever it is declared', async (t) => {
  const early = `${HELPER}var seen=typeof used;function used(){}var init_a=__esm({"src/a.ts"(){used()}});init_a();result=seen;`
  t.equal(resultOf(compiledAtOnce(early, () => true)), '"function"')
})
