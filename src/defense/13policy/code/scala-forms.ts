/**
 * Forms of Scala's libraries for files in which a path is put together from a place that they name, and what is done
 * with it stands behind a second dot: `os.remove.all(os.root / "etc")`, `rm! root/"etc"`, `(home / "x").append("y")`.
 * From the documents of os-lib, Ammonite and better-files.
 * @module
 */

/** One of their places, and what is divided from it. */
const PLACED =
  /(?<![\w.])(?:os\.)?(root|home)(\s{0,4}\/\s{0,4}(?:"[^"\n]{0,256}"|'[\w.]{1,64})(?:\s{0,4}\/\s{0,4}(?:"[^"\n]{0,256}"|'[\w.]{1,64}|[a-z]\w{0,64}))*)/g
const PART = /"([^"\n]{0,256})"|'([\w.]{1,64})|([a-z]\w{0,64})/g
/** Which of the actions there is says how much is taken with it, and no more. */
const ACTION =
  /\b(?:os\.)?(remove|rm|write|append|move|mv|copy|cp|truncate|makeDir|mkdir)\s?(?:\.(?:all|over|into|append|outputStream|channel)\b|!(?!=))\s?/g

/** Whether `text` may have such a form. */
export function isPlacedPath(text: string): boolean {
  return (text.includes('root') || text.includes('home')) && text.includes('/')
}

/** The code with each of those paths as one text. */
export function plainScala(text: string): string {
  return text
    .replaceAll(PLACED, (_, place: string, rest: string) => {
      const parts = [...rest.matchAll(PART)].map(
        ([, quoted, symbol, name]) => quoted ?? symbol ?? (name && '*'),
      )
      return `"${place === 'home' ? '~' : ''}/${parts.join('/')}"`
    })
    .replaceAll(ACTION, 'os.$1 ')
}
