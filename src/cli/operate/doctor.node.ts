/**
 * `sass-edge doctor [TARGET]`: what this device offers, which level of isolation results, and what to change; of another
 * device, how it is reached.
 * @module
 */

import { enterOwnNamespaces } from '../../edge/host/own-namespaces.node.ts'
import { loadConfig } from '../../edge/setup/config-file.node.ts'
import { examine, type Finding } from '../../edge/setup/doctor.node.ts'
import { connectDevice, DEVICE_OPTIONS } from '../common/device.node.ts'
import { localConfigPath, takeWords } from '../common/local-config.node.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'
import { alignColumns } from '../words/listing.ts'

const SIGNS: Readonly<Record<Finding['state'], string>> = Object.freeze({
  ok: 'ok',
  missing: 'missing',
  failed: 'FAILED',
})
const ROUND_TRIPS = 5

type Found = { readonly path: string; readonly config: ReturnType<typeof loadConfig>['config'] }

function installation(context: CommandContext): Found | undefined {
  try {
    const path = localConfigPath(context)
    return { path, config: loadConfig(path).config }
  } catch {
    // No installation here, or a broken one, which check is for.
    return undefined
  }
}

async function here(context: CommandContext): Promise<number> {
  const found = installation(context)
  enterOwnNamespaces(found?.config.sandbox.require ?? 'overlay', process.env, 'doctor')
  const findings = await examine(found?.config, found?.path)
  const isFailed = findings.some(({ state }) => state === 'failed')
  context.output.result({ findings, ok: !isFailed }, [
    ...alignColumns(findings.map(({ name, state, text }) => [SIGNS[state], name, text])),
  ])
  return isFailed ? EXIT.LOCAL : EXIT.OK
}

async function there(context: CommandContext, word: string): Promise<number> {
  const began = performance.now()
  const client = await connectDevice(context, word)
  const connectMs = performance.now() - began
  const times: number[] = []
  let answer = await client.ping()
  for (let index = 0; index < ROUND_TRIPS; index++) {
    const asked = performance.now()
    answer = await client.ping()
    times.push(performance.now() - asked)
  }
  await client.close()
  const [fastest = 0] = [...times].sort((a, b) => a - b)
  const slowest = Math.max(...times)
  return context.output.result(
    {
      connect_ms: Math.round(connectMs),
      fastest_ms: Math.round(fastest * 100) / 100,
      slowest_ms: Math.round(slowest * 100) / 100,
      version: answer.daemon_version,
      os: answer.os,
    },
    [
      `The device answers: sass-edge ${answer.daemon_version} on ${answer.os}.`,
      `Connecting and authenticating took ${connectMs.toFixed(0)} ms, an answer ${fastest.toFixed(1)} to ${slowest.toFixed(1)} ms.`,
      'What it offers to keep commands apart, sass-edge doctor says on the device itself.',
    ],
  )
}

export const command: Command = {
  usage: ['doctor', 'doctor TARGET'],
  options: {
    ...DEVICE_OPTIONS,
  },
  examples: {
    'sass-edge doctor': 'on the device: tries a branch, names what is missing and the remedy',
    'sass-edge doctor ci@edge7': 'how that device is reached',
  },
  run(context) {
    const [word] = takeWords(context, 1)
    return word === undefined ? here(context) : there(context, word)
  },
}
