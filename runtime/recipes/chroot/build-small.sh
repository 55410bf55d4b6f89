#!/bin/bash
# In the chroot: build-small.sh markupsafe-3.0.4 | pyyaml-6.0.3 | regex-2026.11.15 | zstandard-0.25.0 | fastparquet-2026.9.0 |
# brotli-1.2.1. Extension modules in C that need little.
set -euo pipefail
. /w/recipes/chroot/env.sh
export CFLAGS="-O2 -DNDEBUG"
name=${1%-*}
options=()
unpack "$1"
case $name in
  markupsafe)
    # Without it a failed compilation makes a pure wheel.
    export CIBUILDWHEEL=1
    ;;
  pyyaml)
    # libyaml from Debian's source; Cython's modules are made from the sdist's own .pyx.
    . /w/recipes/chroot/libs.sh
    . /w/recipes/chroot/env.sh
    source_of libyaml
    cd libyaml-src
    mkdir -p objects
    for source in src/*.c; do
      "$CC" -c -O2 -DNDEBUG -Iinclude -DYAML_VERSION_STRING='"0.2.5"' -DYAML_VERSION_MAJOR=0 \
        -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 "$source" -o "objects/$(basename "$source" .c).o"
    done
    rm -f "$prefix/lib/libyaml.a" && "$AR" crs "$prefix/lib/libyaml.a" objects/*.o
    cp include/yaml.h "$prefix/include/"
    mkdir -p "$prefix/licenses/libyaml" && cp License "$prefix/licenses/libyaml/"
    cd "/w/$1"
    export CFLAGS="$CFLAGS -I$prefix/include" LDFLAGS="-L$prefix/lib" PYYAML_FORCE_LIBYAML=1 PYYAML_FORCE_CYTHON=1
    ;;
  regex | zstandard | brotli) ;;
  fastparquet)
    # Its setup asks what processor it runs on.
    sed -i "s|_machine = platform.machine()|_machine = ''|" setup.py
    ;;
  *) echo "no recipe for $name" >&2; exit 1 ;;
esac
build_wheel "${options[@]}"
# Each is of use only with its extension module.
unzip -Z1 /w/whl/"$name"-*.whl '*.so' || { echo "$name: no extension module was built" >&2; exit 1; }
