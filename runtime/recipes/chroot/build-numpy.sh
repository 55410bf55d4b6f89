#!/bin/bash
# In the chroot, after build-openblas.sh: numpy for the sandbox, then a native numpy in the venv with the target's headers.
#
# With --plain: numpy without SIMD, in /w/whl-plain; for measurements, and nothing is built with it.
set -euo pipefail
plain=0
[ "${1-}" != --plain ] || plain=1
. /w/recipes/chroot/env.sh
unpack numpy-2.4.6
# numpy declares LAPACK's subroutines as returning int: another signature than that of the library.
perl -0pi -e 's/extern "C" fortran_int\s+FNAME\((?!i[sdcz]am)/extern "C" void\nFNAME(/g' numpy/linalg/umath_linalg.cpp
sed -i -E 's/^static fortran_int (copy|getrf)\(/static void \1(/' numpy/linalg/umath_linalg.cpp
perl -0pi -e 's/extern fortran_int FNAME\((?!xerbla)/extern void FNAME(/g;
  s/extern fortran_int FNAME\(xerbla\)\(char \*srname, fortran_int \*info\)/extern void FNAME(xerbla)(char *srname, fortran_int *info, fortran_int)/;
  s/FNAME\(xerbla\)\("test", &info\)/FNAME(xerbla)("test", &info, 4)/;
  s/lapack_lite_status =\s*\n/lapack_lite_status = 0;\n/g' numpy/linalg/lapack_litemodule.c
# Loads the library before the extension modules that take their symbols from it; a place that numpy keeps for distributors.
cp /w/recipes/lapack/load.py numpy/_distributor_init_local.py
mapfile -t options < <(meson_options /w/numpy-build)
simd="'-msimd128'"
[ $plain = 0 ] || simd=
sed "s|^\[properties\]|[built-in options]\nc_args = [$simd]\ncpp_args = [$simd]\n\n[properties]|" \
  /w/recipes/chroot/cross.ini > /w/numpy.ini
[ $plain = 0 ] || options+=(--outdir /w/whl-plain)
build_wheel "${options[@]/cross.ini/..\/..\/numpy.ini}" \
  -Csetup-args=-Dallow-noblas=false -Csetup-args=-Dblas=openblas -Csetup-args=-Dlapack=openblas \
  -Csetup-args=-Dcpu-baseline=none -Csetup-args=-Dcpu-dispatch=none \
  -Csetup-args=-Ddisable-optimization=true
[ $plain = 0 ] || exit 0

# pandas, contourpy and matplotlib ask an importable numpy where its headers are. They get a native
# one whose headers and static libraries are the target's.
env -u _PYTHON_HOST_PLATFORM -u _PYTHON_SYSCONFIGDATA_NAME -u PYTHONPATH \
  nice -n 10 /w/venv/bin/pip install -q --only-binary :all: numpy==2.4.6
unzip -qo /w/whl/numpy-2.4.6-*.whl 'numpy/_core/include/*' 'numpy/_core/lib/*' 'numpy/random/lib/*' \
  -d /w/venv/lib/python3.14/site-packages
