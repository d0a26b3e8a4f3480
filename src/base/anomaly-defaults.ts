/**
 * The numbers of the anomaly monitor that a configuration may set otherwise: here, since both the keys of the
 * configuration and the monitor have them.
 * Sources: docs/anomaly.md; JF-084, JF-085, JF-090, JF-092.
 * @module
 */

/** Standard deviations above the mean from which a measure is out of the ordinary (JF-084). */
export const ANOMALY_SIGMA = 3
/** The widest that may be set: 10² of the largest product of a baseline stays below 2^53. */
export const ANOMALY_SIGMA_MAX = 10
/** Anomalous turns in a row that contain an agent (JF-090). */
export const ANOMALY_CONSECUTIVE = 3
/** The share outside of the plan above which an agent drifts (JF-085: 0.30), per mille. */
export const ANOMALY_DRIFT_PERMILLE = 300
/** Tokens that the context of a model holds where nobody says otherwise (JF-092). */
export const ANOMALY_WINDOW_TOKENS = 200_000
