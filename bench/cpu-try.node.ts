import { readdirSync, readFileSync } from 'node:fs'
import { connect } from '../src/client/client.node.ts'
import { startDevice } from './device.node.ts'
import { measureFloor } from './floor.node.ts'
const device = await startDevice(JSON.parse(process.env['CONF'] ?? '{}'), process.env['PROGRAM'])
const threads = () => new Map(readdirSync(`/proc/${device.pid}/task`).map((t) => [t, { ns: Number(readFileSync(`/proc/${device.pid}/task/${t}/schedstat`, 'latin1').split(' ')[0]), comm: readFileSync(`/proc/${device.pid}/task/${t}/comm`, 'latin1').trim() }]))
const stat = () => { const f = readFileSync(`/proc/${device.pid}/stat`, 'latin1').split(') ')[1]!.split(' '); return [Number(f[11]), Number(f[12])] }
const N = Number(process.argv[2] ?? 2000)
const c = await connect({ host: '127.0.0.1', port: device.port, agent: 'agent', privateKey: device.privateKey, pin: device.fingerprint })
const run = async (n: number) => { for (let i = 0; i < n; i++) await c.execute('/bin/true') }
await run(1500)
for (let round = 0; round < 3; round++) {
const floor = measureFloor(300)
const a = threads(); const sa = stat(); const t0 = performance.now()
await run(N)
const wall = (performance.now() - t0) / N
const b = threads(); const sb = stat()
let sum = 0
const parts: string[] = []
for (const [t, { ns, comm }] of b) { const d = (ns - (a.get(t)?.ns ?? 0)) / N / 1000; sum += d; if (d > 1) parts.push(`${comm} ${d.toFixed(0)}`) }
console.log(`floor ${floor.lifeMedianUs} wall ${(wall * 1000).toFixed(0)} cpu ${sum.toFixed(0)} us ratio ${(sum / floor.lifeMedianUs).toFixed(2)} | user ${((sb[0]! - sa[0]!) * 10000 / N).toFixed(0)} sys ${((sb[1]! - sa[1]!) * 10000 / N).toFixed(0)} | ${parts.join(', ')}`)
}
c.close?.()
await device.stop()
process.exit(0)
