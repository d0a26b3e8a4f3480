/**
 * Forms of Lua in which a function is called through another one that catches what it throws: `pcall(require, "x")`,
 * which gives what the function gives behind a truth value.
 * Rules: the Lua 5.4 reference manual, pcall and xpcall.
 * @module
 */

const LOADED =
  /x?pcall\s{0,4}\(\s{0,4}require\s{0,4},(?:\s{0,4}[\w.]{1,64}\s{0,4},)?\s{0,4}("[^"\n]{0,256}"|'[^'\n]{0,256}')\s{0,4}\)/
    .source
/** `local ok, m = pcall(require, "m")`: the second name stands for the module. */
const CAUGHT_MODULE = new RegExp(
  `(?:\\blocal\\s{1,4})?\\b\\w{1,64}\\s{0,4},\\s{0,4}(\\w{1,64})\\s{0,4}=\\s{0,4}${LOADED}`,
  'g',
)
const SELECTED_MODULE = new RegExp(
  `\\bselect\\s{0,4}\\(\\s{0,4}-?\\d\\s{0,4},\\s{0,4}${LOADED}\\s{0,4}\\)`,
  'g',
)

/** `_ENV = os`: every name is then one of that module. */
const NAMES_OF_MODULE = /\b_ENV\s{0,4}=\s{0,4}(?:os|io|debug|package|_G)\b/g

/** The code with each such module as the caller of `require` has it. */
export function plainLua(given: string): string {
  const text = given.includes('_ENV') ? given.replaceAll(NAMES_OF_MODULE, 'load(_ENV)') : given
  if (!text.includes('pcall')) return text
  return text.replaceAll(CAUGHT_MODULE, '$1 = require($2)').replaceAll(SELECTED_MODULE, 'require($1)')
}
