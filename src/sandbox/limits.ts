/**
 * The numbers of the sandbox that nobody else asks for: how long it waits for what, how much it looks at, what its threads
 * have. Each with its unit and its source; those that other rooms or the configuration know are in src/limits.ts.
 * @module
 */

/** Bytes written to a command's stdin and not yet taken by its pipe; the largest credit window fits. */
export const STDIN_QUEUE_BYTES = 1_048_576
/** A branch of a session, as shipped: a large project with all of its packages is 1 to 3 GB in some 300,000 files. */
export const BRANCH_BYTES = 4_294_967_296
/** The disk is asked so often that a writer of this speed (a page cache takes 2 GB/s) is seen at its bound; but so often. */
export const WATCHED_BYTES_PER_MS = 2_097_152
/** As many files are made by one program on a fast disk. */
export const WATCHED_FILES_PER_MS = 100
export const WATCH_MIN_MS = 4
export const WATCH_MAX_MS = 250
/** Whatever is free, a branch that changes is counted again after so long; a count takes at most a part of the time. */
export const RECOUNT_MS = 2_000
export const RECOUNT_SHARE = 20
/** Names that are looked at before the daemon does something else, some 2 ms; directories beneath each other that are. */
export const COUNTED_AT_ONCE = 512
export const COUNTED_DEPTH = 128
/** On a disk that is nearly full nobody is ended who has taken less than this. */
export const LOW_GROWTH_BYTES = 1_048_576
/** What a process left in the background may hold an output open for, in silence, after the program has ended. */
export const OUTPUT_SILENCE_MS = 100
/** A terminal does not tell when it takes typed bytes again: ask this often. */
export const TERMINAL_WRITE_RETRY_MS = 10
/** execve(2): three quarters of 8 MiB for strings and their pointers is the most the kernel ever takes. */
export const PROGRAM_BLOCK_BYTES = 6_291_456
/** Looks at /proc before a tree of processes is killed; what is found is stopped, so a few are enough. */
export const KILL_TREE_ROUNDS = 32
/** What a login gives (login.defs(5), UMASK): the daemon's own is for keys and records, and would shut others out. */
export const COMMAND_UMASK = 0o022
/** The launcher thread uses 4 to 8 MiB of heap. */
export const LAUNCHER_HEAP_MIB = 16
/** The keeper thread makes a few hundred small strings for a session. */
export const KEEPER_HEAP_MIB = 16
/** It starts in some 20 ms and takes 6 MiB: it stays while sessions come one after the other. */
export const KEEPER_IDLE_MS = 5_000
/** What the first process of a session has to say takes a millisecond: later it is taken for lost. */
export const INIT_ANSWER_MS = 2_000
/** Sockets that the gate listens on in one session: IPv4 and IPv6 of 64 ports, and some that are for one address. */
export const GATE_LISTENERS_MAX = 160
/** Datagrams that wait at one of them: socket(7) doubles it, and each small one takes some 800 bytes, so some 160. */
export const GATE_DATAGRAMS_BYTES = 65_536
/** Connections that wait to be accepted at one of them; the kernel takes no more than net.core.somaxconn. */
export const GATE_BACKLOG = 128
/** What waits to be told of refusals: each takes some 800 bytes in the kernel, so some 80. */
export const REFUSALS_BYTES = 32_768
/** Packets of refusals that are read at once: more than fit into that. */
export const REFUSALS_READ = 256
/** Paths that are hidden within what a session can read: each is a file in memory for each session. */
export const HIDDEN_PLACES_MAX = 1_024
/**
 * Names of /etc, or of a branched directory, that are looked at for those of secrets: a second of a small board at the
 * first place, and later only what has changed. A full /etc has some 4,000.
 */
export const WALKED_NAMES_MAX = 100_000
/** A directory with more names is read anew each time that a pattern looks into it: they would take the thread's memory. */
export const LISTED_NAMES_KEPT = 4_096
/**
 * A change that is as old as this when a directory is read was the last one before: within one tick of the kernel's clock
 * (10 ms where HZ is 100) a directory may change twice, and its time is the same.
 */
export const DIRECTORY_SETTLED_MS = 20
/** A mount that is written to cannot be made read-only in that moment: tries, a millisecond apart. mount_setattr(2), EBUSY. */
export const MOUNT_BUSY_TRIES = 50
/** Looks at which somebody new was found who is not bounded yet, before nobody can fork there until all are. */
export const STARTING_FREE_ROUNDS = 16
/** Then whoever a fork was made of unseen has come to light: it takes a tenth of a millisecond, and a moment off its turn. */
export const SECOND_LOOK_MS = 5
/**
 * Without a list of all of a session's processes: each further look comes so many times as long after the one before, up to
 * the last. Who forks from hand to hand and then stops is met before it has been there twice as long.
 */
export const LOOKS_FACTOR = 2
export const LAST_LOOK_MS = 1_280
/** Looks at who has just started until that is given up as endless. */
export const STARTING_ROUNDS = 64
/**
 * What ends sooner takes no processor time worth bounding, and moving a process costs the kernel some milliseconds; in
 * that time a program begins some dozen others at most, beside which the daemon still has its turn.
 */
export const FOLLOW_AFTER_MS = 3
/** The launcher's thread is looked at this often while it has something to do: a start takes a millisecond. */
export const LAUNCH_WATCH_MS = 100
/** Looks at which a start that was stopped is continued; at the next one its session ends. */
export const LAUNCH_CONTINUES = 2
/** Looks after which a start that does not come to its end, for whatever reason, is given up: five seconds. */
export const LAUNCH_LOOKS_MAX = 50
/** How long the thread may take to come home from a session that is given up. */
export const LAUNCH_LEAVE_MS = 2_000
/** One command after the other finds the place of the last one; what it was asked to leave running keeps it. */
export const PLACE_LINGER_MS = 30_000
/** Directories and file systems in one branch: each is a mount of its own, made in some 100 us. */
export const BRANCH_ROOTS_MAX = 64
/** Small pieces of stdin that wait are put together in blocks of this size: an array for each byte costs 300. */
export const STDIN_BLOCK_BYTES = 4_096
/** A pipe holds at most 1 MiB (fcntl(2), F_SETPIPE_SZ): whoever has more to read than this is still written to. */
export const READ_OUT_READS = 16
/**
 * How long the outputs of a new command wait in their pipes: most commands have ended by then and are read out at once,
 * which costs a tenth of an event loop's readers. Who has written by the first look is read from then on; who has not is
 * looked at again after twice as long, and the last look does not wait for a byte.
 */
export const READERS_DELAY_MS = 1
export const READERS_DELAY_MAX_MS = 8
/** One file that is pinned; programs are at most some hundred MB. */
export const PINNED_FILE_BYTES = 1_073_741_824
/**
 * Sealed copies of pinned files that lie where commands can write, all that run at once: scripts have some KiB, and a
 * large program belongs where no command can write.
 */
export const PINNED_COPIES_BYTES = 268_435_456
/** NAME_MAX of Linux. */
export const FILE_NAME_BYTES = 255
/** A file is compared and copied in pieces of this size: two of them are kept, larger ones are no faster. */
export const SURVEY_READ_BYTES = 262_144
/** A file with holes is read where it has data alone, from this size on; a smaller one is read as it is. */
export const SPARSE_FROM_BYTES = 65_536
/** Blocks of zeros count as holes: the blocks of most file systems. */
export const SPARSE_BLOCK_BYTES = 4_096
/** Content that one look at a branch reads, of the branch and of what lies beneath: a minute or two. */
export const SURVEY_CONTENT_BYTES = 68_719_476_736
/**
 * What one look holds in memory, counted by paths, attributes and what each entry and change takes besides: some 125,000
 * changes, which are 185 MB as measured.
 */
export const SURVEY_HELD_BYTES = 104_857_600
export const SURVEY_ENTRY_BYTES = 100
export const SURVEY_CHANGE_BYTES = 600
/** The digest of the old content is told too up to here; it is read for that alone. */
export const SURVEY_BEFORE_BYTES = 1_048_576
/** Edits of the shortest script between two texts: memory and time grow with its square, 2,000 take 16 MB and 50 ms. */
export const DIFF_EDITS = 2_000
/** A file is compared line by line up to here, and is a part of a patch up to there, as it is held in memory. */
export const DIFF_TEXT_BYTES = 8_388_608
export const DIFF_BINARY_BYTES = 67_108_864
/** Old files with other names that are held open while a merge is forgotten: the names of more count as changed. */
export const MERGE_LINKS_FOLLOWED = 256
/** The facts of a checkpoint: its label and some numbers. */
export const CHECKPOINT_FILE_BYTES = 65_536
/** The record and the journal of the merges of one branch: some 200 bytes a path, so a million paths. */
export const BRANCH_RECORD_BYTES = 268_435_456
/** A thread that works on branches: the longest list that is made takes some 185 MB, its merge 400 MB. */
export const BRANCH_HEAP_MIB = 768
/** Threads that work on branches at most, how many of them may look at one, and how many of these for agents. */
export const BRANCH_THREADS = 4
export const BRANCH_LOOKS = 3
export const BRANCH_OWN_LOOKS = 2
/** It starts in some 30 ms and takes 6 MiB: it stays while a branch is looked through. */
export const BRANCH_IDLE_MS = 5_000
/** Files of a dropped branch that are removed before the thread looks whether there is something else to do: some 10 ms. */
export const BRANCH_REMOVED_AT_ONCE = 1_024
/** A path in a branch: four times PATH_MAX. Each directory is looked up from its root, so time grows with its square. */
export const TREE_PATH_BYTES = 16_384
/** Directories within each other that are open at once while a tree is removed, and names that are read at once. */
export const REMOVED_DEPTH = 32
export const REMOVED_NAMES = 1_024
/** The longest text of a diff, on the disk of the state directory while somebody reads it. */
export const BRANCH_TEXT_BYTES = 1_073_741_824
export const TOLD_PATHS_BYTES = 16_384
/** Paths that were hidden from any session of a branch: four times what is hidden from one. */
export const UNSEEN_PLACES_MAX = 4_096
/** Terminals of one session: the device has 4,096 for all together (kernel.pty.max). devpts(4), `max`. */
export const SESSION_TERMINALS = 256
