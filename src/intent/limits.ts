/**
 * Every number of work that arrives signed, with its unit in its name and its source or reason beside it.
 * @module
 */

// ---- Envelopes and the vault ------------------------------------------------------------------------------

/** Arrays and objects inside one another, the envelope itself included; as every other JSON here. */
export const ENVELOPE_DEPTH = 64
/** Values in one envelope: texts may be long, but what is looked at one by one is bounded (32,768 take some 20 ms). */
export const ENVELOPE_VALUES = 32_768
/** What a text for people may have; it is shown and never read. */
export const HUMAN_READABLE_CHARS = 4_096
/** How old an envelope may be: a stick that travels for some weeks. */
export const ENVELOPE_AGE_MS = 30 * 86_400_000
/** How far the sender's clock may be ahead of ours. */
export const ENVELOPE_AHEAD_MS = 300_000
/** A template or a capability set, opened; and what all of a vault take together in memory. */
export const VAULT_ENTRY_BYTES = 1_048_576
export const VAULT_BYTES = 16_777_216
export const VAULT_ENTRIES = 256
/** Header and chunks of age around an entry: some 200 bytes a recipient and 16 for each 64 KiB. */
export const VAULT_SEALED_BYTES = 1_114_112
/** A manifest is some 300 bytes. */
export const MANIFEST_BYTES = 4_096
/** An age identity file with its comments. */
export const AGE_IDENTITY_BYTES = 4_096
/** Names on a list of a template, actions and tools of a capability set, versions of one id. */
export const LISTED_NAMES = 1_024
/** Values in a JSON Schema and levels of it: a form for people has some hundred fields. */
export const SCHEMA_VALUES = 4_096
export const SCHEMA_DEPTH = 16
/** Recipients of one age file; the format has no bound, and each costs whoever opens it a millisecond. */
export const AGE_RECIPIENTS = 128
/** Identities in the file of a vault: the present one and some earlier ones. */
export const AGE_IDENTITIES = 8
/** The key that follows a dispatcher's, with its statement: some 400 bytes. */
export const STATEMENT_BYTES = 4_096
