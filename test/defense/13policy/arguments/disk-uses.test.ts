/**
 * Which command lines of programs for disks change a disk, and which only look at it.
 * @module
 */
import t from 'tap'
import { commandsOf, pathsOf } from '../unwrap-staged.ts'

const LOOKS: readonly string[] = [
  'parted /dev/sda print',
  'parted -s /dev/sda unit s print free',
  'parted -l /dev/sda',
  'gdisk -l /dev/sda',
  'sgdisk -p /dev/sda',
  'fdisk -l /dev/sda',
  'fdisk -lu /dev/sda',
  'sfdisk -d /dev/sda',
  'cryptsetup luksDump /dev/sda',
  'cryptsetup isLuks /dev/sda',
  'wipefs /dev/sda',
  'wipefs -n -a /dev/sda',
  'badblocks -sv /dev/sda',
  'badblocks -n /dev/sda',
  'resize2fs -P /dev/sda',
  'tune2fs -l /dev/sda',
  'hdparm -tT /dev/sda',
  'debugfs -R stats /dev/sda',
  'nvme id-ctrl /dev/sda',
  'e2fsck -n /dev/sda',
  'e2fsck -p /dev/sda',
  'resize2fs /dev/sda',
  'tune2fs -L x /dev/sda',
  'umount /dev/sda',
]

const CHANGES: readonly string[] = [
  'parted /dev/sda',
  'parted /dev/sda mklabel gpt',
  'parted /dev/sda print rm 1',
  'parted -s /dev/sda "$X"',
  'gdisk /dev/sda',
  'sgdisk -Z /dev/sda',
  'sgdisk -pZ /dev/sda',
  'fdisk /dev/sda',
  'sfdisk /dev/sda',
  'cryptsetup luksFormat /dev/sda',
  'wipefs -a /dev/sda',
  'wipefs -af /dev/sda',
  'wipefs --al /dev/sda',
  'badblocks -wsv /dev/sda',
  'hdparm --security-erase x /dev/sda',
  'debugfs -w /dev/sda',
]

t.test('a program for disks that only looks at one, or keeps what lies on it, does not write it', (t) => {
  for (const line of LOOKS) t.notOk(pathsOf(commandsOf(line)).includes('write /dev/sda'), line)
  t.end()
})

t.test('a program for disks that is not known to look writes the disk', (t) => {
  for (const line of CHANGES) t.ok(pathsOf(commandsOf(line)).includes('write /dev/sda'), line)
  t.end()
})
