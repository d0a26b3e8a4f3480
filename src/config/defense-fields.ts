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
import { boolean, choice, integer, list, object, pathOr, text } from './field-kinds.ts'

const GIB = 1_073_741_824

export const PENALTIES = object(
  'Addresses that misbehave before they have authenticated are kept out for a while, as sshd does it.',
  {
    enabled: boolean(true, { doc: 'Whether there are penalties at all.' }),
    min_seconds: integer(1, 86_400, PENALTY_MIN_SECONDS, {
      doc: 'Penalties add up, and begin to count from here on: a single mistake keeps nobody out.',
    }),
    max_seconds: integer(1, 604_800, PENALTY_MAX_SECONDS, {
      doc: 'The longest time that an address is kept out.',
    }),
    exempt: list(
      text('range', 49, { doc: 'A CIDR range, a single address, or `*`.' }),
      CONFIG_LIST_ITEMS,
      ['127.0.0.0/8', '::1'],
      {
        doc: 'Sources that are never kept out, and never dropped by lot when too many wait.',
        absent: 'loopback only',
        empty: 'every source can be kept out',
        full: '`["*"]`: no source can be kept out',
      },
    ),
    early_drop_start: integer(1, UNAUTHENTICATED_CONNECTIONS, EARLY_DROP_START, {
      doc: 'When so many connections wait to authenticate, new ones begin to be dropped by lot.',
    }),
    early_drop_percent: integer(1, 100, EARLY_DROP_RATE_PERCENT, {
      doc: 'How many of a hundred at first; it grows to all of them as the places fill up.',
    }),
  },
)

export const DEFENSE = object('What a refused caller gets to see.', {
  challenge: object(
    'What a caller must answer whose session has expired, whose address is suspect, or whose command a rule challenges.',
    {
      ttl_seconds: integer(1, 3_600, CHALLENGE_TTL_SECONDS, { doc: 'How long the answer may take.' }),
    },
  ),
  firewall: object(
    'What a command prints, before its caller reads it (docs/firewall.md). Shapes of tokens, key blocks and known secrets are hidden always.',
    {
      sensitivity: choice(['strict', 'standard', 'permissive'], 'standard', {
        doc: 'What counts as a secret by the name that it is assigned to: `strict` takes every random value of such a name, `standard` leaves out short ones of names that say little, `permissive` takes none. And how sure it must be that output gives orders to whoever reads it: `strict` marks from 600 per mille and holds from 800, `standard` from 700 and 900, `permissive` from 800 and 980.',
      }),
      files: choice(['ask', 'pass'], 'ask', {
        doc: 'What becomes of a file that an agent fetches and that holds what output may not, a secret or orders to whoever reads it: `ask` has an operator release it, `pass` lets it go.',
      }),
      flag_permille: integer(300, 990, null, {
        doc: 'How sure it must be that output gives orders, so that it is marked. null: as `sensitivity` says.',
      }),
      block_permille: integer(500, 990, null, {
        doc: 'How sure it must be that output gives orders, so that it is held until an operator releases it. null: as `sensitivity` says.',
      }),
      known_secrets: pathOr(null, {
        doc: 'A file with secrets of the device, one a line, mode 0600: hidden in plain and in every encoding that is known. null: none beside those that the daemon finds itself.',
      }),
      patterns: pathOr(null, {
        doc: 'A JSON file with more kinds of secrets and more patterns of orders, in the form of firewall/ (docs/firewall.md, "Own patterns"): read again when it changes. null: what ships alone.',
      }),
      canaries: pathOr(null, {
        doc: 'A file with canaries, one a line, mode 0600: values that are planted where nobody has business, and are hidden and reported as critical where a command prints them. null: none beside that of the daemon itself.',
      }),
    },
  ),
  anomaly: object(
    'What an agent does, against what it usually does and against the plan of its capability set (docs/anomaly.md).',
    {
      enabled: boolean(true, { doc: 'Whether anybody is watched.' }),
      sigma: integer(2, ANOMALY_SIGMA_MAX, ANOMALY_SIGMA, {
        doc: 'Standard deviations above its mean from which a measure of an agent is out of the ordinary.',
      }),
      consecutive: integer(1, 100, ANOMALY_CONSECUTIVE, {
        nullable: true,
        doc: 'Anomalous turns in a row that contain an agent; null: none do, and an operator is told all the same.',
      }),
      drift_permille: integer(1, 1_000, ANOMALY_DRIFT_PERMILLE, {
        doc: 'The share of its last commands outside of its plan, per mille, above which an agent drifts.',
      }),
      window_tokens: integer(0, 1_000_000_000, ANOMALY_WINDOW_TOKENS, {
        doc: 'Tokens that the context of an agent holds: at 70, 80 and 88 % of it, four bytes of output to a token, the agent is told, and at the latter two its branch is saved. 0: never. Operators have no such window.',
      }),
    },
  ),
  tarpit: object('Slow noise for callers that fail to authenticate.', {
    mode: choice(['drip', 'hold'], 'drip', {
      doc: '`drip` sends the noise; `hold` keeps the connection open and silent for the same time, for links that are paid by the byte.',
    }),
    daily_bytes: integer(0, Number.MAX_SAFE_INTEGER, null, {
      doc: 'Noise of one day for all callers; when it is used up, drip turns to hold. null: no bound.',
    }),
    chunk_bytes: integer(1, TARPIT_CHUNK_BYTES, TARPIT_CHUNK_BYTES, { doc: 'Noise in one write.' }),
    total_bytes: integer(1, GIB, TARPIT_CHUNK_BYTES * TARPIT_CHUNKS, {
      doc: 'Noise for one caller in all, at least chunk_bytes.',
    }),
    delay_ms: integer(1, 60_000, TARPIT_DELAY_MS, { doc: 'Pause between two writes.' }),
    max_concurrent: integer(0, 1_024, TARPIT_CONCURRENT, {
      doc: 'Callers held at the same time; beyond it, and with 0 always, the connection is reset.',
    }),
    send_timeout_ms: integer(1, 60_000, TARPIT_SEND_TIMEOUT_MS, {
      doc: 'A write that is not taken within this time ends the connection.',
    }),
  }),
  vi_swap: object('The editor screen that an agent gets in place of a refusal.', {
    hold_seconds: integer(1, 86_400, VI_SWAP_HOLD_SECONDS, {
      doc: 'How long the screen keeps its slot before the stream ends.',
    }),
  }),
  localhost: object(
    'Processes of this host that ask for something without authenticating: a few harmless reads are answered with what is not true.',
    {
      enabled: boolean(true, {
        doc: 'Whether they are answered at all; otherwise they get noise like everybody else.',
      }),
      max_concurrent: integer(1, 16, DECEPTIONS, { doc: 'Answers at the same time; one more gets noise.' }),
      seconds: integer(1, 60, DECEPTION_MS / 1_000, { doc: 'The longest that one answer may take.' }),
      bytes: integer(1, 1_048_576, DECEPTION_BYTES, { doc: 'The longest answer.' }),
    },
  ),
  levels: object('The levels of alarm after an incident.', {
    automatic: boolean(true, { doc: 'Whether incidents raise them; operators can in any case.' }),
  }),
  deny_response: choice(['vi_swap', 'reason'], 'vi_swap', {
    doc: '`vi_swap` shows the screen; `reason` tells the agent why instead: for a lab, since it helps an attacker.',
  }),
})
