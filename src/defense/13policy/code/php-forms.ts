/**
 * Forms of PHP that are told by the text alone: the home directory within a text, with quotes of its own, and patterns
 * whose flag makes code of what is put in.
 * From the manual of PHP: strings, preg_replace, mb_ereg_replace.
 * @module
 */

const HOME = /\{\$_(?:SERVER|ENV)\[["']HOME["']\]\}/g

/** `preg_replace("/a/e", CODE, x)`, `mb_ereg_replace("a", CODE, x, "e")` */
const EVALUATING =
  /\bpreg_(?:replace|filter)\s{0,4}\(\s{0,4}(["'])([/#~|@])[^"']{0,256}\2[a-df-zA-Z]{0,8}e[a-zA-Z]{0,8}\1|\bmb_ereg(?:i_replace|_replace)\s{0,4}\([^;]{0,512},\s{0,4}["'][a-z]{0,4}e[a-z]{0,4}["']\s{0,4}\)/

/** The code with `~` for the home directory. */
export function plainPhp(text: string): string {
  return text.replaceAll(HOME, '~')
}

/** Whether a pattern makes code of what is put in. */
export function evaluatesPattern(text: string): boolean {
  return EVALUATING.test(text)
}
