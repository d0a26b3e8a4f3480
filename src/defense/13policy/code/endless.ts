/**
 * Code that takes more and more memory, or starts process after process, in a loop without an end: a small device
 * stops with it.
 * The text is looked at, not run: a constant condition, something that grows, and nothing that leaves or waits.
 * @module
 */

/** The beginnings of loops that do not end by themselves, in Python, JavaScript, C and its kin, Perl, Ruby and Lua. */
const ENDLESS =
  /\bwhile\s{0,8}\(?\s{0,8}(?:True|true|1|!0)\b|\bfor\s{0,8}\(\s{0,8};\s{0,8};\s{0,8}\)|\bloop\s{0,8}(?:do\b|\{)|\brepeat\b|\biter\(int,\s{0,8}1\)|\bitertools\.(?:count|repeat|cycle)\(/

/** What grows: a list or a text that is added to, or memory that is asked for. */
const GROWS =
  /\.(?:append|extend|push|unshift|concat|add)\(|\bpush\s{0,8}\(?\s{0,8}@|\[\]\s{0,8}=|\[\w{1,16}\+\+\]\s{0,8}=|\[#\w{1,16}\s{0,8}\+|\+=|<<|\.=|\.start\(|(?:\.|\b)(?:spawn|Popen|fork|popen)\(|\bbytearray\(|\bBuffer\.alloc|\bmalloc\(|\bnew\s+(?:Array|byte|Worker|Thread|Process)\b|\.\.\s{0,8}\w|\b(\w{1,16})\s{0,4}(?:=|<-)\s{0,4}(?:[{[]|c\()\s{0,4}\1\b/

/** What leaves a loop, or waits in it. */
const LEAVES =
  /\b(?:break|last|return|exit|quit|raise|throw|die|yield|await|sleep|usleep|wait|input|read|readline|recv|accept|poll|select|next|get|until|take|islice|setTimeout|delay)\b/

/** Text or a list of ten thousand million pieces or more, made at once. */
const HUGE =
  /["'\])]\s{0,4}(?:\*|x)\s{0,4}(?:10\s{0,4}\*\*\s{0,4}(?:9|[1-9]\d)(?!\d)|\d{10,}|\d{1,3}e(?:9|[1-9]\d))/

/** A loop without an end of which the first doing is a new process, in C, Python, Perl, Go and Rust. */
const FORKS_IN_LOOP =
  /(?:\bwhile\s{0,8}\(?\s{0,8}(?:True|true|1|!0)\b|\bfor\s{0,8}\([^;()]{0,32};\s{0,8};|\bfor\s{0,8}\{|\bloop\b)[^;}]{0,48}\bv?fork\s{0,4}\(/
/** A loop that goes on as long as processes can be had, and a program that begins again with each. */
const FORKS_ITSELF =
  /\bwhile\s{0,4}\([^;)]{0,8}\bv?fork\s{0,4}\(\)[^;)]{0,16}\)\s{0,4}(?:;|\{\s{0,8}\})|\bfork\s{0,4}\(\s{0,4}\)\s{0,4};\s{0,8}main\s{0,4}\(/
/** What waits for a process, or starts one only when something happens. */
const WAITS = /\b(?:wait\w{0,8}|sleep|usleep|nanosleep|pause|accept|poll|select|break)\b/

export function growsWithoutEnd(text: string): boolean {
  const forks = FORKS_IN_LOOP.test(text) || FORKS_ITSELF.test(text)
  if (forks && !WAITS.test(text)) return true
  return (ENDLESS.test(text) && GROWS.test(text) && !LEAVES.test(text)) || HUGE.test(text)
}
