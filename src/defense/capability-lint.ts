/**
 * Command patterns of a capability set that look narrow and are not: a program that runs any other program, or reads
 * or writes any file, for whoever chooses its arguments. A pattern matches by its beginning (`find /srv` lets
 * `find /srv -exec sh` through), so a name alone counts as with `*`. A `*` alone does not look narrow and is fine.
 * Rules: the manuals of the programs; GTFOBins for the ways out.
 * @module
 */
import { baseName } from '../base/text/lexical-path.ts'
import { isShell, namesOf } from './13policy/programs/names.ts'
import { compileWord, fitsWord } from './13policy/rules/word-pattern.ts'

export type WidePattern = {
  readonly pattern: string
  /** One sentence: what the pattern opens. */
  readonly opens: string
}

/** `name...: way out [; fine: first arguments under which it is closed]`. */
const WAYS_OUT: readonly string[] = Object.freeze([
  'find: runs any program through -exec and removes files through -delete',
  'fd: runs any program through --exec',
  'env nice nohup timeout setsid stdbuf time chrt ionice taskset chroot unshare nsenter setarch flock script watch strace ltrace gdb valgrind parallel xargs entr runuser su sudo doas pkexec run0 systemd-run at batch crontab start-stop-daemon dbus-run-session ld.so: runs any program that its arguments name',
  'busybox toybox: is every applet at once, a shell among them',
  'awk: runs any program through system() and pipes, and writes any file',
  'sed: runs any program through the command e, and writes any file through w and -i',
  'tar: runs any program through --to-command and --checkpoint-action, and writes anywhere through -C and -P',
  'zip unzip 7z cpio rsync scp sftp: runs a program that an option names, or writes anywhere on the device',
  'git: runs programs through -c, aliases, hooks, pagers and --upload-pack; fine: status rev-parse describe ls-files',
  'hg svn: runs programs through hooks, its configuration and its editor; fine: status info',
  'make ninja cmake meson just rake gradle mvn ant: runs whatever its file says, and other files through -f, -C and --eval',
  'gcc g++ cc c++ clang ld as: runs programs through -wrapper and plugins, and writes any file through -o',
  'npm yarn pnpm: runs the scripts of packages, and installs further ones; fine: ls list outdated view',
  'npx bunx uvx pipx: fetches a program and runs it',
  'pip: runs the set-up code of whatever it installs; fine: list show freeze check',
  'gem bundle cargo go composer cpan luarocks conda: fetches, builds and runs code of others; fine: list version env info',
  'apt apt-get aptitude dpkg dnf yum rpm apk pacman zypper snap flatpak opkg: runs the scripts of packages, and programs through its options; fine: list show search',
  'vim emacs nano ed ex joe micro pico mg kak: runs a shell from within, and writes any file',
  'less more man most pg view bat info: runs a shell from within; as a pager it can edit too',
  'ssh: runs any program here through -o ProxyCommand, and any there',
  'telnet ftp nc socat: runs a program or a shell through its own commands or options, and reaches every address',
  'curl wget aria2c: writes any file through -o, sends any through -d and -T, and reaches every address',
  'docker podman lxc kubectl ctr runc: starts containers that mount the whole device; fine: ps images version',
  'systemctl: starts and edits units, which run any program as root; fine: status is-active is-enabled is-failed show list-units',
  'journalctl: shows through a pager, which runs a shell on a terminal',
  'service initctl rc-service: starts what is in /etc/init.d, and takes any path there',
  'mount umount losetup cryptsetup: puts any file system in place of files that are trusted',
  'dd tee cp mv ln install truncate split sort: writes any file that the user may write',
  'chmod chown chattr setfacl setcap: gives rights over any file that the user owns',
  'mysql psql sqlite mongo redis-cli: runs a shell from within, or writes files on the device',
  'tmux screen byobu dtach: opens a shell, and outlives its session',
  'openssl: reads and writes any file, and loads code through -engine; fine: version',
  'bc dc m4 tclsh wish expect osascript gnuplot octave R julia erl ghci scala jshell java groovy deno bun: is an interpreter: its code can start any program',
  'python perl ruby php lua node guile: is an interpreter: its code can start any program',
  'ip tcpdump nmap tshark wireshark iptables: changes or reads the network, and runs programs through its options; fine: addr address link route -V --version',
  'modprobe insmod kexec sysctl debugfs fdisk parted mkfs: changes the kernel or the disks under it',
  'visudo vipw vigr sudoedit crontab edquota: starts the editor that the environment names, on a file that decides who may do what',
])

type WayOut = { readonly opens: string; readonly fine: readonly string[] }

function parseWay(line: string): readonly (readonly [string, WayOut])[] {
  const colon = line.indexOf(': ')
  const [opens = '', fine = ''] = line.slice(colon + 2).split('; fine: ')
  const way = { opens, fine: fine.split(' ').filter((word) => word !== '') }
  return line
    .slice(0, colon)
    .split(' ')
    .map((name) => [name, way] as const)
}

/** The first line that has a program counts. */
const WAYS: ReadonlyMap<string, WayOut> = new Map(WAYS_OUT.flatMap(parseWay).toReversed())
const SHELL_WAY: WayOut = Object.freeze({ opens: 'is a shell: it runs any program', fine: [] })

/** The program of the table that a pattern of names can mean, with its way out. */
function wayOf(program: string): readonly [string, WayOut] | undefined {
  const name = baseName(program)
  if (name.includes('*')) {
    const word = compileWord(name)
    for (const shell of ['sh', 'bash']) if (fitsWord(word, shell)) return [shell, SHELL_WAY]
    for (const entry of WAYS) if (fitsWord(word, entry[0])) return entry
    return undefined
  }
  const names = namesOf(name, undefined)
  if (isShell(names)) return [name, SHELL_WAY]
  for (const candidate of names) {
    const way = WAYS.get(candidate)
    if (way !== undefined) return [name, way]
  }
  return undefined
}

function lintPattern(pattern: string): WidePattern | undefined {
  const [program, first] = pattern.split(' ').filter((word) => word !== '')
  // Nothing matches an empty pattern, and everything a lone star.
  if (program === undefined || (program === '*' && first === undefined)) return undefined
  const found = wayOf(program)
  if (found === undefined) return undefined
  const [name, { opens, fine }] = found
  if (first !== undefined && fine.includes(first)) return undefined
  const meant = program.includes('*')
    ? `\`${name}\`, which it also means, ${opens}.`
    : `\`${name}\` ${opens}.`
  return { pattern, opens: meant }
}

/** @param patterns the allowed commands of a capability set */
export function lintCapability(patterns: readonly string[]): readonly WidePattern[] {
  return patterns.flatMap((pattern) => lintPattern(pattern) ?? [])
}
