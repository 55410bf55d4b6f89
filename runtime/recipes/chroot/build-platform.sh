#!/bin/bash
# In the chroot: build-platform.sh. What the standard library needs of the host, and modules that the interpreter's package leaves
# out, from Debian's libpython3.14-stdlib, as one wheel.
set -euo pipefail
. /w/recipes/chroot/env.sh
export CFLAGS="-O2 -DNDEBUG -msimd128"
rm -rf /w/platform && cp -r /w/recipes/platform /w/platform
cd /w/platform
cp -r /usr/lib/python3.14/{dbm,pydoc_data,_pydecimal.py} .
rm -rf {dbm,pydoc_data}/__pycache__
cp /usr/share/doc/libpython3.14-stdlib/copyright LICENSE-PYTHON
build_wheel
