#!/bin/bash
# In the chroot: numpy for the sandbox, then a native numpy in the venv with the target's headers.
set -euo pipefail
. /w/recipes/chroot/env.sh
unpack numpy-2.4.6
mapfile -t options < <(meson_options /w/numpy-build)
# No BLAS: numpy's own lapack_lite. No SIMD: the baseline is plain wasm32.
build_wheel "${options[@]}" \
  -Csetup-args=-Dallow-noblas=true -Csetup-args=-Dblas=none -Csetup-args=-Dlapack=none \
  -Csetup-args=-Dcpu-baseline=none -Csetup-args=-Dcpu-dispatch=none \
  -Csetup-args=-Ddisable-optimization=true

# pandas, contourpy and matplotlib ask an importable numpy where its headers are. They get a native
# one whose headers and static libraries are the target's.
env -u _PYTHON_HOST_PLATFORM -u _PYTHON_SYSCONFIGDATA_NAME -u PYTHONPATH \
  nice -n 10 /w/venv/bin/pip install -q --only-binary :all: numpy==2.4.6
unzip -qo /w/whl/numpy-2.4.6-*.whl 'numpy/_core/include/*' 'numpy/_core/lib/*' 'numpy/random/lib/*' \
  -d /w/venv/lib/python3.14/site-packages
