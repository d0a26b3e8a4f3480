/**
 * Runs lines that would harm a machine in a world without the daemon, as root with all that the world lets it have, and
 * writes as one JSON object what the machine was before and is after. For the test of worlds; starts itself again in a
 * mount namespace of its own.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { makeKit } from './kit.node.ts'
import { againPrivately, isPrivate } from './private.node.ts'
import { openBare } from './stage.node.ts'

const HARM = [
  'echo harmed > /etc/hostname; echo harmed > /etc/harmed; rm -rf /boot /etc/ssl /var/log /opt/sass-edge',
  'echo harmed > /dev/sda; echo harmed > /dev/mem; for d in /dev/vd? /dev/sd? /dev/nvme*; do echo harmed > $d; done',
  'mount -t devtmpfs harm /mnt; for d in /mnt/vd? /mnt/sd? /mnt/nvme*; do head -c 1 $d && touch /tmp/read; done; umount /mnt',
  'mknod /tmp/disk b 254 0; mknod /tmp/disk b 8 0; head -c 1 /tmp/disk && touch /tmp/read',
  'echo 7 > /proc/sys/vm/swappiness; mount -t proc harm /mnt; echo 7 > /mnt/sys/vm/swappiness; umount /mnt',
  'hostname harmed; date -s 2001-01-01; hwclock -w',
  'reboot -f; poweroff -f; echo b > /proc/sysrq-trigger',
  'modprobe dummy; insmod /lib/modules/x.ko; dmesg -C',
  'kill -9 -1',
  'nsenter -t 1 -m -p sh -c "echo harmed > /etc/harmed"; chroot /proc/1/root sh -c "echo harmed > /etc/harmed"',
  'mount -o remount,rw /sys; for f in /sys/power/state /sys/block/*/ro; do echo 1 > $f; done',
  'curl -m 1 http://192.0.2.1/; ls /sys/class/net',
]
const SETTINGS = ['vm/swappiness', 'kernel/core_pattern', 'kernel/panic']

/** What can be told of the machine; not how much it does meanwhile. */
function machine(): unknown {
  const stats = (directory: string) =>
    readdirSync(directory).map((name) => {
      const { mode, ino, size, ctimeNs } = lstatSync(`${directory}/${name}`, { bigint: true })
      return `${directory}/${name} ${mode} ${ino} ${directory === '/' ? '' : `${size} ${ctimeNs}`}`
    })
  return {
    files: ['/', '/etc', '/boot', '/etc/ssl'].flatMap(stats),
    hostname: hostname(),
    settings: SETTINGS.map((name) => readFileSync(`/proc/sys/${name}`, 'latin1')),
    year: new Date().getFullYear(),
    interfaces: readdirSync('/sys/class/net'),
    parent: process.ppid,
    bystander: readFileSync(`/proc/${process.ppid}/stat`, 'latin1').split(' ')[0],
  }
}

async function main(): Promise<void> {
  const kit = makeKit()
  const before = machine()
  const bare = await openBare(kit.next())
  const outputs: string[] = []
  for (const line of HARM) {
    const { stdout, stderr } = await bare.world.run(['timeout', '-k', '1', '20', 'bash', '-c', line])
    // Its beginning tells what became of the line: who may remove nothing is told so of every file.
    outputs.push(`${line}\n${stdout}${stderr}`.slice(0, 4_096))
  }
  const inside = (await bare.world.run(['cat', '/etc/harmed'])).stdout.toString()
  const read = (await bare.world.run(['ls', '/tmp/read'])).code === 0
  const reached = bare.world.fence.reached()
  const after = machine()
  await bare.end()
  const mounts = execFileSync('cat', ['/proc/self/mounts'], { encoding: 'latin1' })
  kit.remove()
  console.log(
    JSON.stringify({
      before,
      after,
      inside,
      read,
      reached,
      outputs,
      left: /sass-effects\S*\/world/.test(mounts),
    }),
  )
}

if (isPrivate()) await main()
else process.exitCode = againPrivately(import.meta.filename, process.argv.slice(2))
