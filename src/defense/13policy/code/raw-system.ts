/**
 * What sources do with the whole system past every library: processes that are not their own are ended, calls of the
 * kernel by their numbers, machine code. The text is looked at, since each language writes them in another way.
 * From signal(7), syscall(2), and the references of C, Go, Rust, Zig, Nim, Ada, Haskell, Java and Erlang.
 * @module
 */

/** A signal to every process, to the first one, or to those that are counted through. */
const KILLS =
  /\b(?:kill|killpg|tkill|Kill|signalProcess(?:Group)?)(?:\s{0,4}\(\s{0,4}(?:Pid::from_raw\()?|\s{1,4}\(?)(?:-\s{0,2}1|1)\b(?!\s{0,4}[-+*/.\w])|\bsignalProcess(?:Group)?\s{1,4}\w{1,32}\s{1,4}\(?-?1\b|\bfor\s{0,4}\(?\s{0,4}(?:int |pid_t |long |var )?\s{0,4}(\w{1,32})\s{0,4}:?=[^{};]{0,64};[^{}]{0,64}\bkill\s{0,4}\(\s{0,4}\1\b|\bFindProcess\(\s{0,4}-?1\s{0,4}\)|\bProcessHandle\s{0,2}\.\s{0,2}(?:of\(\s{0,4}1L?\s{0,4}\)|allProcesses)/
const ENDS_PROCESSES = /\b(?:destroy|destroyForcibly)\b/

/** A call of the kernel by its name or number, but for those that only ask or wait. */
const BY_NUMBER =
  /\b(?:syscall|Syscall6?|RawSyscall6?|syscall[0-6])\s{0,4}\(\s{0,4}(?:(?:libc|syscall|unix)(?:::|\.)|\.)?(?!(?:SYS_|__NR_)?(?:get\w{1,16}|read|write|futex|clock_gettime|nanosleep|memfd_create|sched_\w{1,24}|membarrier|exit|exit_group|sysinfo|uname|rseq|set_robust_list|perf_event_open|io_uring_\w{1,16})\b)\w/

/** Machine code that calls the kernel, reaches ports or stops the processor. */
const MACHINE =
  /\b(?:asm|__asm__|__asm|global_asm|llvm_asm)\b[^)]{0,96}?["(`][^)]{0,96}\b(?:syscall|sysenter|svc|swi|ecall|int\s{1,4}\$?0x80|hlt|cli|out[bwl]|wrmsr)\b/
/** The same in a source of an assembler, beside the number of what is called where that is no writing or ending. */
const ASSEMBLY =
  /^\s{0,16}(?:syscall|svc\s{1,8}#?0|swi\s{1,8}#?0|int\s{1,8}\$?0x80|ecall)\s{0,8}(?:[;#@/].{0,80})?$/m
const ASSEMBLY_NUMBER =
  /\b(?:mov[lq]?|ldr|li)\s{1,8}(?:\$(\d{1,4}|0x[0-9a-f]{1,4}),\s{0,4}%[er]?ax|[er]?ax,\s{0,4}(\d{1,4}|0x[0-9a-f]{1,4})|[xw]8,\s{0,4}#?(\d{1,4})|r7,\s{0,4}#?(\d{1,4})|a7,\s{0,4}(\d{1,4}))/g
/** `read`, `write`, `exit` and `exit_group`: of x86-64, of i386, of 64-bit and of 32-bit ARM. */
const QUIET_NUMBERS: ReadonlySet<number> = new Set([0, 1, 3, 4, 60, 63, 64, 93, 94, 231, 248, 252])

/** A function of the system that is brought in by its name. */
const BROUGHT_IN =
  /\b(?:pragma\s{1,4}Import\s{0,4}\(\s{0,4}C\s{0,4},\s{0,4}\w{1,64}\s{0,4}(?:,\s{0,4}"(?:system|exec\w{0,4}|popen|reboot|kill|unlink|remove|rmdir)")?|External_Name\s{0,4}=>\s{0,4}"(?:system|exec\w{0,4}|popen|reboot|kill|unlink|remove|rmdir)")|\bimportc\s{0,4}:\s{0,4}"(?:system|exec\w{0,4}|popen|reboot|kill|unlink|remove)"|\bforeign\s{1,4}import\s{1,4}ccall\s{1,4}(?:unsafe\s{1,4}|safe\s{1,4})?"?(?:[\w./]{1,32}\s{1,4})?(?:system|exec\w{0,4}|popen|reboot|kill|unlink|remove|rmdir)\b|\bbind\s{0,4}\(\s{0,4}c\s{0,4},\s{0,4}name\s{0,4}=\s{0,4}['"](?:system|exec\w{0,4}|popen|reboot|kill|unlink|remove|rmdir)['"]/i

/** A function of the system under another name, or found by its name; and code that is loaded from a file. */
const RENAMED =
  /#\s{0,4}define\s{1,4}\w{1,64}\s{1,4}(?:system|popen|exec[lv]p?e?|unlink|remove|rename|rmdir|reboot|kill)\s{0,4}$|\)\s{0,4}\([^()]{0,64}\)\s{0,4}=\s{0,4}&?(?:system|popen|exec[lv]p?e?|unlink|remove|rename|rmdir|reboot|kill)\s{0,4}[;,]|\bdlsym\s{0,4}\(|\bplugin\.Open\s{0,4}\(|\bSystem\.load\s{0,4}\(|\bgetEngineByName\s{0,4}\(/m
/** A connection that becomes the input and output of a program. */
const JOINED = /\b(?:connect|accept)\s{0,4}\([\s\S]{0,512}\bdup[23]?\s{0,4}\([\s\S]{0,512}\bexec[lv]/
const CALLED_BY_COBOL = /\bcall\s{1,8}["']system["']\s{1,8}using\b/i

function isRawAssembly(text: string): boolean {
  if (!ASSEMBLY.test(text)) return false
  return [...text.matchAll(ASSEMBLY_NUMBER)].some(([, ...numbers]) => {
    const number = Number(numbers.find((one) => one !== undefined) ?? Number.NaN)
    return !QUIET_NUMBERS.has(number)
  })
}

/** How `text`, a source of a language that is not told apart, reaches the whole system; undefined where it does not. */
export function reachesSystem(text: string): string | undefined {
  if (KILLS.test(text) && (!text.includes('ProcessHandle') || ENDS_PROCESSES.test(text))) return 'kill'
  if (BY_NUMBER.test(text)) return 'syscall'
  if (MACHINE.test(text) || isRawAssembly(text)) return 'asm'
  if (JOINED.test(text)) return 'connection'
  if (CALLED_BY_COBOL.test(text)) return 'system'
  return BROUGHT_IN.test(text) || RENAMED.test(text) ? 'import' : undefined
}
