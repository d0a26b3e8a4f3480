/**
 * `sass-edge ping [TARGET]`: whether a device answers, how fast, and what it is.
 * @module
 */

import { misuse } from '../../errors.ts'
import { connectDevice, DEVICE_OPTIONS } from '../common/device.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import { optionValue, wholeNumber } from '../words/arguments.ts'
import type { Command } from '../words/command.ts'

const DEFAULT_COUNT = 4
const PAUSE_MS = 250

export const command: Command = {
  usage: ['ping [TARGET]'],
  options: {
    '-c, --count N': `how often (${DEFAULT_COUNT})`,
    ...DEVICE_OPTIONS,
  },
  examples: {
    'sass-edge ping edge7': 'connects, authenticates, asks four times',
  },
  async run(context) {
    const text = optionValue(context.arguments.options, 'count') ?? String(DEFAULT_COUNT)
    const count = wholeNumber(text, 1, 1_000)
    if (count === undefined) throw misuse(`--count ${text} is not a number from 1 to 1000.`)
    const began = performance.now()
    const client = await connectDevice(context, takeWords(context, 1)[0])
    const connectMs = performance.now() - began
    const times: number[] = []
    let last = await client.ping()
    for (let index = 0; index < count; index++) {
      if (index > 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      const asked = performance.now()
      last = await client.ping()
      times.push(performance.now() - asked)
      context.output.note(`answer ${index + 1} in ${(times.at(-1) ?? 0).toFixed(2)} ms`)
    }
    await client.close()
    const sorted = [...times].sort((a, b) => a - b)
    const median = sorted[Math.floor(sorted.length / 2)] ?? 0
    const rounded = (ms: number) => Math.round(ms * 1_000) / 1_000
    return context.output.result(
      {
        connect_ms: rounded(connectMs),
        median_ms: rounded(median),
        times_ms: times.map(rounded),
        version: last.daemon_version,
        os: last.os,
        uptime_seconds: last.uptime_seconds,
        active_processes: last.active_processes,
      },
      [
        `sass-edge ${last.daemon_version} on ${last.os}, up ${last.uptime_seconds} s, ${last.active_processes} running; connected in ${connectMs.toFixed(1)} ms, median answer ${median.toFixed(2)} ms`,
      ],
    )
  },
}
