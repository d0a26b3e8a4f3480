/**
 * A world of the measurement is thrown away: whoever does in it what would harm a machine, as root and without the
 * daemon, leaves the real one as it was.
 * @module
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { collected, whyNoWorld } from './world.node.ts'

type Report = {
  readonly before: unknown
  readonly after: unknown
  readonly inside: string
  readonly read: boolean
  readonly reached: { readonly devices: number; readonly settings: number }
  readonly outputs: readonly string[]
  readonly left: boolean
}

t.test('lines that harm a machine harm the world alone', async (t) => {
  const why = whyNoWorld()
  if (why !== undefined) return void t.comment(`skipped: ${why}`)
  const program = join(import.meta.dirname, 'untouched.node.ts')
  const ran = await collected(spawn(process.execPath, ['--no-warnings', program]))
  t.equal(ran.code, 0, ran.stderr.toString())
  const report = JSON.parse(ran.stdout.toString()) as Report
  t.strictSame(report.after, report.before, 'the machine is as it was')
  t.equal(report.inside, 'harmed\n', 'the world is not')
  t.notOk(report.read, 'no disk of the machine was read')
  t.ok(report.reached.devices > 0, 'the fence has counted who wanted a device')
  t.ok(report.reached.settings > 0, 'and who wanted to write a setting')
  t.notOk(report.left, 'nothing of the world stays mounted')
})
