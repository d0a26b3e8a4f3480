/**
 * Code that takes the whole environment, with whatever secrets are in it, and does not only hand it on to a program that
 * it starts. The text is looked at, since languages have too many ways to write the same; no code is evaluated.
 * From the references of the languages named.
 * @module
 */

/** Behind it in Python: one variable is asked for or set, or the names alone are. */
const OF_ONE_IN_PYTHON = String.raw`(?!\s{0,4}\[\s{0,4}b?["']|\s{0,4}\[\w{1,32}\]\s{0,4}=|\.(?:get|setdefault|pop|update|keys|__contains__)\b|\s{0,4}(?:=\s|import\b|;|,)|\.\w{1,32}\s{0,4}=)`

/** What gives all variables, by language; what may stand behind where it is asked for one, or for names alone. */
const WHOLE = new RegExp(
  [
    // Python, C
    String.raw`\b\w{1,32}\.environb?\b${OF_ONE_IN_PYTHON}|\bgetattr\(\s{0,4}\w{1,32}\s{0,4},\s{0,4}["']environb?["']`,
    // Node.js, Deno, Bun
    String.raw`\b(?:process|Bun|import\.meta)\??\.env\b(?!\s{0,4}(?:\?\.|\.\w|\[))`,
    String.raw`\bprocess(?:\[["']env["']\]|["']\)\.env\b)(?!\s{0,4}[.[])`,
    String.raw`\bDeno\.env\.toObject\b`,
    // Perl, Raku
    String.raw`%\*?\{?(?:main)?(?:::)?\*?ENV\b(?!\s{0,4}=[^~])`,
    // Ruby, Crystal, Julia
    String.raw`(?<![\w$@%{'":*/-])ENV\b(?:\.(?:to_|each|map|inspect|values|select|filter|sort|collect|reject|entries|find|flat|min|max|group|dup|clone|reduce|inject|sum|zip|join|partition|slice|then|tap|any|all)|(?!\s{0,4}[.[{='"]|\w|\s{0,4}\w))|\bin\s{1,4}ENV\b(?![.[])`,
    // PHP
    String.raw`\bphpinfo\(\s{0,4}(?:INFO_ENVIRONMENT|INFO_VARIABLES|16|32)`,
    String.raw`\bgetenv\(\s{0,4}(?:null\s{0,4}[,)]|\))`,
    String.raw`\$_(?:ENV|SERVER)\b(?!\s{0,4}\[)`,
    String.raw`\bfilter_input_array\(\s{0,4}INPUT_(?:ENV|SERVER)`,
    // awk
    String.raw`\bfor\s{0,4}\(\s{0,4}\w{1,32}\s{1,4}in\s{1,4}ENVIRON\b`,
    // R
    String.raw`\bSys\.getenv\(\s{0,4}(?:\)|names\b|x\s{0,4}=\s{0,4}NULL|NULL)`,
    // Java and its kin
    String.raw`\bSystem(?:\.|::|/)getenv(?:\(\s{0,4}\)(?!\s{0,4}\.get\b|\s{0,4}\[)|\s{0,4}\)(?!\s{0,4}["']))`,
    String.raw`\bSystem\.env\b(?!\s{0,4}(?:\.(?!each|collect|find|values|toString|sort|inspect|dump|entrySet)\w|\[))`,
    String.raw`\bsys\.env\b(?!\s{0,4}(?:\(|\.(?:get|contains|apply)))`,
    String.raw`\.environment\(\)(?!\s{0,4}\.(?:put|get|remove|clear|contains|set|apply))`,
    // Go, Rust, Swift, Dart, C#, D, Nim, OCaml, Haskell, Elixir, Erlang, Lisp
    String.raw`\bos\.Environ\(|\bsyscall\.Environ\(|\benv::vars(?:_os)?\(|\bstd\.process\.getEnvMap\b|\bgetEnvMap\(`,
    String.raw`\bprocessInfo\.environment\b(?!\s{0,4}\[)|\bPlatform\.environment\b(?!\s{0,4}\[)|\bGetEnvironmentVariables\b`,
    String.raw`\benvironment\.toAA\b|\benvPairs\b|\bUnix\.(?:unsafe_)?environment\b|\bgetEnvironment\b`,
    String.raw`\bSystem\.get_env(?:\(\s{0,4}\)|\s{0,4}(?:\||$))|\bos:(?:getenv\(\s{0,4}\)|env\(\s{0,4}\))|\bposix-environ\b|\(environ\)|\benvironment-variables-names\b|\bprocess-environment\b|\(ext:getenv\)`,
    // Tcl
    String.raw`\b(?:array\s{1,4}(?:get|names)|parray)\s{1,4}(?:::)?env\b`,
  ].join('|'),
  'g',
)

/** Names that the code has brought in, and what takes all variables by them. */
const BROUGHT_IN: readonly (readonly [RegExp, RegExp])[] = [
  [/\bimport\s[^;\n]{0,64}\benvironb?\b/, new RegExp(String.raw`[(=\s{*]environb?\b${OF_ONE_IN_PYTHON}`)],
  [/\*\s{0,4}environ\b/, /=\s{0,4}environ\b|\*environ\b(?!\s{0,4};)|\benviron\s{0,4}\[/],
  [/\{\s{0,4}env\s{0,4}\}\s{0,4}=\s{0,4}process\b/, /[(\s.,]env\s{0,4}[),;]/],
]

/** Before it: the place where a program that is started is given its environment, or a question for one variable. */
const HANDED_ON =
  /(?:[({,]\s{0,4}env\w{0,8}\s{0,4}[=:]|\.Env\s{0,4}=)\s{0,4}(?:\{?\s{0,4}(?:\*\*|\.\.\.)|dict\(|append\(|Object\.assign\(\{\},\s{0,4})?$|\}\s{0,4}=\s{0,4}$|["']\s{0,4}(?:not\s{1,4})?in\s{1,4}$|\b(?:len|import|del)[\s(]\s{0,4}$/

/** Before it: a name that it is given to, which is then handed on. */
const NAMED =
  /(?:^|[^\w.])(\w{1,32})\s{0,4}:?=\s{0,4}(?:\{?\s{0,4}(?:\*\*|\.\.\.)|dict\(|Object\.assign\(\{\},\s{0,4})?$/

/** Before it there stands no more that is looked at. */
const BEFORE_CHARACTERS = 64
/** What people write has a few. */
const FOUND_MAX = 32

/** Whether all that is done with `name` is to change single variables of it and to start programs with it. */
function isOnlyHandedOn(text: string, name: string): boolean {
  const uses = [...text.matchAll(new RegExp(String.raw`(?<![\w.])${name}\b(?!\s{0,4}:?=(?!=))`, 'g'))]
  return (
    uses.length > 0 &&
    uses.slice(0, FOUND_MAX).every(({ index }) => {
      const before = text.slice(Math.max(0, index - BEFORE_CHARACTERS), index)
      const after = text.slice(index + name.length, index + name.length + BEFORE_CHARACTERS)
      if (/[({,]\s{0,4}env\w{0,8}\s{0,4}[=:]\s{0,4}(?:\{?\s{0,4}(?:\*\*|\.\.\.))?$/.test(before)) return true
      // `{ env }`, `env["A"] = "b"`, `env.A = "b"`
      if (name === 'env' && /[{,]\s{0,4}$/.test(before) && /^\s{0,4}[},]/.test(after)) return true
      return /^\s{0,4}(?:\[["'][^"']{1,64}["']\]|\.\w{1,64})\s{0,4}=(?!=)|^\.(?:update|setdefault|pop)\(/.test(
        after,
      )
    })
  )
}

/** Whether `text`, code of whatever language, takes the whole environment. */
export function takesWholeEnvironment(text: string): boolean {
  if (!/env|_SERVER/i.test(text)) return false
  if (BROUGHT_IN.some(([bringing, taking]) => bringing.test(text) && taking.test(text))) return true
  let count = 0
  for (const { index } of text.matchAll(WHOLE)) {
    count += 1
    if (count > FOUND_MAX) return true
    const before = text.slice(Math.max(0, index - BEFORE_CHARACTERS), index)
    if (HANDED_ON.test(before)) continue
    const name = NAMED.exec(before)?.[1]
    if (name === undefined || !isOnlyHandedOn(text, name)) return true
  }
  return false
}
