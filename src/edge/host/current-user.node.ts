/**
 * Who this process is: by name and home where the device knows them, by number where it does not, as a container that is
 * given any user id.
 * @module
 */
import { userInfo } from 'node:os'

export type CurrentUser = { readonly name: string; readonly home: string }

/** `environment` is asked where the device does not know the user. */
export function currentUser(environment: NodeJS.ProcessEnv = process.env): CurrentUser {
  try {
    const { username, homedir } = userInfo()
    return { name: username, home: homedir }
  } catch {
    const { HOME } = environment
    return {
      name: String(process.getuid?.() ?? 'nobody'),
      home: HOME?.startsWith('/') === true ? HOME : '/',
    }
  }
}
