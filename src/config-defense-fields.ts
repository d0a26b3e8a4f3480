/**
 * The keys of `defense` in sass.edge.json: what a refused caller gets to see, and at what cost to us.
 * Sources of the defaults: the draft's section 8.3 and appendix C.3.
 * @module
 */
import type { ObjectField } from './config-field-kinds.ts'
import {
  TARPIT_CHUNK_BYTES,
  TARPIT_CHUNKS,
  TARPIT_CONCURRENT,
  TARPIT_DELAY_MS,
  TARPIT_SEND_TIMEOUT_MS,
  VI_SWAP_HOLD_SECONDS,
} from './limits.ts'

const GIB = 1_073_741_824

export const DEFENSE = {
  kind: 'object',
  doc: 'What a refused caller gets to see.',
  fields: {
    tarpit: {
      kind: 'object',
      doc: 'Slow noise for callers that fail to authenticate.',
      fields: {
        chunk_bytes: {
          kind: 'integer',
          min: 1,
          max: TARPIT_CHUNK_BYTES,
          default: TARPIT_CHUNK_BYTES,
          doc: 'Noise in one write.',
        },
        total_bytes: {
          kind: 'integer',
          min: 1,
          max: GIB,
          default: TARPIT_CHUNK_BYTES * TARPIT_CHUNKS,
          doc: 'Noise for one caller in all, at least chunk_bytes.',
        },
        delay_ms: {
          kind: 'integer',
          min: 1,
          max: 60_000,
          default: TARPIT_DELAY_MS,
          doc: 'Pause between two writes.',
        },
        max_concurrent: {
          kind: 'integer',
          min: 0,
          max: 1_024,
          default: TARPIT_CONCURRENT,
          doc: 'Callers held at the same time; beyond it, and with 0 always, the connection is reset.',
        },
        send_timeout_ms: {
          kind: 'integer',
          min: 1,
          max: 60_000,
          default: TARPIT_SEND_TIMEOUT_MS,
          doc: 'A write that is not taken within this time ends the connection.',
        },
      },
    },
    vi_swap: {
      kind: 'object',
      doc: 'The editor screen that an agent gets in place of a refusal.',
      fields: {
        hold_seconds: {
          kind: 'integer',
          min: 1,
          max: 86_400,
          default: VI_SWAP_HOLD_SECONDS,
          doc: 'How long the screen keeps its slot before the stream ends.',
        },
      },
    },
    deny_response: {
      kind: 'choice',
      choices: ['vi_swap', 'reason'],
      default: 'vi_swap',
      doc: '`vi_swap` shows the screen; `reason` tells the agent why instead: for a lab, since it helps an attacker.',
    },
  },
} as const satisfies ObjectField
