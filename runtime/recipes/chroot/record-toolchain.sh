#!/bin/bash
# In the chroot: what the wheels were built with. Debian's versions float, so they are recorded.
set -euo pipefail
echo "# Debian packages"
dpkg-query -W -f '${Package} ${Version}\n' \
  binaryen clang-21 cmake emscripten libc++-21-dev lld-21 python3.14 nodejs 2>/dev/null || true
echo "# Debian sources"
cd /w/debsrc && sha256sum -- $(printf '%s\n' *.orig.tar.?z* | grep -v '[.]asc$')
echo "# build environment"
/w/venv/bin/pip freeze --all
