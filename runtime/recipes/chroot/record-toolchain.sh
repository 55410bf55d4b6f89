#!/bin/bash
# In the chroot: what the wheels were built with. Debian's versions float, so they are recorded.
set -euo pipefail
echo "# Debian packages"
dpkg-query -W -f '${Package} ${Version}\n' \
  binaryen clang-21 cmake emscripten libc++-21-dev lld-21 python3.14 nodejs 2>/dev/null || true
echo "# Debian sources"
cd /w/debsrc && sha256sum -- $(printf '%s\n' *.orig.tar.?z* | grep -v '[.]asc$')
# Of this package there are files in a wheel.
apt-cache show "libpython3.14-stdlib=$(dpkg-query -W -f '${Version}' libpython3.14-stdlib)" |
  awk '$1 == "Filename:" { sub(".*/", "", $2); file = $2 } $1 == "SHA256:" { digest = $2 } END { print digest "  " file }'
echo "# build environment"
/w/venv/bin/pip freeze --all
