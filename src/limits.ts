/**
 * Every number of the system, with its unit in its name and its source or reason beside it.
 * Two parts: what the specification fixes, and what this implementation chose. Nothing else holds a magic number.
 * @module
 */

// ---- Specification: SASS draft and docs/protocol.md -------------------------------------------------------

/** Draft 4.5: the port of the protocol. */
export const DEFAULT_PORT = 19284
/** Draft 4.3: the application protocol, required on both sides. */
export const ALPN_PROTOCOL = 'x-sakirpc-v5'
/** protocol.md 1: TLS 1.3 suites in the order offered; nothing else is. */
export const TLS_CIPHERS = 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256'
/** protocol.md 1: key exchange groups; the hybrid first, as OpenSSH does today. */
export const TLS_GROUPS = 'X25519MLKEM768:X25519'
/** What a client offers: keys for both groups at once (OpenSSL's asterisk), which spares a device with X25519 alone a round trip. */
export const TLS_GROUPS_OFFERED = '*X25519MLKEM768:*X25519'
/** What a client reads of certificates and handshakes, one for each kind of key; OpenSSL's own list is three times as long. */
export const TLS_SIGNATURES =
  'ed25519:ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:RSA-PSS+SHA256:rsa_pss_pss_sha256:RSA+SHA256'
/** For links where 2.3 KB more in the handshake matter (field-notes 3.1). */
export const TLS_GROUPS_METERED = 'X25519'
/** protocol.md 4: RFC 9266 channel binding. */
export const CHANNEL_BINDING_LABEL = 'EXPORTER-Channel-Binding'
export const CHANNEL_BINDING_BYTES = 32
/** protocol.md 4: the first element of the signed array. */
export const AUTH_CONTEXT = 'SASS-AUTH-v1.4'
export const AUTH_NONCE_BYTES = 16
/** protocol.md 4: enrolment, and keys that follow. A random secret of 112 bits or more may be kept as its hash (NIST SP 800-63B, 5.1.2). */
export const KEY_ROTATION_CONTEXT = 'SASS-KEY-v1.4'
export const KEY_OVERLAP_SECONDS = 86_400
export const ENROLMENT_TOKEN_BYTES = 16
export const ENROLMENT_LINE_CHARS = 4_096
export const ENROLMENT_ADDRESSES = 4
export const INVITATION_SECONDS = 3_600
export const INVITATION_MAX_SECONDS = 604_800
export const INVITATIONS_OPEN = 16
/** How far the clock may have gone back since an invitation was made, for it still to count after a restart. */
export const INVITATION_CLOCK_SLACK_SECONDS = 60
/** protocol.md 5: the exporter of the challenge; 32 bytes are the key, 12 are bound to the ciphertext. */
export const CHALLENGE_LABEL = 'EXPORTER-sakissh-chacha20-v14'
export const CHALLENGE_EKM_BYTES = 44
export const CHALLENGE_KEY_BYTES = 32
export const CHALLENGE_NONCE_BYTES = 12
export const CHALLENGE_PLAINTEXT_BYTES = 64
/** Draft 8.2: how long a challenge may be answered. */
export const CHALLENGE_TTL_SECONDS = 60
/** protocol.md 1: before authentication. */
export const LOGIN_GRACE_MS = 10_000
export const UNAUTHENTICATED_TOTAL_BYTES = 4_096
export const UNAUTHENTICATED_FRAME_BYTES = 1_024
/** protocol.md 2: a 64 KiB chunk and its head. */
export const FRAME_BYTES = 69_632
export const CHUNK_BYTES = 65_536
export const CBOR_DEPTH = 8
export const STREAMS_PER_CONNECTION = 32
/** protocol.md 2: credit of each stream and direction until Authenticate agrees another. */
export const INITIAL_WINDOW_BYTES = 65_536
export const MIN_WINDOW_BYTES = 1_024
export const MAX_WINDOW_BYTES = 1_048_576
/** protocol.md 3: the numbers of the operator's methods, the second one excluded. */
export const OPERATOR_METHODS_FROM = 32
export const OPERATOR_METHODS_TO = 64
/** protocol.md 2: PING of an idle connection, and what counts as dead. */
export const KEEPALIVE_MS = 60_000
export const KEEPALIVE_UNANSWERED = 2
/** protocol.md 2: how far the silence before a PING may grow while every one is answered. */
export const KEEPALIVE_MAX_MS = 300_000
/** protocol.md 3. */
export const EXECUTION_ID_BYTES = 16
export const UNARY_OUTPUT_BYTES = 1_048_576
export const KEPT_RESULTS_PER_KEY = 1_000
export const KEPT_RESULT_MS = 24 * 3_600_000
/** Some 200 bytes a result: twenty callers with a thousand each, and as many again. The oldest go first. */
export const KEPT_RESULTS_BYTES = 8_388_608
/** What is no longer wanted in their file before it is written anew, beyond as much as is wanted. */
export const KEPT_RESULTS_SLACK_BYTES = 262_144
/** More than that file ever has; of a longer one only the end is read. */
export const KEPT_FILE_BYTES = 33_554_432
/** Draft 6.2 and 6.3: the payload gate. */
export const PAYLOAD_PLAIN_BYTES = 5_242_880
export const PAYLOAD_DECODE_MS = 50
/**
 * It is decoded in pieces of so much, and what one of them takes longer than this it has waited for its turn: a hostile
 * piece costs libzstd 3.5 ms, a common one 0.1.
 */
export const PAYLOAD_PIECE_BYTES = 131_072
export const PAYLOAD_PIECE_MS = 5
/** What libzstd may take for a window, as a power of two: PAYLOAD_PLAIN_BYTES is within. */
export const PAYLOAD_WINDOW_LOG = 23
/** Draft 5.2. */
export const SESSION_MAX_SECONDS = 3_600
export const SESSIONS_MAX = 10
/** Live instances of one agent, so that none takes all places; five are those of the sources (JF-051). */
export const SESSIONS_PER_AGENT = 5
/** Draft 6.4: the resumption window of each stream of an execution. */
export const RING_BYTES = 1_048_576
/** Draft 8.3.1: how long the vi screen holds its slot. */
export const VI_SWAP_HOLD_SECONDS = 3_600
/** Draft 8.3.2, 8.3.3 and appendix C.3: the tarpit. */
export const TARPIT_CHUNK_BYTES = 65_536
export const TARPIT_CHUNKS = 640
export const TARPIT_DELAY_MS = 500
export const TARPIT_CONCURRENT = 32
export const TARPIT_SEND_TIMEOUT_MS = 3_000
/** sandbox.md: between SIGTERM and SIGKILL. */
export const TERM_TO_KILL_MS = 2_000

/** responses.md 4: how long a human may take, and how many questions of one session may wait. */
export const CONFIRM_TIMEOUT_SECONDS = 60
export const CONFIRM_PENDING = 3
/** OpenStarry section 3: decisions of one task, before a human must say that it may go on. */
export const TICKS_PER_TASK = 50
/** responses.md 8: how often one agent may try the same that it may not until it is contained, and how long it counts. */
export const VIOLATIONS_TO_CONTAIN = 3
/** And how often it may try whatever it may not. */
export const ANY_VIOLATIONS_TO_CONTAIN = 10
export const VIOLATIONS_KEPT_MS = 24 * 3_600_000
/** responses.md 8, "several": contained agents within that time, after which everybody is stopped. */
export const CONTAINED_TO_HALT = 3
/** responses.md 5: reads of strangers of this host. */
export const DECEPTIONS = 2
export const DECEPTION_MS = 10_000
export const DECEPTION_BYTES = 65_536
/** OpenSSH's PerSourcePenalties: when they begin to count, and the longest. */
export const PENALTY_MIN_SECONDS = 15
export const PENALTY_MAX_SECONDS = 600
/** OpenSSH's MaxStartups 10:30:100, for our own number of places. */
export const EARLY_DROP_START = 64
export const EARLY_DROP_RATE_PERCENT = 30

// ---- Implementation: chosen here, with the reason ---------------------------------------------------------

/** A year: the longest time-out that can be asked for; longer would mean for ever, which has a word of its own. */
export const TIMEOUT_MAX_SECONDS = 31_536_000
/** Items of one CBOR frame: a map of 10^6 keys would cost 0.7 s to build, 4,096 cost under 3 ms. */
export const CBOR_ITEMS = 4_096
/** execve itself refuses more (MAX_ARG_STRLEN is 128 KiB an argument); a command's facts must stay small. */
export const ARGUMENTS_MAX = 4_096
export const ARGUMENT_BYTES = 131_072
export const ENVIRONMENT_MAX = 256
/** PATH_MAX of Linux. */
export const PATH_BYTES = 4_096
export const AGENT_NAME_BYTES = 64
/** Blocks of a Zstd frame: 5 MiB need 40 full ones, and each may bring tables that cost more than what they are for. */
export const ZSTD_BLOCKS = 512
/** A unary answer up to here goes as one END, with its head in one frame. */
export const UNARY_INLINE_BYTES = 61_440
/** Executions in one list: 128 entries with the longest names fit a frame. */
export const LISTED_EXECUTIONS = 128
/** Connections that have not authenticated yet; a half-open one costs about 60 KiB. */
export const UNAUTHENTICATED_CONNECTIONS = 128
export const CONNECTIONS_MAX = 64
/** Executions at once in the whole daemon: two rings each come from the pool made at start. */
export const EXECUTIONS_MAX = 32
/** One read of a pipe; as large as the chunk that carries it. */
export const PIPE_READ_BYTES = 65_536
/**
 * The Zstd frame of one attached output. With these tables and this window one costs 260 KiB where chunks are small and
 * 400 KiB where they are large, and ratios are within 3 % of the library's own tables, which cost 1 MiB.
 */
export const OUTPUT_ZSTD_LEVEL = 3
export const OUTPUT_ZSTD_WINDOW_LOG = 16
export const OUTPUT_ZSTD_TABLE_LOG = 14
/** Such frames in the making at once, under 2 MiB with their chunks. Whoever comes then has its output as it is. */
export const OUTPUT_CODERS = 4
/** What a piece may grow by when nothing of it can be compressed: ZSTD_compressBound, heads of frame and blocks with it. */
export const ZSTD_GROWTH_SHIFT = 8
export const ZSTD_GROWTH_BYTES = 64
/** Less than this goes as it is: the echo of a key would only grow, and text of the first length grows with the head. */
export const CODED_FIRST_BYTES = 128
export const CODED_MIN_BYTES = 64
/** What the link has carried is written down this often while something passes: 24 small writes a day at most. */
export const TRAFFIC_SAVE_MS = 3_600_000
export const TRAFFIC_FILE_BYTES = 1_024
/** 2026-11-20, of these sources: a clock that says less was never set. SOURCE_DATE_EPOCH of a build counts where later. */
export const CLOCK_FLOOR_MS = 1_795_132_800_000
/** The wall clock against the monotonic one from one tick to the next: more than slewing makes of it, and than a tick. */
export const CLOCK_STEP_MS = 2_000
/** A clock that is set all the time makes one record in so much time. */
export const CLOCK_TOLD_EVERY_MS = 60_000
/** format.json of the state directory: two numbers and a version. */
export const STATE_FORMAT_BYTES = 1_024
/** A link below this rate, bytes a second, has output compressed by itself; a handshake tells rates up to some 150,000. */
export const SLOW_LINK_BYTES = 1_000_000
/** A unary answer with more output than this is worth a message of its own, compressed, ahead of its END. */
export const CODED_UNARY_BYTES = 512
/** Whether a piece compresses is judged from so much on, and what does not is followed by so much that is not tried. */
export const CODED_JUDGED_BYTES = 1_024
export const CODED_SKIP_BYTES = 65_536
export const CODED_SKIP_MAX_BYTES = 4_194_304
/** A client reads no frame with a larger window: memory on its side. */
export const DECODED_WINDOW_LOG = 17
/** Drain at SIGTERM: executions that are still running after it are ended. */
export const DRAIN_MS = 5_000
/** sass.edge.json: 1,024 agents take some 200 KB. */
export const CONFIG_BYTES = 1_048_576
/** One value in a line of the log; reasons are one sentence. */
export const LOG_FIELD_CHARS = 256
/** Connect, TLS handshake and Authenticate of a client. */
export const CONNECT_TIMEOUT_MS = 15_000
/** Problems listed of one configuration; more of them say nothing new. */
export const CONFIG_PROBLEMS = 100
/** A service manager that wants to hear of the daemon more often than once a second hears once a second. */
export const WATCHDOG_MIN_MS = 1_000
/** sun_path of a Unix socket is 108 bytes with its NUL (unix(7)). */
export const SOCKET_PATH_BYTES = 107
/** All rings together, two for each execution that may run: they are made at start. */
export const RING_POOL_BYTES = 1_073_741_824
/** A list of a capability set or the allow-list; more belongs into ranges and directories. */
export const CONFIG_LIST_ITEMS = 4_096
/** Entries of what may be reached: a list that a person reads in a minute. */
export const EGRESS_ENTRIES = 256
/** RFC 1035, 2.3.4: a name has 253 characters; `*.` before it and a port after it. */
export const EGRESS_HOST_BYTES = 262
/** Places of a session's network that refused a command, as they are named at its end. */
export const REFUSED_SHOWN = 4
/** RFC 1035, 2.3.4, and some more than an address has. */
export const HOST_NAME_BYTES = 255
/** What the work in a branch has talked to, as far as the end of a look at it names it: 20 KiB of a frame. */
export const LISTED_DESTINATIONS = 64
/** What the gate refused last, as status names it. */
export const LISTED_REFUSED = 16
/** Ports of one entry, and methods of HTTP: RFC 9110 has eight. */
export const EGRESS_PORTS = 64
export const EGRESS_METHODS = 16
/** Agents and capability sets of one configuration, which fits CONFIG_BYTES. */
export const CONFIG_AGENTS = 1_024
/** An Ed25519 seed or public key as the raw bytes that a key file holds. */
export const KEY_FILE_BYTES = 32
/** A TLS key, certificate or CA: a chain of four RSA certificates takes 8 KiB; nobody sends 64 KiB in a handshake. */
export const PEM_FILE_BYTES = 65_536
/** Known devices of one user: 10,000 pins are about 1 MB. */
export const PIN_FILE_BYTES = 1_048_576
/** Names in a user's hosts.json. */
export const HOSTS_FILE_BYTES = 1_048_576
/** How long an expired session without work may still be taken back by its caller. */
export const SESSION_KEPT_EXPIRED_MS = 600_000
/** Bulk output on its way to the sockets of the whole daemon: 32 frames of 68 KiB, of which one connection may hold 2 and a person's echo 1. */
export const OUTPUT_BUFFERS = 32
export const OUTPUT_BUFFERS_PER_CONNECTION = 2
/** How often sessions and idle connections are looked at. */
export const TICK_MS = 1_000
/** Lines of info and warn in one second; what is more is counted. */
export const LOG_LINES_PER_SECOND = 50
/** The log in a file of its own, and the older ones beside it: 5 MiB in all, days of a device that is scanned. */
export const LOG_FILE_BYTES = 1_048_576
export const LOG_FILES_KEPT = 4
/** GET /metrics: a scraper sends 300 bytes and waits 10 s; 130 samples are 16 KB, and must fit one frame as well. */
export const METRICS_HEADER_BYTES = 4_096
export const METRICS_CONNECTIONS = 8
export const METRICS_TIMEOUT_MS = 5_000
export const METRICS_BYTES = 49_152
/** RSA-0: characters of one line of a log. */
export const AUDIT_RECORD_CHARS = 10_000
/** Levels of alarm in one record: names of 64 characters, so that 64 of them are well below AUDIT_RECORD_CHARS. */
export const LEVELS_TOLD = 64
/** What has happened while the disk took no records: ends of commands and sessions, about 0.5 KB each. */
export const HELD_RECORDS = 1_024
/**
 * Records in a row that a later one's signature stands for, and how long the last one waits for one: a command has two,
 * and a signature costs as much as all else of both.
 */
export const UNSIGNED_RECORDS = 16
export const SIGN_MS = 20
/** One record of the audit chain when it is read; ours are under 1 KiB. */
export const AUDIT_LINE_BYTES = 65_536
/** responses.md 7: an epoch is over after so many records or seconds, and its key is erased. */
export const AUDIT_EPOCH_RECORDS = 1_000
export const AUDIT_EPOCH_SECONDS = 3_600
/** responses.md 7: what is written outlives a loss of power after at most so long. */
export const AUDIT_SYNC_MS = 200
/**
 * What one decision may cost: steps of some 50 ns, so that no request holds up the others for more than 20 ms; text that
 * is put together on the way, and levels within one another.
 */
export const DECISION_STEPS = 256_000
export const DECISION_BYTES = 1_048_576
export const DECISION_DEPTH = 256
/** What one decision was made from: a payload of PAYLOAD_PLAIN_BYTES, with every path in it looked up. */
export const FACTS_BYTES = 33_554_432
/** Sessions whose sealing keys are at hand; another one that comes back gets a new key. */
export const SEALING_KEYS = 64
/** What the record may take up, sealed facts included, before its oldest files go: some 200,000 commands. */
export const AUDIT_KEEP_BYTES = 268_435_456
/**
 * What one agent may fill of that in a day, as a part of it: some 50,000 commands, and three of them leave a day of
 * history. A record is its line in the chain, some 900 bytes, and its sealed facts.
 */
export const RECORD_SHARE_PARTS = 4
export const RECORD_SHARE_MS = 86_400_000
/**
 * What an agent's next request waits for at most, when its share is nearly full. So long a usual record takes to come
 * back out of the share, with the shipped size: commands one after the other go on for days, and a ^C is not late.
 */
export const RECORD_PACE_MS = 2_000
/** A record of a command with all that it says: signature, digests, where it ran. */
export const RECORD_LINE_BYTES = 1_152
/** An answer of a time-stamping authority with its certificates is some 6 KB; how long it may take. */
export const TIME_STAMP_BYTES = 65_536
export const TIME_STAMP_MS = 15_000
/** Evidence of one session: its records, facts and the policies of its time. */
export const EVIDENCE_BYTES = 268_435_456
export const BRANCH_FILES = 1_000_000
/** As shipped, the largest file of a command is no smaller than this, however full the disk is. */
export const FILE_BYTES_LEAST = 16_777_216
/**
 * What the reserve holds for the record and for clearing away when the disk is full: some 5,000 commands at 3 KB each.
 * It is given back in pieces of some ten records, and is never more than an eighth of its file system.
 */
export const RESERVE_BYTES = 16_777_216
/** What a drop or a purge may write before its files go: records, a directory, a journal. */
export const CLEARING_BYTES = 262_144
/** Room that is kept for the record: with less of it free, only what reads goes on. */
export const AUDIT_RESERVE_BYTES = 1_048_576
/**
 * SD Physical Layer Specification, 4.6.2.2: no card may take longer than 500 ms for a write, and keeping a record takes
 * at most ten (data, journal and its end, directory). A disk that needs more is failing, or has more to do than it can.
 */
export const AUDIT_SLOW_MS = 5_000
/** Linux gives up a command to a disk after 30 s (SD_TIMEOUT of drivers/scsi/sd.h): what takes longer may never come. */
export const AUDIT_STALLED_MS = 30_000
/** A file of the chain is closed at this size; some 10,000 records. */
export const AUDIT_SEGMENT_BYTES = 8_388_608
/** How often a draining daemon looks whether everything has ended. */
export const DRAIN_POLL_MS = 20
/** protocol.md 2: what waits on the link should drain in about this time; with the round trip it is some 0.7 s. */
export const WINDOW_TARGET_SECONDS = 0.5
/** What a handshake takes both ways with the hybrid key exchange, and without; the device's certificate is 300 of it. */
export const HANDSHAKE_HYBRID_BYTES = 3_150
export const HANDSHAKE_X25519_BYTES = 850
/** A handshake that takes no longer than this beyond its round trip tells nothing: a small board computes as long. */
export const LINK_NOISE_MS = 20
/** Satellites take 600 ms; beyond this it was no round trip but a repetition. */
export const ROUND_TRIP_MAX_MS = 2_000
/** On a slow link output is cut into messages of a fraction of the window, but not into less: each costs some 30 bytes. */
export const CHUNK_MIN_BYTES = 512
/** One page: no pipe holds less (fcntl(2), F_SETPIPE_SZ). */
export const PIPE_MIN_BYTES = 4_096
/** Bytes of stdin that a client library keeps while it has no credit; its writer is told to wait before. */
export const CLIENT_STDIN_BYTES = 1_048_576
/** The launcher starts in some 30 ms and takes 6 MiB: it stays while callers come one after the other. */
export const SPAWNER_IDLE_MS = 10_000
/** Loading the rules takes some 50 ms and they take 10 MiB: they stay over the pauses of a day of work. */
export const POLICY_IDLE_MS = 600_000
/** Directories of its caller's PATH that `init` lists to be read: nobody looks through more. */
export const CALLER_PLACES_MAX = 16
/** Settings of git that `init` looks through: people write some hundred bytes. */
export const GIT_SETTINGS_BYTES = 65_536
/** All sessions together, in processes of one. */
export const SESSIONS_PROCESSES_FACTOR = 4
/** A build on eight cores has some hundred; a fork bomb stops here. */
export const SESSION_PROCESSES = 2_048
/** A workspace that is copied for each session: some seconds on the flash of a board. */
export const COPY_BYTES = 268_435_456
/** Branches that wait for a decision: whoever never decides must not fill the disk with directories. */
export const BRANCHES_MAX = 256
/** Of them, those that agents cannot take: whoever clears up needs one to look around in. */
export const BRANCHES_RESERVED = 16
/** An idle daemon looks this often whether there is garbage, and takes out no less than this: it costs some 10 ms. */
export const TRIM_INTERVAL_MS = 5_000
/** A start takes some 150 ms; a caller who was waiting for it has come by then. */
export const FIRST_TRIM_MS = 1_500
export const IDLE_GARBAGE_BYTES = 2_097_152
/** A TLS record: what is written at once from here on gains nothing from waiting for more. */
export const BULK_WRITE_BYTES = 16_384
/** An ended connection that its peer does not end as well, or does not read to the end, is reset after this. */
export const END_LINGER_MS = 5_000
/** Output of which the end was told so lately outlives its session: its client may have lost the link, and comes back within a minute. */
export const TOLD_LINGER_MS = 60_000
/** How long a record of what has happened waits for its turn. */
export const SPARE_TIME_MS = 1
/** Failed proofs of identity with a record each; more are counted. At most 60 KB of audit a minute come from strangers. */
export const FAILED_PROOFS_PER_MINUTE = 60
/** Refusals of one known caller with a record each, under 1 MB of audit a minute; what is more is counted. */
export const REFUSALS_PER_MINUTE = 1_000
export const REFUSALS_RECORD_MS = 60_000
/**
 * Answers of one connection that the kernel has not taken: with so many of them nothing more is read of it. One that
 * waits costs some 4 KiB beside its own with what it took to answer: 16 of the smallest requests in one turn, 2 ms of
 * work. With 60 of them five connections filled a young generation of 2 MiB, and all of it grew old.
 */
export const UNREAD_ANSWERS_BYTES = 65_536
export const UNREAD_ANSWER_COST_BYTES = 4_096
/** Challenges of one caller in a minute: a link that breaks needs a few, a machine that tries needs thousands. */
export const CHALLENGES_PER_MINUTE = 10
/** Commands that wait for their turn, of all callers; each holds a request of at most one frame. */
export const QUEUE_PLACES = 64
/** What a human is shown of a command, as JSON; what is longer cannot be judged by looking at it, and is refused. */
export const SHOWN_BYTES = 4_096
/** Questions in one answer to an operator: they fit a frame. */
export const LISTED_CONFIRMATIONS = 12
/** Decisions that can still be explained in full, and what is kept of a command for it. */
export const EXPLAINED_DECISIONS = 256
export const EXPLAINED_CHARS = 512
/** Where used paths of a command are looked up for symbolic links; more of them are judged as they are written. */
export const RESOLVED_PATHS = 64
/** Tasks of a session whose ticks are counted; the oldest is forgotten. */
export const TASKS_PER_SESSION = 64
/** Entries of a list for operators; the strictest or the newest come first. */
export const LISTED_ENTRIES = 128
/**
 * What the kernel counts by user: a command gets half of the daemon's own limit and no more than this, which are half of
 * the usual defaults (getrlimit(2), mq_overview(7)) and some thousand signals that wait.
 */
export const COMMAND_LOCKED_BYTES = 4_194_304
export const COMMAND_QUEUE_BYTES = 409_600
export const COMMAND_PENDING_SIGNALS = 4_096
/** One file of rules: some thousand rules with their examples. */
export const RULES_FILE_BYTES = 4_194_304
/** What a request may hold that waits for a challenge, a turn or a human: with all places taken some 4 MiB. */
export const PARKED_BYTES = 65_536
/** execve(2): a quarter of the usual stack of 8 MiB for strings and their pointers; what is longer would be E2BIG. */
export const PROGRAM_ARGUMENTS_BYTES = 2_097_152
/** Questions of one session to a human in a minute: who withdraws and asks again is not asked about for ever. */
export const QUESTIONS_PER_MINUTE = 30
/** What may be typed into a command that has not begun: the credit that the command line starts with. */
export const PARKED_STDIN_BYTES = 262_144
/** Transfers of one caller at once, and of all: each holds one open file and at most its window. */
export const TRANSFERS_PER_CALLER = 4
export const TRANSFERS_MAX = 32
/** A directory's list as one transfer. */
export const LISTED_FILES = 65_536
export const LISTING_BYTES = 8_388_608

// ---- Branches: diff and merge -----------------------------------------------------------------------------

/** Paths in each of the two lists of an answer about a merge, which together fill half a frame. */
export const TOLD_PATHS = 256
/** Paths that one request may name: they fit a frame. */
export const NAMED_PATHS = 1_024
/** Bytes of the name that somebody gives a checkpoint. */
export const CHECKPOINT_LABEL_BYTES = 256
/** Checkpoints of one branch, each a copy of what was changed in it. */
export const LISTED_CHECKPOINTS = 128
/** How long a branch that is merged completely is kept, so that its merge can be taken back. */
export const MERGED_KEPT_MS = 24 * 3_600_000
/** Signals of one execution that are not delivered a second time: what a client could not hear of before its link broke. */
export const SIGNALS_REMEMBERED = 16
/** One handoff as it is sent, in bytes of JSON (some 2,000 tokens), and as it is delivered with what is added. */
export const HANDOFF_BYTES = 8_192
export const DELIVERED_BYTES = 16_384
/** How long a handoff is kept, taken or not: as results are. */
export const HANDOFF_KEPT_MS = 24 * 3_600_000
/** JF-021: 850 tokens, estimated as bytes divided by 4. */
export const POLICY_DIGEST_BYTES = 3_400
/** Between looks at a socket that the last child of a killed daemon may hold until its exec: a moment, on a busy machine more. */
export const LEFT_OVER_PAUSES_MS: readonly number[] = [50, 100, 200, 400]
