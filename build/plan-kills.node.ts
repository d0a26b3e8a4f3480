/**
 * `npm run plan-kills -- TIMES [SEED]`: kills the daemon at moments of a plan so often, and says what the results had
 * wrong. The short form is a test of every run.
 * @module
 */
import { spawnSync } from 'node:child_process'

const [times = '500', seed = '1'] = process.argv.slice(2)
const timeout = `--timeout=${60 + Number(times) * 20}`
const { status } = spawnSync(
  'npx',
  ['tap', 'run', '--disable-coverage', timeout, 'test/integration/plan-kills.node.test.ts'],
  {
    stdio: 'inherit',
    env: { ...process.env, SASS_PLAN_KILLS: times, SASS_PLAN_SEED: seed },
  },
)
process.exitCode = status ?? 1
