/**
 * One thing that was looked at before a daemon starts: fine, worth a look, or in its way.
 * @module
 */

/**
 * `check` is a path of the configuration where it is about one of its keys. `detail` is a clause; `remedy` says what to
 * do where it is not ok, or not what it seems.
 */
export type Finding =
  | { readonly check: string; readonly ok: true; readonly detail: string; readonly remedy?: string }
  | { readonly check: string; readonly ok: false; readonly detail: string; readonly remedy: string }

/** The remedy where a file of a device is not where its files are kept. */
export const NOT_LOOKED_AT = 'its digest was not looked at: the device looks at it, or put the file there'

/** These; where there are none, that all is well. */
export function orPass(found: Iterable<Finding>, check: string, detail: string): readonly Finding[] {
  const all = [...found]
  return all.length > 0 ? all : [pass(check, detail)]
}

export function pass(check: string, detail: string): Finding {
  return { check, ok: true, detail }
}

/** Nothing that keeps the daemon from starting, and still worth a look. */
export function warn(check: string, detail: string, remedy: string): Finding {
  return { check, ok: true, detail, remedy }
}

export function fail(check: string, detail: string, remedy: string): Finding {
  return { check, ok: false, detail, remedy }
}
