/**
 * The numbers of the gate to the network: how much it remembers, lets wait and lets through. Each with its unit and its
 * source.
 * @module
 */

import { LISTED_REFUSED } from '../limits.ts'

/** RFC 1035, 2.3.4: a label, and a whole name without its last dot. */
export const LABEL_BYTES = 63
export const HOST_NAME_CHARS = 253
/** Ports of an entry that names none, and those that are always listened on. */
export const PLAIN_PORT = 80
export const TLS_PORT = 443
/** Ports on which nothing but TLS is spoken; the second as IANA's registry and every second tool has it. */
export const TLS_PORTS: readonly number[] = Object.freeze([TLS_PORT, 8443])
/** A list is read by a person. */
export const ENTRIES_MAX = 1_024
export const ENTRY_PORTS_MAX = 64
/** Two listeners each, IPv4 and IPv6. */
export const LISTENED_PORTS_MAX = 64
/** Addresses with a port that a list has for datagrams: each is a socket in every session. A plant has a few servers. */
export const DATAGRAM_PLACES_MAX = 16
/** Where a session asks for names. */
export const NAMES_ADDRESS = '127.0.0.1'
export const NAMES_PORT = 53
export const ENTRY_METHODS_MAX = 16
export const METHOD_CHARS = 16

/** The names of a session that have an address; the one that was asked for longest ago makes room for a new one. */
export const NAMES_MAX = 1_000
/** 127.64.0.0/10: the addresses that stand for names. */
export const STAND_IN_FIRST = 0x7f40_0001
export const STAND_IN_LAST = 0x7f7f_fffe
export const ANSWER_TTL_SECONDS = 60
/** A program may keep an answer a little longer than it lives: its address stays so long. */
export const STAND_IN_KEPT_MS = 120_000
/** RFC 1035, 2.3.4 is 512; a question with EDNS and a cookie has some 100. */
export const QUESTION_BYTES = 512
/** A build that begins asks for the same few names from many processes at once, and then no more. */
export const QUESTIONS_PER_SECOND = 32
export const QUESTIONS_BURST = 128

/** A browser opens 6 to a host, npm 15 to one; what exceeds it waits in the kernel's queue. */
export const CONNECTIONS_MAX = 256
/** Of all sessions, with 64 KiB each. */
export const CONNECTIONS_TOTAL_MAX = 1_024
/** Each is a line in the record and a fifth of a millisecond of the daemon's. */
export const CONNECTIONS_PER_SECOND = 128
export const CONNECTIONS_BURST = 512
/** RFC 4787 section 4.3 wants two minutes of whoever translates addresses; NTP and CoAP have answered in some seconds. */
export const FLOW_IDLE_MS = 60_000
/** Of one session, both ways together: each takes some 20 us of the daemon's, so that is a twenty-fifth of a processor. */
export const DATAGRAMS_PER_SECOND = 2_000
export const DATAGRAMS_BURST = 512
/** Of all sessions together: a sixth of a processor. */
export const DATAGRAMS_TOTAL_PER_SECOND = 8_000
export const DATAGRAMS_TOTAL_BURST = 2_048
/** Of a connection, one for each way; the kernel's own are beside them. */
export const RELAY_BUFFER_BYTES = 32_768
/** What may be read and held back while it is not known whether it may pass. */
export const CLIENT_HELLO_BYTES = 16_384
/** Records that it may come in; OpenSSL makes one, nobody more than two. */
export const CLIENT_HELLO_RECORDS = 16
/** As nginx and Apache have it for all lines of a head. */
export const HTTP_HEAD_BYTES = 16_384
export const HTTP_HEAD_LINES = 128
/** The line with the size of a chunk, extensions included. */
export const CHUNK_LINE_BYTES = 256
/** 2^48 bytes and more are no size that anybody sends. */
export const LENGTH_DIGITS = 14
export const CHUNK_DIGITS = 12
/** What a client says first it says within this. */
export const FIRST_BYTES_MS = 10_000
/** A connection that one side has ended, and over which nothing comes any more. */
export const HALF_CLOSED_MS = 120_000
/** All addresses of a name together, and each while others are left. */
export const CONNECT_MS = 15_000
export const CONNECT_EACH_MS = 3_000
export const ADDRESSES_TRIED = 4
/** resolv.conf(5): five seconds, twice. */
export const RESOLVE_MS = 10_000
export const RESOLVE_TRY_MS = 2_500
/** A name that is connected to again and again is not looked up each time. */
export const RESOLVED_KEPT_MS = 5_000
export const RESOLVED_MAX = 256
/** /etc/hosts of a device; more is not read. */
export const HOSTS_FILE_BYTES = 262_144

/** Humans have one question at a time in front of them. */
export const ASKED_MAX = 3
/** After a no, or none, the same is not asked again so soon. */
export const DENIAL_KEPT_MS = 300_000
/** Names and places that somebody has agreed to. */
export const GRANTS_MAX = 256
/** One line a minute for the same refusal, with how many there were. */
export const REFUSAL_EVERY_MS = 60_000
export const REFUSALS_MAX = 256
/** Of them a branch keeps sums. */
export const DESTINATIONS_MAX = 256
/** The file with these sums: 256 lines with the longest names, and some more. */
export const TALKED_TO_BYTES = 131_072
/** So much later it is written: what follows at once is written with it. */
export const TALKED_TO_MS = 2_000
/** What was refused last: of all sessions, for an operator, and of one, for its next command that fails. */
export const REFUSED_KEPT = LISTED_REFUSED
export const REFUSED_TOLD = 32
export const HOUR_MS = 3_600_000
/** What a connection may pass before it asks for more, where its entry has a budget. */
export const LEASE_BYTES = 1_048_576

/** The thread that passes bytes: starts in some 20 ms and takes 5 to 9 MiB; it stays while connections come and go. */
export const RELAY_IDLE_MS = 5_000
export const RELAY_HEAP_MIB = 24
/** nice(2): where a processor is shared, the daemon itself comes first. */
export const RELAY_NICE = 5
/** A server that is gone without a word is found out; Linux asks nine times, 75 seconds apart. */
export const KEEPALIVE_MS = 60_000
/** What was held back is looked at again after so long at the soonest: each look opens every listener anew. */
export const HOLD_MIN_MS = 100
