/**
 * Programs that tell where they keep what they log in with: `npm config get userconfig`, `gpgconf --list-dirs`. Whoever
 * reads what they tell reads that file, where it is not moved elsewhere.
 * From npm-config(7), gpgconf(1), ssh(1), git-config(1), composer's and Docker's documentation, my_print_defaults(1).
 * @module
 */
import type { Draft } from './pipeline.ts'

/** PROGRAMS | a word that asks for it | the place below the home directory */
const TELLERS: ReadonlyMap<string, readonly { readonly asks: string; readonly place: string }[]> = tellersOf([
  'npm pnpm | userconfig | .npmrc',
  'yarn | userconfig | .npmrc',
  'gpgconf | --list-dirs | .gnupg',
  'gpgconf | -L | .gnupg',
  'gpg gpg2 | --version | .gnupg',
  'ssh | -G | .ssh/id_rsa',
  'git | user.signingkey | .ssh/id_rsa',
  'git | credential.helper | .git-credentials',
  'composer | home | .config/composer/auth.json',
  'docker podman | context | .docker/config.json',
  'mysql mariadb mysqldump my_print_defaults | --help | .my.cnf',
  'aws | configure | .aws/credentials',
  'kubectl oc k9s | info | .kube/config',
  'kubectl oc k9s | view | .kube/config',
  'gcloud | info | .config/gcloud/credentials.db',
  'az | config | .azure',
  'gh | config | .config/gh/hosts.yml',
  'twine keyring | diagnose | .pypirc',
])

function tellersOf(lines: readonly string[]) {
  const tellers = new Map<string, { readonly asks: string; readonly place: string }[]>()
  for (const line of lines) {
    const [programs = '', asks = '', place = ''] = line.split(' | ')
    for (const program of programs.split(' '))
      tellers.set(program, [...(tellers.get(program) ?? []), { asks, place }])
  }
  return tellers
}

/** The place of secrets that the command tells, below the home directory. */
export function placeTold({ names, operands, options }: Draft): string | undefined {
  const tellers = TELLERS.get(names[0] ?? '')
  return tellers?.find(({ asks }) => operands.includes(asks) || options.includes(asks))?.place
}
