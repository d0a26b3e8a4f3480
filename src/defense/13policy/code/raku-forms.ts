/**
 * Forms of Raku that Perl writes in another way.
 * From docs.raku.org: open, EVAL, Proc::Async, and calls by a colon.
 * @module
 */

const OPENED =
  /\bopen[\s(]{1,4}(["'][^"']{1,1024}["'])\s{0,4},\s{0,4}:(?:w|a|rw|rx|append|update|create|truncate|mode)\b/g
const METHOD_OPENED =
  /(["'][^"']{1,1024}["'])\.IO\.open[:(\s]{1,3}:(?:w|a|rw|append|update|create|truncate)\b/g

/** `run <reboot>`, `spurt "/x"`, `"/x".IO.rename("/y")`, `X::Y.new`. */
const ONE_WORD = /\b(run|shell)[\s(]{1,4}<([\w./-]{1,256})>/g
const ON_PATH = /(["'][^"']{1,1024}["'])\.IO\.(unlink|rename|chmod|copy|symlink|link|move|mkdir|rmdir)\b/g

/** Whether the code that is reached through `via` is Raku. */
export function isRaku(via: string): boolean {
  return /^(?:raku|rakudo|perl6)\b/.test(via)
}

/** The code in the forms of Perl. */
export function plainRaku(text: string): string {
  return (
    text
      .replaceAll(OPENED, 'open(F, ">", $1')
      .replaceAll(METHOD_OPENED, 'open(F, ">", $1)')
      .replaceAll(/\bqqx\b|\bqq?:x\b/g, 'qx')
      .replaceAll(ONE_WORD, 'system "$2"')
      .replaceAll(ON_PATH, '$2($1, ')
      .replaceAll(/(?<![.\w])spurt\b/g, 'truncate')
      .replaceAll(/\bProc::Async\.new\b/g, 'system')
      .replaceAll(/\b([A-Z]\w{0,32}(?:::\w{1,32}){1,4})\.new\b/g, '$1->new')
      .replaceAll(/@\*ARGS\b/g, '@ARGV')
      // What the command line gives are its parameters.
      .replaceAll(/\bsub\s{1,4}MAIN\b/g, '@ARGV; sub MAIN')
      .replaceAll(/\bEVALFILE\b/g, 'do')
      .replaceAll(/\bEVAL\b/g, 'eval')
      .replaceAll(/&(?:shell|run|EVAL|QX)\b|&?::\(/g, '&$handed (')
  )
}
