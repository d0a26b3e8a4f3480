/**
 * Programs whose arguments are read in parts: options of their own, a subcommand, and options of that; and those that
 * hold another command in the middle of their own words.
 * From the manual pages of git, docker, podman, kubectl, lxc, find and fd.
 * @module
 */

import { type ProgramForm, UNKNOWN_FORM } from '../programs/programs.ts'
import type { ShellWord } from '../shell/shell.ts'
import { type ParsedArguments, parseArguments } from './options.ts'

/** A form that stops at the first operand and in which `options` take a value. */
export function form(options: string, stops = true): ProgramForm {
  const values = options.split(' ').map((entry) => {
    // With a mark, the name is one that takes nothing and that is the beginning of one that does.
    const isAttached = entry.endsWith('?')
    return [isAttached ? entry.slice(0, -1) : entry, { use: 'text' as const, isAttached }] as const
  })
  return { ...UNKNOWN_FORM, options: new Map(values), stops }
}

export const GIT_FORM = form(
  '-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env',
)
/** Options of git's subcommands that take the next word, so that the operands are told from them. */
const GIT_SUBCOMMAND_OPTIONS =
  '-O? --commit? --index? --separate-git-dir -x --exec -m -F -b -o --origin --depth --upload-pack --receive-pack --template --reference -j -c --config -e --branch --tool -t -X -s -S --author --date --grep --message --file --format --output --remote --prefix --tree-filter --index-filter --msg-filter --env-filter --commit-filter --parent-filter --tag-name-filter --setup --extcmd --open-files-in-pager'
const GIT_SUBCOMMAND_FORM = form(GIT_SUBCOMMAND_OPTIONS, false)
/** Where it is the program at the other end; to `git push` and others it takes nothing. */
const GIT_CLONE_FORM = form(`-u ${GIT_SUBCOMMAND_OPTIONS}`, false)

/** Of `git clean`, where `-x` takes nothing. */
const GIT_CLEAN_FORM = form('-e --exclude', false)

/** Of `git config`, where `-f` names the file. */
const GIT_CONFIG_FORM = form('-f --file --blob --type --default --value --comment --url', false)

export function gitForm(subcommand: string): ProgramForm {
  if (subcommand === 'config') return GIT_CONFIG_FORM
  if (subcommand === 'clone' || subcommand === 'ls-remote') return GIT_CLONE_FORM
  return subcommand === 'clean' ? GIT_CLEAN_FORM : GIT_SUBCOMMAND_FORM
}

const CONTAINER_FORM = form(
  '--init? --detach? -e --env --env-file -v --volume --mount -w --workdir -u --user --name -h --hostname -p --publish --network --net --entrypoint -l --label --label-file -m --memory --memory-swap -c --cpu-shares --cpus --cpuset-cpus --device --device-cgroup-rule --cap-add --cap-drop --security-opt --pid --ipc --uts --userns --cgroupns --cgroup-parent --restart --runtime --add-host --dns --dns-search --dns-option --expose --ulimit --tmpfs --volumes-from --volume-driver --log-driver --log-opt --link --ip --mac-address --gpus --isolation --platform --pull --shm-size --sysctl --stop-signal --stop-timeout --storage-opt --group-add --health-cmd --health-interval --annotation --attach -a --blkio-weight --cidfile --detach-keys --init-path --kernel-memory --oom-score-adj --pids-limit --rootfs --pod --secret --systemd --timeout --tz --umask --arch --os --variant --index --cwd --mode -n --namespace --container --context --filename -f --pod-running-timeout --image --target --profile -s --storage',
)

/** Those of the other subcommands: of kubectl, and of docker and its kin. */
const CONTAINER_SUBCOMMAND_FORM = form(
  '-f -n -l -o -p -c -t -e --file --filename --namespace --selector --output --filter --format --type --time --signal --timeout --context --kubeconfig --image --replicas --container --tag --build-arg --target --platform --project-name --profile --env-file',
  false,
)

function containerForm(subcommand: string): ProgramForm {
  return CONTAINER_RUNS.has(subcommand) ? CONTAINER_FORM : CONTAINER_SUBCOMMAND_FORM
}

const CONTAINER_RUNS: ReadonlySet<string> = new Set(['run', 'exec', 'create', 'debug', 'launch', 'execute'])

const CONTAINERS: ReadonlySet<string> = new Set(
  'docker podman buildah lxc kubectl oc crictl ctr nerdctl'.split(' '),
)
const EXECUTES: ReadonlySet<string> = new Set(['-exec', '-execdir', '-ok', '-okdir'])
const FD_EXECUTES: ReadonlySet<string> = new Set(['-x', '-X', '--exec', '--exec-batch'])

/** The option of `find` or `fd` that begins a command, without a value that is attached to it. */
export function isExecution(name: string, text: string): boolean {
  return name === 'find' ? EXECUTES.has(text) : FD_EXECUTES.has(text.split('=', 1)[0] ?? '')
}

/** The words of `find` and `fd` without the commands among them. */
function ownWords(name: string, words: readonly ShellWord[]): readonly ShellWord[] {
  if (!words.some(({ text }) => isExecution(name, text))) return words
  const own: ShellWord[] = []
  for (let index = 0; index < words.length; index++) {
    const word = words[index]
    if (word === undefined) break
    own.push(word)
    if (index === 0 || !isExecution(name, word.text)) continue
    for (index += 1; index < words.length; index++) {
      const text = words[index]?.text
      if (text === ';' || (text === '+' && words[index - 1]?.text === '{}')) break
    }
  }
  return own
}

/** The first word of tar may be a cluster without its dash: `tar xPf FILE` is `tar -xPf FILE`. */
function withOldCluster(first: ShellWord | undefined, parsed: ParsedArguments): ParsedArguments {
  if (first === undefined || first.opaque !== undefined || !/^[A-Za-z]{1,32}$/.test(first.text)) return parsed
  const letters = [...first.text].map((letter) => `-${letter}`)
  return { ...parsed, options: [...new Set([...parsed.options, ...letters])] }
}

/** The arguments of the program `names`, by its form and by what is said above. */
export function parseCall(
  names: readonly string[],
  words: readonly ShellWord[],
  known: ProgramForm,
): ParsedArguments {
  const name = names.find((one) => one === 'find' || one === 'fd' || one === 'git' || CONTAINERS.has(one))
  if (name === undefined) {
    const parsed = parseArguments(words, known)
    return names.includes('tar') ? withOldCluster(words[1], parsed) : parsed
  }
  if (name === 'find' || name === 'fd') return parseArguments(ownWords(name, words), known)
  const first = parseArguments(words, name === 'git' ? GIT_FORM : known)
  const subcommand = words[first.firstOperand]
  if (subcommand === undefined) return first
  const later = name === 'git' ? gitForm(subcommand.text) : containerForm(subcommand.text)
  const second = parseArguments(words, later, first.firstOperand + 1)
  return {
    options: [...new Set([...first.options, ...second.options])],
    values: [...first.values, ...second.values],
    operands: [subcommand, ...second.operands],
    firstOperand: first.firstOperand,
  }
}
