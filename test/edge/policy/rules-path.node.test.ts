import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  packedRules,
  readRulesText,
  rulesPaths,
  shippedRulesPath,
} from '../../../src/edge/policy/rules-path.node.ts'

t.test('the rules that ship come first, the own ones after them, each only where it is wanted', async (t) => {
  const shipped = shippedRulesPath()
  t.match(shipped, /dist\/default-rules\.json$/)
  t.same(rulesPaths({ defaultRules: true, rulesFile: '/own' }), [shipped, '/own'])
  t.same(rulesPaths({ defaultRules: true, rulesFile: null }), [shipped])
  t.same(rulesPaths({ defaultRules: false, rulesFile: '/own' }), ['/own'])
  t.same(rulesPaths({ defaultRules: false, rulesFile: null }), [])
  t.equal(packedRules(), undefined, 'only a bundle carries its rules in itself')
  t.match(readRulesText(shipped), /"rules"/)
})

t.test('what cannot be read says why, as a sentence and as its part', async (t) => {
  const directory = t.testdir({ latin: Buffer.from([0xff]), large: Buffer.alloc(4_194_305, 0x20) })
  mkdirSync(join(directory, 'folder'))
  for (const [name, problem] of Object.entries({
    none: 'cannot be read, since it does not exist',
    folder: 'cannot be read, since it is not a regular file',
    latin: 'cannot be read, since it is not valid UTF-8',
    large: 'cannot be read, since it is larger than 4194304 bytes',
  })) {
    const path = join(directory, name)
    t.throws(() => readRulesText(path), {
      code: 'CONFIG_LOAD_FAILED',
      message: `The rules in ${path} ${problem}: correct that, or name another file.`,
      details: { path, problem },
    })
  }
})
