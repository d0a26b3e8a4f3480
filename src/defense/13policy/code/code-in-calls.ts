/**
 * Calls whose text is code though they are no evaluators by name: `cProfile.runctx("f()", g, l)`, a template, the
 * constructor of functions. What the text does counts; most such texts do nothing.
 * From the references of Python, Node.js, Perl and Ruby, and of packages that are in wide use.
 * @module
 */
import { addInner, type Reading } from './reading.ts'
import { closing } from './values.ts'

/** Ends of the names of such calls. */
const TAKES_CODE =
  /(?:^|\.)(?:run|runctx|run_docstring_examples|sympify|parse_expr|lambdify|eval|query|[Tt]emplate|from_string|render\w{0,16}|setTimeout|setInterval|timethis|timethese|cmpthese|ERB\.new|constructor|assert_python_\w{1,16})$/

/** Something is called, taken in or given to a shell. */
const LOOKS_LIKE_CODE = /[\w$)\]]\s{0,4}\(|`|\bimport\s|\bsystem\b/

/** Reads the texts that the call with its mark at `open` is given, where they are code by the call's name. */
export function noteCode(reading: Reading, name: string, open: number): void {
  if (!TAKES_CODE.test(name)) return
  const close = closing(reading, open)
  for (let at = open + 1; at < close; at++) {
    const token = reading.tokens[at]
    if (token?.kind !== 'string' || !LOOKS_LIKE_CODE.test(token.text)) continue
    const word = { text: token.text, isGlob: false, opaque: undefined }
    addInner(reading, { kind: 'code', language: reading.language, word, via: reading.via })
  }
}
