#!/bin/bash
# In the chroot: build-cffi.sh cffi-2.1.1. cffi, and an extension module in its API mode, for the tests, as wheels in /w/whl.
# libffi itself is in the main module: its headers are enough.
set -euo pipefail
# What turns declarations into C runs on this machine.
nice -n 10 python3.14 -m venv --clear /w/cffi-venv
nice -n 10 /w/cffi-venv/bin/pip install -q "cffi==${1#cffi-}" pycparser==3.12
rm -rf /w/cffi-sample && mkdir /w/cffi-sample
(cd /w/cffi-sample && /w/cffi-venv/bin/python /w/recipes/tests/cffi_sample.py _cffi_sample.c)

. /w/recipes/chroot/libs.sh
. /w/recipes/chroot/env.sh
source_of libffi
# What its configure would fill in for this target: a long double that is bigger than double, no trampoline tables.
sed -e 's/@TARGET@/WASM32_EMSCRIPTEN/; s/@HAVE_LONG_DOUBLE@/1/; s/@FFI_EXEC_TRAMPOLINE_TABLE@/0/' \
  -e 's/@FFI_VERSION_NUMBER@/0/; s/@[A-Z_]*@//' libffi-src/include/ffi.h.in > "$prefix/include/ffi.h"
cp libffi-src/src/wasm/ffitarget.h "$prefix/include/"
# Empty, for the linker's -lffi.
rm -f "$prefix/lib/libffi.a" && emar cr "$prefix/lib/libffi.a"

export CFLAGS="-O2 -DNDEBUG -I$prefix/include" LDFLAGS="-L$prefix/lib" PKG_CONFIG=/w/cross/pkg-config
unpack "$1"
build_wheel

cd /w/cffi-sample
cat > setup.py <<'EOF'
from setuptools import Extension, setup

setup(name="cffi-sample", version="1", ext_modules=[Extension("_cffi_sample", ["_cffi_sample.c"])])
EOF
build_wheel
