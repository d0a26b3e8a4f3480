/**
 * Numbers of the output firewall, each with its unit and its source or reason.
 * @module
 */

/** Kinds of secrets, and key words of all of them. */
export const SECRET_KINDS = 1_000
export const KEY_WORDS = 4_000
/** A key word that is shorter would be found in every line. */
export const KEY_WORD_LEAST_BYTES = 2
export const KEY_WORD_MOST_BYTES = 64
/** Parts of a shape, and bytes of one part. */
export const SHAPE_PARTS = 24
export const SHAPE_RUN_BYTES = 2_048
/** How far a secret's end may be from its key word: what is not decided by then is none. */
export const SECRET_REACH_BYTES = 4_096
/** The word at the end of what has come that is kept until it is whole. */
export const WORD_KEPT_BYTES = 128
/** A name, and what may be between it and its value. */
export const NAME_REST_BYTES = 40
export const VALUE_BYTES = 256
/** A value that nobody knows a shape of is a secret from so many bytes on, where it is random enough. */
export const SECRET_LEAST_BYTES = 8
export const PASSWORD_LEAST_BYTES = 6
/** A key block: RFC 7468; an RSA key of 16,384 bits has 12,600. */
export const KEY_BLOCK_BYTES = 32_768
/** What may stand before each line of one: a path and a number, as `grep -rn` prints them. */
export const LINE_PREFIX_BYTES = 128
/** How far `-u` may be from its `curl`. */
export const CURL_LINE_BYTES = 512
/** How far `data:` may be from its `apiVersion:`. */
export const DOCUMENT_BYTES = 4_096
/** The head of a JSON Web Token (RFC 7519): a certificate may be in it. */
export const JSON_HEAD_BYTES = 2_048
/** What one pass works on at once: a read of a pipe, and what the pass before has kept. */
export const SCREEN_WORK_BYTES = 98_304
/** A control sequence: what is longer is text. */
export const CONTROL_BYTES = 64
/** One that holds a string: terminals take links of 2,083 bytes. */
export const CONTROL_STRING_BYTES = 2_304
/**
 * Control sequences that wait for the text before them to go on, and their bytes: twice of each at the most, and then they
 * go on before it.
 */
export const CONTROLS_KEPT = 1_024
export const CONTROLS_KEPT_BYTES = 16_384
/** Secrets of one stream that the sealed record keeps, and the bytes of each. */
export const SECRETS_REMEMBERED = 16
export const SECRET_REMEMBERED_BYTES = 256
/**
 * How long output is kept back while nothing more comes: what may be the beginning of a key word for as long as a program
 * takes between two writes, a value that has begun for two frames of a screen, and a token for as long as whoever waits
 * for it can.
 */
export const OUTPUT_PAUSES_MS = { moment: 2, while: 30, long: 500 } as const
/** Output that still comes is kept to be judged for as long as a screen takes to show two pictures. */
export const OUTPUT_FLOW_MS = 32
/** How many times longer than what came what goes on may be: the shortest secrets, one beside the other. */
export const SCREENED_GROWTH = 4
/** Secrets that the device knows, all of them; each is some fifteen key words of the table. */
export const KNOWN_SECRETS = 64
export const KNOWN_LEAST_BYTES = 8
export const KNOWN_MOST_BYTES = 1_024
/** What of a known secret is a key word. */
export const KNOWN_KEY_BYTES = 8
/** Files of settings that are looked through for known secrets, and their size. */
export const SETTINGS_FILES = 16
export const SETTINGS_FILE_BYTES = 65_536
/** How often it is asked whether they have changed, where commands run. */
export const KNOWN_LOOK_MS = 5_000
/** The operator's file of kinds and patterns. */
export const OWN_PATTERNS_BYTES = 1_048_576
/** Kinds that one record names: it is at most 10,000 characters. */
export const REDACTED_KINDS = 32
