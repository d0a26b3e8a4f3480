/**
 * The keys of `defense` in sass.edge.json: what a refused caller gets to see, and at what cost to us.
 * Sources of the defaults: the draft's section 8.3 and appendix C.3.
 * @module
 */

import {
  ANOMALY_CONSECUTIVE,
  ANOMALY_DRIFT_PERMILLE,
  ANOMALY_SIGMA,
  ANOMALY_SIGMA_MAX,
  ANOMALY_WINDOW_TOKENS,
} from '../base/anomaly-defaults.ts'
import {
  CHALLENGE_TTL_SECONDS,
  CONFIG_LIST_ITEMS,
  DECEPTION_BYTES,
  DECEPTION_MS,
  DECEPTIONS,
  EARLY_DROP_RATE_PERCENT,
  EARLY_DROP_START,
  PENALTY_MAX_SECONDS,
  PENALTY_MIN_SECONDS,
  TARPIT_CHUNK_BYTES,
  TARPIT_CHUNKS,
  TARPIT_CONCURRENT,
  TARPIT_DELAY_MS,
  TARPIT_SEND_TIMEOUT_MS,
  UNAUTHENTICATED_CONNECTIONS,
  VI_SWAP_HOLD_SECONDS,
} from '../limits.ts'
import type { ObjectField } from './field-kinds.ts'

const GIB = 1_073_741_824

export const PENALTIES = {
  kind: 'object',
  doc: 'Addresses that misbehave before they have authenticated are kept out for a while, as sshd does it.',
  fields: {
    enabled: { kind: 'boolean', default: true, doc: 'Whether there are penalties at all.' },
    min_seconds: {
      kind: 'integer',
      min: 1,
      max: 86_400,
      default: PENALTY_MIN_SECONDS,
      doc: 'Penalties add up, and begin to count from here on: a single mistake keeps nobody out.',
    },
    max_seconds: {
      kind: 'integer',
      min: 1,
      max: 604_800,
      default: PENALTY_MAX_SECONDS,
      doc: 'The longest time that an address is kept out.',
    },
    exempt: {
      kind: 'list',
      item: {
        kind: 'text',
        format: 'range',
        maxBytes: 49,
        doc: 'A CIDR range, a single address, or `*`.',
      },
      maxItems: CONFIG_LIST_ITEMS,
      default: ['127.0.0.0/8', '::1'],
      doc: 'Sources that are never kept out, and never dropped by lot when too many wait.',
      absent: 'loopback only',
      empty: 'every source can be kept out',
      full: '`["*"]`: no source can be kept out',
    },
    early_drop_start: {
      kind: 'integer',
      min: 1,
      max: UNAUTHENTICATED_CONNECTIONS,
      default: EARLY_DROP_START,
      doc: 'When so many connections wait to authenticate, new ones begin to be dropped by lot.',
    },
    early_drop_percent: {
      kind: 'integer',
      min: 1,
      max: 100,
      default: EARLY_DROP_RATE_PERCENT,
      doc: 'How many of a hundred at first; it grows to all of them as the places fill up.',
    },
  },
} as const satisfies ObjectField

export const DEFENSE = {
  kind: 'object',
  doc: 'What a refused caller gets to see.',
  fields: {
    challenge: {
      kind: 'object',
      doc: 'What a caller must answer whose session has expired, whose address is suspect, or whose command a rule challenges.',
      fields: {
        ttl_seconds: {
          kind: 'integer',
          min: 1,
          max: 3_600,
          default: CHALLENGE_TTL_SECONDS,
          doc: 'How long the answer may take.',
        },
      },
    },
    firewall: {
      kind: 'object',
      doc: 'What a command prints, before its caller reads it (docs/firewall.md). Shapes of tokens, key blocks and known secrets are hidden always.',
      fields: {
        sensitivity: {
          kind: 'choice',
          choices: ['strict', 'standard', 'permissive'],
          default: 'standard',
          doc: 'What counts as a secret by the name that it is assigned to: `strict` takes every random value of such a name, `standard` leaves out short ones of names that say little, `permissive` takes none. And how sure it must be that output gives orders to whoever reads it: `strict` marks from 600 per mille and holds from 800, `standard` from 700 and 900, `permissive` from 800 and 980.',
        },
        files: {
          kind: 'choice',
          choices: ['ask', 'pass'],
          default: 'ask',
          doc: 'What becomes of a file that an agent fetches and that holds what output may not, a secret or orders to whoever reads it: `ask` has an operator release it, `pass` lets it go.',
        },
        flag_permille: {
          kind: 'integer',
          min: 300,
          max: 990,
          default: null,
          nullable: true,
          doc: 'How sure it must be that output gives orders, so that it is marked. null: as `sensitivity` says.',
        },
        block_permille: {
          kind: 'integer',
          min: 500,
          max: 990,
          default: null,
          nullable: true,
          doc: 'How sure it must be that output gives orders, so that it is held until an operator releases it. null: as `sensitivity` says.',
        },
        known_secrets: {
          kind: 'path',
          default: null,
          nullable: true,
          doc: 'A file with secrets of the device, one a line, mode 0600: hidden in plain and in every encoding that is known. null: none beside those that the daemon finds itself.',
        },
        patterns: {
          kind: 'path',
          default: null,
          nullable: true,
          doc: 'A JSON file with more kinds of secrets and more patterns of orders, in the form of firewall/ (docs/firewall.md, "Own patterns"): read again when it changes. null: what ships alone.',
        },
        canaries: {
          kind: 'path',
          default: null,
          nullable: true,
          doc: 'A file with canaries, one a line, mode 0600: values that are planted where nobody has business, and are hidden and reported as critical where a command prints them. null: none beside that of the daemon itself.',
        },
      },
    },
    anomaly: {
      kind: 'object',
      doc: 'What an agent does, against what it usually does and against the plan of its capability set (docs/anomaly.md).',
      fields: {
        enabled: { kind: 'boolean', default: true, doc: 'Whether anybody is watched.' },
        sigma: {
          kind: 'integer',
          min: 2,
          max: ANOMALY_SIGMA_MAX,
          default: ANOMALY_SIGMA,
          doc: 'Standard deviations above its mean from which a measure of an agent is out of the ordinary.',
        },
        consecutive: {
          kind: 'integer',
          min: 1,
          max: 100,
          default: ANOMALY_CONSECUTIVE,
          nullable: true,
          doc: 'Anomalous turns in a row that contain an agent; null: none do, and an operator is told all the same.',
        },
        drift_permille: {
          kind: 'integer',
          min: 1,
          max: 1_000,
          default: ANOMALY_DRIFT_PERMILLE,
          doc: 'The share of its last commands outside of its plan, per mille, above which an agent drifts.',
        },
        window_tokens: {
          kind: 'integer',
          min: 0,
          max: 1_000_000_000,
          default: ANOMALY_WINDOW_TOKENS,
          doc: 'Tokens that the context of an agent holds: at 70, 80 and 88 % of it, four bytes of output to a token, the agent is told, and at the latter two its branch is saved. 0: never. Operators have no such window.',
        },
      },
    },
    tarpit: {
      kind: 'object',
      doc: 'Slow noise for callers that fail to authenticate.',
      fields: {
        mode: {
          kind: 'choice',
          choices: ['drip', 'hold'],
          default: 'drip',
          doc: '`drip` sends the noise; `hold` keeps the connection open and silent for the same time, for links that are paid by the byte.',
        },
        daily_bytes: {
          kind: 'integer',
          min: 0,
          max: Number.MAX_SAFE_INTEGER,
          default: null,
          nullable: true,
          doc: 'Noise of one day for all callers; when it is used up, drip turns to hold. null: no bound.',
        },
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
    localhost: {
      kind: 'object',
      doc: 'Processes of this host that ask for something without authenticating: a few harmless reads are answered with what is not true.',
      fields: {
        enabled: {
          kind: 'boolean',
          default: true,
          doc: 'Whether they are answered at all; otherwise they get noise like everybody else.',
        },
        max_concurrent: {
          kind: 'integer',
          min: 1,
          max: 16,
          default: DECEPTIONS,
          doc: 'Answers at the same time; one more gets noise.',
        },
        seconds: {
          kind: 'integer',
          min: 1,
          max: 60,
          default: DECEPTION_MS / 1_000,
          doc: 'The longest that one answer may take.',
        },
        bytes: {
          kind: 'integer',
          min: 1,
          max: 1_048_576,
          default: DECEPTION_BYTES,
          doc: 'The longest answer.',
        },
      },
    },
    levels: {
      kind: 'object',
      doc: 'The levels of alarm after an incident.',
      fields: {
        automatic: {
          kind: 'boolean',
          default: true,
          doc: 'Whether incidents raise them; operators can in any case.',
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
