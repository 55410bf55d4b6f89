#!/bin/bash
# A Debian sid chroot with Emscripten and CPython 3.14. Environment: ROOT, MIRROR.
set -euo pipefail
: "${ROOT:?}" "${MIRROR:?}"
[ -x "$ROOT/usr/bin/apt-get" ] ||
  nice -n 10 debootstrap --variant=minbase --include=ca-certificates,xz-utils sid "$ROOT" "$MIRROR"
# Name service and certificates of the host: its mirror or index may be reached through a proxy.
cp /etc/resolv.conf "$ROOT/etc/resolv.conf"
cp /etc/ssl/certs/ca-certificates.crt "$ROOT/etc/ssl/certs/ca-certificates.crt"
cat > "$ROOT/etc/apt/apt.conf.d/99recipes" <<'EOF'
Acquire::Check-Valid-Until "false"; // the mirror may be a frozen snapshot
APT::Install-Recommends "false";
EOF
printf 'deb %s sid main\ndeb-src %s sid main\n' "$MIRROR" "$MIRROR" > "$ROOT/etc/apt/sources.list"
rm -f "$ROOT"/etc/apt/sources.list.d/*
mountpoint -q "$ROOT/proc" || mount -t proc proc "$ROOT/proc"
chroot "$ROOT" apt-get update -q
DEBIAN_FRONTEND=noninteractive nice -n 10 chroot "$ROOT" apt-get install -y -q \
  binaryen cmake curl dpkg-dev emscripten f2c g++ gcc git make ninja-build patch pkg-config \
  python3.14 python3.14-dev python3.14-venv unzip wabt zip
