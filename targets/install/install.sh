#!/bin/sh
# Installs sass-edge from the directory that this script lies in; needs no network. Again is an upgrade.
#   install.sh [--uninstall [--purge]]
# An installed configuration is never changed, and state is kept unless --purge is given. DESTDIR installs into the root
# of an image: files only, nothing is started.
set -eu

here=$(dirname "$0")
root=${DESTDIR:-}
action=install
purge=no
for word in "$@"; do
  case $word in
    --uninstall) action=uninstall ;;
    --purge) purge=yes ;;
    --help | -h)
      sed -n '2,5s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *)
      echo "install.sh: $word is no option: --uninstall and --purge are." >&2
      exit 125
      ;;
  esac
done
if [ "$purge" = yes ] && [ "$action" = install ]; then
  echo "install.sh: --purge goes with --uninstall, and nothing was changed." >&2
  exit 125
fi
if [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
  echo "install.sh: this needs root, and nothing was changed: run it with sudo, or set DESTDIR." >&2
  exit 125
fi

has_systemd() { [ -z "$root" ] && [ -d /run/systemd/system ]; }

# file, place, mode
list() {
  cat <<'END'
default-rules.json usr/share/sass-edge/default-rules.json 644
man/sass-edge.1 usr/share/man/man1/sass-edge.1 644
man/sass-edge.json.5 usr/share/man/man5/sass-edge.json.5 644
LICENSE usr/share/doc/sass-edge/copyright 644
LICENSE.node usr/share/doc/sass-edge/copyright.node 644
sbom.cdx.json usr/share/doc/sass-edge/sbom.cdx.json 644
systemd/sass-edge.service usr/lib/systemd/system/sass-edge.service 644
systemd/sass-edge.socket usr/lib/systemd/system/sass-edge.socket 644
systemd/sysusers.conf usr/lib/sysusers.d/sass-edge.conf 644
systemd/tmpfiles.conf usr/lib/tmpfiles.d/sass-edge.conf 644
systemd/unprivileged.conf usr/share/doc/sass-edge/examples/unprivileged.conf 644
openrc/sass-edge usr/share/doc/sass-edge/examples/openrc/sass-edge 755
procd/sass-edge usr/share/doc/sass-edge/examples/procd/sass-edge 755
fail2ban/filter.conf usr/share/doc/sass-edge/examples/fail2ban/filter.conf 644
fail2ban/jail.conf usr/share/doc/sass-edge/examples/fail2ban/jail.conf 644
sass.edge.schema.json etc/sass-edge/sass.edge.schema.json 644
sass-edge usr/bin/sass-edge 755
END
}

# The old file or the new one, whole, also when the power goes.
put() {
  mkdir -p "$root/$(dirname "$2")"
  cp "$here/$1" "$root/$2.new"
  chmod "$3" "$root/$2.new"
  mv -f "$root/$2.new" "$root/$2"
}

if [ "$action" = uninstall ]; then
  if has_systemd; then
    systemctl disable --now sass-edge.service sass-edge.socket 2>/dev/null || true
  fi
  list | while read -r _ place _; do
    case $place in
      etc/*) ;;
      *) rm -f "$root/$place" ;;
    esac
  done
  for directory in usr/share/doc/sass-edge/examples/openrc usr/share/doc/sass-edge/examples/procd \
    usr/share/doc/sass-edge/examples/fail2ban usr/share/doc/sass-edge/examples usr/share/doc/sass-edge \
    usr/share/sass-edge; do
    rmdir "$root/$directory" 2>/dev/null || true
  done
  if [ "$purge" = yes ]; then
    # A volume of its own cannot go: it stays, empty.
    rm -rf "$root/etc/sass-edge" "$root/var/lib/sass-edge" || [ -z "$(ls -A "$root/var/lib/sass-edge")" ]
    echo "sass-edge is removed, with its configuration, keys and records."
  else
    echo "sass-edge is removed; $root/etc/sass-edge and $root/var/lib/sass-edge are kept (--purge takes them too)."
  fi
  if has_systemd; then systemctl daemon-reload; fi
  exit 0
fi

# Everything is there and the binary runs on this machine, before anything is replaced.
list | while read -r file _ _; do
  if [ ! -f "$here/$file" ]; then
    echo "install.sh: $here/$file is missing, and nothing was changed: unpack the whole archive." >&2
    exit 125
  fi
done
if [ -z "$root" ] && ! "$here/sass-edge" version >/dev/null; then
  echo "install.sh: $here/sass-edge does not run here, and nothing was changed: take the archive for this processor; it needs glibc 2.29, libstdc++ and libatomic." >&2
  exit 125
fi
# A daemon that could not use what is there would leave the device without one: an older program says so here.
config=/etc/sass-edge/sass.edge.json
if [ -z "$root" ] && [ -e "$config" ] && ! "$here/sass-edge" check --state --config "$config" >/dev/null; then
  echo "install.sh: this version cannot use the configuration or the state of this device, and nothing was changed: $here/sass-edge check --state --config $config says more." >&2
  exit 125
fi

list | while read -r file place mode; do put "$file" "$place" "$mode"; done
if [ ! -e "$root/etc/sass-edge/sass.edge.json" ]; then put sass.edge.json etc/sass-edge/sass.edge.json 644; fi
mkdir -p "$root/var/lib/sass-edge"
chmod 0700 "$root/var/lib/sass-edge"

if [ -z "$root" ] && command -v systemd-sysusers >/dev/null 2>&1; then systemd-sysusers sass-edge.conf || true; fi
if has_systemd; then
  systemctl daemon-reload
  systemctl try-restart sass-edge.service
fi
echo "sass-edge is installed: $root/usr/bin/sass-edge"
echo "Next: sass-edge agent add NAME --key NAME.pub, then systemctl enable --now sass-edge"
