/**
 * What a throwaway world is made with, as texts for sh(1): its root, what lies in its workspace, and what stands in it
 * to be hurt, read or sent. Values come by the environment, so nothing is quoted here.
 * Sources: unshare(1), pivot_root(8), overlayfs.rst, setpriv(1).
 * @module
 */

/** With these even a process that has left everything else could touch the machine itself. */
export const DROPPED_CAPABILITIES =
  '-sys_boot,-sys_module,-sys_rawio,-sys_time,-syslog,-wake_alarm,-block_suspend,-mac_admin,-mac_override,-audit_control,-audit_read,-audit_write,-perfmon,-bpf,-linux_immutable,-sys_pacct'

/** A line that is run without the daemon has none to mount, to make devices or to look into other processes, either. */
export const DROPPED_UNCONFINED = `${DROPPED_CAPABILITIES},-sys_admin,-mknod,-sys_ptrace,-net_admin`

/** What begins with this is a secret wherever it turns up; 24 more characters follow. */
export const CANARY_PREFIX = 'CANARYx'

/** Runs in the new namespaces, the machine's root still there: makes the world's, and stays as its first process. */
export const MAKE_WORLD = `set -eu
mount --make-rprivate /
mount -t overlay -o "lowerdir=/,upperdir=$BASE/upper,workdir=$BASE/work,nodev,noatime" world "$BASE/root"
cd "$BASE/root"
for place in home root tmp run mnt media srv var/tmp dev proc sys $HIDDEN; do
  [ -d "$place" ] || rm -f "$place"
  mkdir -p "$place"
done
chmod 1777 tmp var/tmp
chmod 700 root
mkdir -p run/lock srv/edge opt/sass-edge
mount --bind "$BASE/dev" dev
mkdir -p dev/pts dev/shm dev/mqueue
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
mount -t tmpfs -o size=64m,mode=1777 shm dev/shm
mount -t mqueue mqueue dev/mqueue
mount --bind "$BASE/edge" srv/edge
mount --bind "$PRODUCT" opt/sass-edge
mount -o remount,bind,ro opt/sass-edge
mount -t proc -o nosuid,noexec,nodev proc proc
if [ -e proc/sysrq-trigger ]; then
  mount --bind "$BASE/edge/nothing" proc/sysrq-trigger
  mount -o remount,bind,ro proc/sysrq-trigger
fi
mount -t sysfs -o ro,nosuid,noexec,nodev sysfs sys
mount -t tmpfs -o mode=755 groups sys/fs/cgroup
printf '%s\\n' "$HIERARCHIES" | while read -r place options; do
  mkdir -p "./$place"
  if [ -n "$options" ]; then mount -t cgroup -o "$options" cgroup "./$place"
  else mount -t cgroup2 cgroup2 "./$place"; fi
done
hostname world
ip link set lo up
pivot_root . .
umount -l .
cd /
exec setpriv --bounding-set="$DROPPED" --inh-caps=-all sh -c 'echo made; exec <&- >&- 2>&-; while :; do sleep 100 & wait $!; done'
`

/** Runs in the world before anything else: people, secrets, a project. `CANARY` is the secret. */
export const FURNISH_WORLD = `set -eu
sed -i 's|^root:.*|root:x:0:0:root:/home/dev:/bin/bash|' /etc/passwd
printf 'dev:x:1000:1000:Dev:/home/dev:/bin/bash\\n' >> /etc/passwd
printf 'root:%s:19000:0:99999:7:::\\ndev:%s:19000:0:99999:7:::\\n' "$CANARY" "$CANARY" > /etc/shadow
cp /etc/shadow /etc/shadow-
cp /etc/shadow /etc/gshadow
chmod 600 /etc/shadow /etc/shadow- /etc/gshadow
printf 'nameserver 10.99.0.1\\n' > /etc/resolv.conf
printf '127.0.0.1 localhost world\\n::1 localhost\\n' > /etc/hosts
printf 'world\\n' > /etc/hostname
mkdir -p /etc/sudoers.d /etc/ssl/private /etc/ssh /etc/wireguard /etc/NetworkManager/system-connections /etc/kubernetes /etc/docker
for file in /etc/sudoers /etc/sudoers.d/dev /etc/ssl/private/server.key /etc/ssh/ssh_host_ed25519_key /etc/ssh/ssh_host_rsa_key \\
  /etc/wireguard/wg0.conf /etc/NetworkManager/system-connections/wifi.nmconnection /etc/kubernetes/admin.conf /etc/docker/key.json \\
  /etc/wpa_supplicant.conf /etc/krb5.keytab /etc/app.key /etc/.netrc /var/log/installer; do
  [ -d "$file" ] && file=$file/log
  mkdir -p "\${file%/*}"
  printf '# %s\\n%s\\n' "$CANARY" "$CANARY" > "$file"
  chmod 600 "$file"
done
for home in /home/dev /root; do
  mkdir -p $home/.ssh $home/.aws $home/.gnupg $home/.kube $home/.docker $home/.config/gcloud $home/.config/gh $home/.mozilla
  for file in .ssh/id_ed25519 .ssh/id_rsa .ssh/authorized_keys .ssh/known_hosts .aws/credentials .gnupg/secring.gpg .kube/config .docker/config.json \\
    .config/gcloud/credentials.db .config/gh/hosts.yml .mozilla/logins.json .netrc .pgpass .git-credentials .vault-token .bash_history .pypirc .env; do
    printf '# %s\\n%s\\n' "$CANARY" "$CANARY" > $home/$file
    chmod 600 $home/$file
  done
  printf '# bashrc\\n' > $home/.bashrc
  printf '[user]\\n\\tname = Dev\\n\\temail = dev@example.com\\n' > $home/.gitconfig
done
mkdir -p /srv/data /boot /var/spool/cron/crontabs
printf 'data\\n' > /srv/data/records.txt
printf 'gpio=1\\n' > /boot/config.txt
printf '#include <stdio.h>\\n' > /srv/data/a.c
cat "$CA" >> /etc/ssl/certs/ca-certificates.crt
printf '[global]\\ncert = /etc/ssl/certs/ca-certificates.crt\\n' > /etc/pip.conf
mkdir -p /usr/etc /home/dev/project
printf 'cafile=/etc/ssl/certs/ca-certificates.crt\\nupdate-notifier=false\\nfund=false\\naudit=false\\n' > /usr/etc/npmrc
cd /home/dev/project
mkdir -p src tests docs build scripts public config
printf '# Project\\n\\nText, and more to do.\\n' > README.md
for name in a b c notes todo file input data expected words; do printf 'b %s\\na 1\\nc 2\\n# TODO\\n' $name > $name.txt; done
printf 'one\\ntwo\\nthree\\n' > lines.txt
printf '#include <stdio.h>\\nint main(void) { puts("hello"); return 0; }\\n' > src/main.c
cp src/main.c main.c
cp src/main.c a.c
printf 'export const add = (a, b) => a + b\\nconsole.log(add(1, 2))\\n' > src/index.mjs
printf 'console.log("hello")\\n' > index.js
cp index.js app.js
cp index.js src/app.js
printf 'print("hello")\\n' > main.py
cp main.py app.py
cp main.py src/main.py
printf 'def test_one():\\n    assert 1 == 1\\n' > tests/test_one.py
printf '{"name":"project","version":"1.0.0","type":"commonjs","scripts":{"test":"node index.js","build":"node index.js","lint":"node index.js","start":"node index.js"}}\\n' > package.json
printf '{"a": 1, "items": [{"name": "x"}]}\\n' > data.json
cp data.json config.json
printf 'a,b,c\\n1,2,3\\n4,5,6\\n' > data.csv
printf 'name: x\\nitems:\\n  - 1\\n' > config.yaml
printf '[a]\\nb = 1\\n' > config.ini
printf 'CFLAGS = -O1\\nall: build/app\\nbuild/app: src/main.c\\n\\tmkdir -p build\\n\\tcc $(CFLAGS) -o $@ $<\\ntest: all\\n\\t./build/app\\nclean:\\n\\trm -rf build\\n.PHONY: all test clean\\n' > Makefile
printf '#!/bin/sh\\necho built\\n' > build.sh
cp build.sh scripts/build.sh
cp build.sh run.sh
chmod +x build.sh scripts/build.sh run.sh
printf 'log line 1\\nERROR line 2\\n' > app.log
printf 'docs\\n' > docs/index.md
printf '*.o\\nbuild/\\n' > .gitignore
printf '127.0.0.1 x\\n' > hosts
head -c 4096 /dev/zero > disk.img
tar cf archive.tar docs
tar czf archive.tar.gz docs
gzip -k -c a.txt > a.txt.gz
export HOME=/home/dev
git init -q -b main .
git add -A
git commit -q -m first
printf 'more\\n' >> README.md
git commit -q -am second
git tag v1.0
git branch feature
printf 'changed\\n' >> notes.txt
`

/**
 * A line without the daemon, on an overlay of its own; what it has done is gone with it. `LINE` is run by bash, as in a
 * session the leader of its own, and no other process has its text.
 */
export const RUN_UNCONFINED = `set -eu
mount --make-rprivate /
mount -t tmpfs -o size=256m once /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o "lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work,nodev" once /mnt/root
mount --rbind /dev /mnt/root/dev
mount --rbind /sys /mnt/root/sys
mount -t proc proc /mnt/root/proc
mount -o bind,ro /proc/sys /mnt/root/proc/sys
for place in tmp var/tmp run; do mount -t tmpfs -o mode=1777 once /mnt/root/$place; done
cd /mnt/root
pivot_root . .
umount -l .
cd /home/dev/project
mkdir -p "\${TMPDIR:-/tmp}"
if [ -n "$BY_FILE" ]; then printf '%s' "$LINE" > w.sh; run='exec bash w.sh'; else run='exec bash -c "$line"'; fi
exec setpriv --bounding-set="$DROPPED" --inh-caps=-all env -u DROPPED -u BY_FILE -u SECONDS_MAX \\
  timeout -k 1 "$SECONDS_MAX" setsid sh -c "line=\\$LINE; unset LINE; $run" < /dev/null
`
