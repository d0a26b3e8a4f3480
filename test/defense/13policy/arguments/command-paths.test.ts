/**
 * The paths that commands use: which they are, whether they are read or written, and how far they are known.
 * @module
 */
import t from 'tap'
import { commandsOf, pathsOf } from '../unwrap-staged.ts'

const PATHS: readonly (readonly [string, readonly string[]])[] = [
  ['rm build', ['write /srv/work/build']],
  ['python3 x.py --output /srv/a', ['mention /srv/a', 'read /srv/work/x.py']],
  ['jo key=@/srv/a', ['read /srv/work/key=@/srv/a']],
  ['rm -rf ./build/../x', ['write /srv/work/x']],
  ['rm -- -x', ['write /srv/work/-x']],
  ['rm -rf ../../..', ['write /']],
  ['rm -rf ../x', ['write /srv/x']],
  ['cd ../..; rm -rf etc', ['mention /', 'write /etc', 'write /srv/work/etc']],
  ['cd ..; rm -rf etc', ['mention /srv', 'write /srv/etc', 'write /srv/work/etc']],
  ['cd a/b && rm -rf ../../x', ['mention /srv/work/a/b', 'write /srv/work/x']],
  ['rm -rf "$PWD/../x"', ['write /srv/x']],
  ['rm -rf `pwd`/../x', ['write / ...']],
  ['rm -rf "$(dirname "$PWD")/x"', ['mention /srv/work', 'write / ...']],
  ['rm -rf ${PWD%/*}/x', ['write /srv/x']],
  ['rm -rf ${PWD%/some/where}/x', ['write /srv/work/x']],
  ['rm -rf ${PWD%/}/x', ['write /srv/work/x']],
  ['rm -rf ${PWD##*/}', ['write /srv/work/work']],
  ['rm -rf ${HOME%/*}', ['write /home']],
  ['cd /tmp/x && rm -rf ../y', ['mention /tmp/x', 'write /tmp/y']],
  ['> $X', ['write / ...']],
  ['rm -rf "$X"/y/z', ['write / ...']],
  ['rm -rf //etc/./x', ['write /etc/x']],
  ['rm -rf ~', ['write /home/agent']],
  ['rm -rf ~/x; true', ['write /home/agent/x']],
  ['rm -rf $HOME/x', ['write /home/agent/x']],
  ['rm -rf /etc/*', ['write /etc/* *']],
  ['rm -rf /var/$X', ['write /var ...']],
  ['rm -rf $X', ['write / ...']],
  ['rm -rf build/$X/../../../etc', ['write / ...']],
  ['rm -rf build/$X/../y', ['write /srv/work/build ...']],
  ['cd /etc && rm passwd', ['write /etc/passwd', 'mention /etc'].sort()],
  ['curl -s file://localhost/srv/a https://a.example/file:/x', ['read /srv/a']],
  ['curl --url file:/srv/a', ['read /srv/a']],
  ['rmdir a', ['write /srv/work/a']],
  ['unlink a', ['write /srv/work/a']],
  ['shred -n 3 a', ['write /srv/work/a']],
  ['mv a /b', ['write /b', 'write /srv/work/a']],
  ['mv -t /b a', ['write /b', 'write /srv/work/a']],
  ['cp /a /b', ['read /a', 'write /b']],
  ['cp -r /a /b /c', ['read /a', 'read /b', 'write /c']],
  ['cp -t /c /a', ['read /a', 'write /c']],
  ['cp --target-directory=/c /a', ['read /a', 'write /c']],
  ['install -m 755 a /b', ['read /srv/work/a', 'write /b']],
  ['install -d /b', ['write /b']],
  ['ln -sf /a /b', ['read /a', 'write /b']],
  ['rsync -a /a h:/b', ['read /a']],
  ['rsync -a h:/a /b', ['write /b']],
  ['scp -i /k h:/a /b', ['read /k', 'write /b']],
  ['tee -a /b', ['write /b']],
  ['x --outputFile=/b --output-dir=/c --log-file=/d', ['write /b', 'write /c', 'write /d']],
  ['x --output-format=/b --outer=/c', ['read /b', 'read /c']],
  ['udevadm info -n /dev/video0', ['mention /dev/video0']],
  ['sv status /etc/service/x', ['mention /etc/service/x']],
  ['dd if=/a of=/b bs=1M', ['read /a', 'write /b']],
  ['touch -r /a /b', ['read /a', 'write /b']],
  ['truncate -s 0 /b', ['write /b']],
  ['mkdir -p -m 700 /b', ['write /b']],
  ['chmod -R 777 /b', ['write /b']],
  ['chmod --reference=/a /b', ['read /a', 'write /b']],
  ['chown root:root /b', ['write /b']],
  ['chattr +i /b', ['write /b']],
  ['setfacl -m u:a:rwx /b', ['write /b']],
  ["sed -i 's/a/b/' /b", ['write /b']],
  ["sed 's/a/b/' /b", ['read /b']],
  ["sed -n 'w /c' /b", ['read /b', 'write /c']],
  ["sed 's/a/b/w /c' /b", ['read /b', 'write /c']],
  ["perl -pi -e 's/a/b/' /b", ['mention /b', 'write /b']],
  ['sort -o /b /a', ['read /a', 'write /b']],
  ['tar -xf /a -C /b', ['read /a', 'write /b']],
  ['tar xf /a', ['read /a', 'write /srv/work']],
  ['tar -czf /b /a', ['read /a', 'write /b']],
  ['tar czf /b /a', ['read /a', 'write /b']],
  ['unzip /a -d /b', ['read /a', 'write /b']],
  ['curl -o /b http://h/a', ['write /b']],
  ['curl -O http://h/a', []],
  ['curl -d @/a http://h/', ['read /a']],
  ['curl --data-binary=@/a http://h/', ['read /a']],
  ['curl -T /a http://h/', ['read /a']],
  ['curl -F x=@/a http://h/', []],
  ['curl file:///a', ['read /a']],
  ['wget -O /b http://h/a', ['write /b']],
  ['wget -P /b http://h/a', ['write /b']],
  ['wget --post-file=/a http://h/', ['read /a']],
  ['git clone u /b', ['write /b']],
  ['git -C /b status', ['mention /b']],
  ['find . -fprintf /b x', ['mention /srv/work', 'mention /srv/work/x', 'write /b']],
  ['gcc a.c -o/b', ['read /srv/work/a.c', 'write /b']],
  ['uniq a /b', ['read /srv/work/a', 'write /b']],
  ['tar -xPf /a', ['read /a', 'write / ...', 'write /srv/work']],
  ['chmod -x /b', ['write /b']],
  ['mkfs.ext4 /dev/sda1', ['write /dev/sda1']],
  ['mkfs -t ext4 /dev/sda1', ['write /dev/sda1']],
  ['fdisk /dev/sda', ['mention /dev/sda']],
  ['echo x > /b', ['write /b']],
  ['echo x >> b', ['write /srv/work/b']],
  ['> /b', ['write /b']],
  ['cat < /a', ['read /a']],
  ['cat /a b', ['read /a', 'read /srv/work/b']],
  ['head -n 5 /a', ['read /a']],
  ['grep x /a', ['read /a']],
  ['grep -e x /a', ['read /a']],
  ['grep -f /p /a', ['read /a', 'read /p']],
  ['less /a', ['read /a']],
  ['ls /a', ['mention /a']],
  ['gcc f.c -o/b', ['read /srv/work/f.c', 'write /b']],
  ['nm -D @/b', ['read /srv/work/@/b']],
  ['ffmpeg -i concat:/b c', ['read /srv/work/concat:/b', 'write /srv/work/c']],
  ['date -f /b', ['read /b']],
  ['dmesg -F /b', ['read /b']],
  ['file -f /b', ['read /b']],
  ['strip -o /b c', ['write /b', 'write /srv/work/c']],
  ['tree -o /b', ['write /b']],
  ['git clean -fdx /b', ['write /b']],
  ['git -C /b checkout -- .', ['mention /b', 'read /b']],
  ['tar -cf c -C /b d', ['read /b/d', 'write /b', 'write /srv/work/c']],
  ['fdisk -l /b', ['mention /b']],
  ['fdisk /b', ['mention /b']],
  ['hdparm -I /b', ['read /b']],
  ['e2fsck -y /b', ['mention /b']],
  [['cat $', '{x:-/b/c}'].join(''), ['read /b ...', 'read /b/c']],
  ['find /a -delete', ['mention /a', 'write /a']],
  ['find /a -name x -delete -o -exec rm {} \\;', ['mention /a', 'write /a', 'write /a ...']],
  ['find /a -fprintf', ['mention /a']],
  [
    'unknown /a b ./c --x=/d -I/e f=/g',
    ['read /a', 'read /d', 'read /e', 'read /srv/work/c', 'read /srv/work/f=/g'],
  ],
  ['unknown http://h/a', []],
  ["git commit -m '/etc/passwd'", []],
  ['echo /etc/passwd', []],
  ['sh /a', ['read /a']],
  ['sh < /a', ['read /a']],
  ['. /a; true', ['read /a']],
  ['python3 /a /b', ['mention /a', 'mention /b', 'read /a']],
  ['env -C /a rm b', ['read /a', 'write /a/b']],
  ['awk \'{print > "/a"}\' /b', ['read /b', 'write /a']],
]

t.test('a command uses the paths of its operands, options, redirections and code', (t) => {
  for (const [line, expected] of PATHS) t.strictSame(pathsOf(commandsOf(line)), [...expected].sort(), line)
  t.end()
})

t.test('a relative path after a change to an unknown directory is not known', (t) => {
  const paths = pathsOf(commandsOf('cd $X; rm b').filter(({ names }) => names.includes('rm')))
  t.ok(paths.includes('write / ...'), paths.join(', '))
  t.end()
})

t.test('a tilde that no shell has read may be the home directory or a name', (t) => {
  t.strictSame(pathsOf(commandsOf(['rm', '~/x'])), ['write /home/agent/x', 'write /srv/work/~/x'])
  t.end()
})

t.test('what is longer than any path is none', (t) => {
  t.strictSame(pathsOf(commandsOf(['rm', `/${'a/'.repeat(10_000)}`])), [])
  t.end()
})

t.test('a switch takes no operand with it', (t) => {
  for (const line of [
    'cat -t /srv/a b',
    'wc -c /srv/a',
    'wc -l /srv/a b',
    'comm -1 /srv/a b',
    'comm -23 b /srv/a',
    'diff -n /srv/a b',
    'diff -U 3 /srv/a b',
    'cut -s -f 2 /srv/a',
    'column -t /srv/a',
    'paste -s /srv/a b',
    'fold -s /srv/a',
    'od -c /srv/a',
    'hexdump -c /srv/a',
    'zcat -k /srv/a',
    'sha256sum -c /srv/a',
    'file -s /srv/a',
    'coreutils --coreutils-prog=cat /srv/a',
    'git blame --contents /srv/a b',
  ])
    t.ok(pathsOf(commandsOf(line)).includes('read /srv/a'), line)
  t.end()
})

t.test('an option whose name is that of an output is given a place to write to', (t) => {
  for (const line of [
    'tool --output=/srv/a',
    'tool --output-dir /srv/a',
    'tool --log-file=/srv/a',
    'pip download -d /srv/a x',
  ])
    t.ok(pathsOf(commandsOf(line)).includes('write /srv/a'), line)
  for (const line of [
    'tool --heap-dump-path=/srv/a',
    'tool --trace on /srv/a',
    'tool --config=/srv/a',
    'tool "say --out=/srv/a now"',
  ])
    t.notOk(pathsOf(commandsOf(line)).includes('write /srv/a'), line)
  t.end()
})
