/**
 * Code that takes a secret out of the environment: a variable whose name sounds like one, or all variables with such a
 * word beside them. The text is looked at, since languages have too many ways to write the same; no code is evaluated.
 * Rules: docs/policy.md, "Effective commands".
 * @module
 */

/** Said of code that takes a secret out of the environment. */
export const SECRET_READ = 'environment:secret'

/** How the environment is called: of Python, Node.js, Deno, Bun, Perl, Ruby, PHP, awk, R, Tcl, Julia, Elixir, Java, Lisp. */
const ENVIRONMENT =
  /\b(?:os\.environb?|environb?|[Gg]etenv|LookupEnv|GetEnvironmentVariable|getEnvVarOwned|env::var(?:_os)?|process\.env|get_env!?|fetch_env!?|ENVIRON|Sys\.getenv|Deno\.env|Bun\.env)\b|\bENV\s{0,4}[[.{]|[%$@]\{?ENV\b|\$_(?:ENV|SERVER)\b|\$env\s{0,4}\(|::env\(|\$env:/
/** Names that sound like secrets, as variables are written. */
const SECRET_NAME =
  /[A-Z0-9_]{0,64}(?:SECRET|TOKEN|PASSW|PASSPHRASE|PASSWD|APIKEY|API_KEY|CREDENTIAL|PRIVATE_KEY|ACCESS_KEY|_PSK|_PASS|_KEY|_PWD|_DSN)(?![a-z])/
/** Words by which variables are picked out: a text or a pattern of their own. */
const PICKED =
  /(?:["'`/]|:\w{0,8})[\w^$.*|()[\]-]{0,64}(?:secret|token|passw|credential|api_?key)|["'](?:KEY|PASS|PWD|AUTH|PSK)["']/i

/** Whether `text`, code of whatever language, reads a variable that sounds like a secret. */
export function readsSecretVariable(text: string): boolean {
  return ENVIRONMENT.test(text) && (SECRET_NAME.test(text) || PICKED.test(text))
}

/** The whole of a code that imports a module and prints its version or place. */
const VERSION_ONLY =
  /^\s{0,8}import ([\w.]{1,64})(?: as (\w{1,64}))?\s{0,8}[;\n]\s{0,8}print\(\s{0,4}([\w.]{1,64})\.(?:__version__|__file__|VERSION|version)\s{0,4}\)\s{0,8};?\s{0,8}$/

/** The module that `text`, code of Python, only asks for its version; undefined where it does anything else. */
export function moduleAsked(text: string): string | undefined {
  const [, module, alias, asked] = VERSION_ONLY.exec(text) ?? []
  return module !== undefined && asked === (alias ?? module) ? module : undefined
}

/** A variable that makes a program load or run something, which the code sets for what it starts. */
const LOADER_SET =
  /(?:environb?\[|ENV[[{]|env[[.]|(?:put|set)env\(|export\(|environb?\.(?:update|setdefault)\((?:dict\(|\{)?)\s{0,4}b?["']?(?:LD_[A-Z]{1,32}|BASH_ENV|PYTHONSTARTUP|PYTHONINSPECT|PERL5OPT|RUBYOPT|NODE_OPTIONS|GIT_SSH\w{0,16}|PROMPT_COMMAND)["']?\s{0,4}(?:[\]}]?\s{0,4}=(?!=)|,|:)/

export function setsLoaderVariable(text: string): boolean {
  return LOADER_SET.test(text)
}
