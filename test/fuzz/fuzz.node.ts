/**
 * `npm run fuzz [-- SECONDS [TARGET [SEED]]]`: feeds every target for SECONDS (60), or one of them. A failure prints
 * its input; `npm run fuzz -- replay TARGET HEX` feeds that one input again. Exits 1 where something failed.
 * @module
 */
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { fuzz, randomFor, workedMs } from './engine.ts'
import { TARGETS } from './targets.node.ts'

const [first = '60', name, third] = process.argv.slice(2)
const chosen = TARGETS.filter((target) => name === undefined || target.name === name)
if (chosen.length === 0) {
  console.error(`There is no target ${name}; there are: ${TARGETS.map((target) => target.name).join(', ')}.`)
  process.exitCode = 125
} else if (first === 'replay') {
  const input = Uint8Array.from(Buffer.from(third ?? '', 'hex'))
  for (const target of chosen) console.log(target.run(input, randomFor(input)))
} else {
  const seed = third === undefined ? Date.now() >>> 0 : Number(third)
  console.log(`seed ${seed}`)
  for (const target of chosen) {
    const report = fuzz(target, Number(first), seed, workedMs)
    const { inputs, bytes, outcomes, slowestMsPerKiB, failure } = report
    const mean = inputs === 0 ? 0 : Math.round(bytes / inputs)
    console.log(
      `${target.name}: ${inputs} inputs of ${mean} bytes, ${outcomes.size} outcomes, slowest ${slowestMsPerKiB.toFixed(2)} ms a KiB`,
    )
    if (failure === undefined) continue
    console.log(
      `${target.name} FAILED: ${failure.problem}\n  replay ${target.name} ${encodeHex(failure.input)}`,
    )
    process.exitCode = 1
  }
}
