#!/bin/bash
# In the chroot, after build-openblas.sh and build-numpy.sh: scipy without Fortran (no scipy.odr) and without pythran.
set -euo pipefail
. /w/recipes/chroot/env.sh
unpack scipy-1.18.0
# One signature per symbol.
perl -0pi -e 's/CBLAS_INT\s*\nBLAS_FUNC\(([sdcz]getr[if])/void\nBLAS_FUNC($1/g' scipy/linalg/src/_common_array_utils.hh
sed -i -E '/BLAS_FUNC\(dlagtm\)/{s/, int\);/);/; s/, 1\);/);/}' scipy/optimize/_trlib/trlib_private.h
sed -i -E '/gees__user__routines,&n/s/,&info,1,1\)/,\&info)/
  /callprotoargument char\*,char\*,F_INT\(\*\)\(<ctype2c?>\*/s/,F_INT,F_INT$//' scipy/linalg/flapack_gen.pyf.src
# expm takes infinity for no scaling, as it becomes the smallest integer on x86; here it would be the largest, and the scaling without end.
sed -i -E 's/\(int\)(ceilf?\(log2f?\(.*\));$/to_int(\1);/
  1astatic inline int to_int(double x) { return x < 2147483648.0 ? (int)x : INT_MIN; }' scipy/linalg/src/_matfuncs_expm.c
[ "$(grep -c 'to_int(ceil' scipy/linalg/src/_matfuncs_expm.c)" = 24 ]
# exit() would become an import that only JavaScript provides.
grep -lrE '\bexit *\(' scipy/sparse/linalg/_dsolve/SuperLU scipy/optimize/_direct subprojects/unuran/unuran/src \
  --include=*.c --include=*.h | xargs sed -i -E 's/\bexit *\(/_Exit(/g'
sed -i 's/^    exit(exitcode);/    _Exit(exitcode);/' subprojects/qhull_r/libqhull_r/usermem_r.c
grep -lrE '\bexit *\(' subprojects/highs/highs/pdlp --include=*.c --include=*.h --include=*.cpp |
  xargs sed -i -E 's/([^:_a-zA-Z])exit *\(/\1_Exit(/g'
# There are no threads, and thread-local statics would import an initialiser that nobody has.
sed -i -E 's/\bthread_local +//' subprojects/highs/highs/parallel/HighsTaskExecutor.{h,cpp}
sed -i 's/^PARALLELISM = 0$/PARALLELISM = 1/' scipy/io/_fast_matrix_market/__init__.py
# Several workers are taken as one: C++ threads that cannot start would make wrong numbers, Python's an error.
sed -i 's/^    return workers$/    return 1  # this platform has no threads/' scipy/stats/_qmc.py
sed -i '/must be -1 or > 0.)$/{n;s/^    return n$/    return 1  # this platform has no threads/}' scipy/spatial/_ckdtree.pyx
cp /w/recipes/lapack/load.py scipy/_distributor_init_local.py
sed "s|^python = |numpy-config = '/w/venv/bin/numpy-config'\npybind11-config = '/w/venv/bin/pybind11-config'\npython = |" \
  /w/recipes/chroot/cross.ini > /w/scipy.ini
mapfile -t options < <(meson_options /w/scipy-build)
build_wheel "${options[@]/cross.ini/..\/..\/scipy.ini}" \
  -Csetup-args=-Dblas=openblas -Csetup-args=-Dlapack=openblas -Csetup-args=-Duse-pythran=false \
  -Csetup-args=-D_without-fortran=true -Csetup-args=-Db_ndebug=true
