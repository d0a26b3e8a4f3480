/**
 * Numbers of the anomaly monitor, each with its unit and its source or reason.
 * @module
 */

/** Agents whose baselines are kept, as many as a configuration usually lists; who was quiet longest is forgotten. */
export const AGENTS_WATCHED = 64
/** Sessions of which the fill is followed at the same time: more than a daemon may have. */
export const SESSIONS_FILLED = 1_024
/** Turns before a baseline counts: the usual number from which a mean is taken to be normally distributed. */
export const CALIBRATED_TURNS = 30
/** Turns that a baseline weighs; then the older half of its weight goes. Keeps every product below 2^53. */
export const BASELINE_TURNS = 512

/** Steps within one doubling of an amount: amounts are compared by their logarithm. */
export const STEPS_PER_DOUBLING = 16
/** The largest step: 54 doublings are all that an integer has. */
export const STEP_MAX = 1_024
/** A baseline that never varied is taken to vary by one doubling. */
export const AMOUNT_SPREAD = STEPS_PER_DOUBLING
/** The same of a share, in per mille. */
export const SHARE_SPREAD = 100

/** What "lately" is: the minute of "turns a minute", in milliseconds. */
export const LATELY_MS = 60_000
/** Rates and shares enter their baselines at most this often, in milliseconds: else a burst would be its own measure. */
export const LEARN_MS = 5_000
/** Turns of the last minute that are told apart; so many, and more, are one rate. */
export const LATELY_TURNS = 512
/** More bytes of one turn are as many: LATELY_TURNS times this is below 2^53. */
export const TURN_BYTES_MAX = 2 ** 43
/** Turns of which the share of failures is taken. */
export const FAILURE_TURNS = 20

/** Below these nothing is out of the ordinary, whatever came before. Turns a minute: three a second, all the time. */
export const LEAST_FREQUENCY = 180
/** Bytes of one output, and of a minute: twenty times what the default window of 200,000 tokens holds. */
export const LEAST_VOLUME_BYTES = 16_777_216
export const LEAST_FILL_BYTES = 16_777_216
/** Failures of the last FAILURE_TURNS, per mille: broken tests that are worked on stay below it. */
export const LEAST_FAILURES_PERMILLE = 900

/** An output more than so many times the largest of the baseline is beyond it, calibrated or not (JF-R31). */
export const LARGEST_TIMES = 2
/** Turns before there is a largest to speak of. */
export const LARGEST_TURNS = 5
/** Refusals in a row: more are an alert (JF-R31). */
export const REFUSALS_IN_ROW = 3
/** Commands in a row that end with another code than 0: more are an alert. Searches and tests fail for a living. */
export const EXITS_IN_ROW = 20
/** Measures that must be beyond at once to make a turn anomalous: one alone is told and contains nobody. */
export const MEASURES_AT_ONCE = 2

/** Commands of which the share outside of the plan is taken, and the fewest that say anything. */
export const DRIFT_COMMANDS = 20
export const DRIFT_LEAST_COMMANDS = 5
/** Commands in a row outside of the plan: so many are noticed whatever the share is (JF-T04). */
export const DRIFT_IN_ROW = 3

export const BYTES_PER_TOKEN = 4
/** Per mille of the window at which the agent is told; from the second one on its branch is saved (JF-092). */
export const FILL_STEPS: readonly number[] = Object.freeze([700, 800, 880])

/** The baselines of AGENTS_WATCHED agents as JSON: some 400 bytes each. */
export const BASELINES_FILE_BYTES = 65_536

/** Anomalies that a replay waits for: a daemon records them before its next turn of the loop. */
export const ANOMALIES_AWAITED = 256
