#!/bin/bash
# In the directory of OpenBLAS's sources: makes its interface hand inner work to kernels of the host (host_blas.h).
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
cp "$here/host_blas.h" .

# <file> <lines that go before its work begins>; what comes before has checked the arguments
hook() {
  [ "$(grep -c '^  IDEBUG_START;' "$1")" = 1 ] && grep -q '^#include "common.h"' "$1" || { echo "OpenBLAS: $1 is not as expected" >&2; exit 1; }
  hook=$2 perl -0pi -e 's/^#include "common.h"\n/$&#include "host_blas.h"\n/m; s/^  IDEBUG_START;/$ENV{hook}\n$&/m' "$1"
}
gemm='host_gemm(transa, transb, args.m, args.n, args.k, args.alpha, args.a, args.lda, args.b, args.ldb, args.beta, args.c, args.ldc)'
hook interface/gemm.c "#ifndef GEMM3M
  if ($gemm) return;
#endif"
hook interface/gemv.c '  if (host_gemv(trans, m, n, alpha, a, lda, x, incx, y, incy)) return;'
hook interface/symv.c '  if (host_symv(uplo, n, alpha, a, lda, x, incx, y, incy)) return;'
for twice in 0 1; do
  file=$([ $twice = 1 ] && echo syr2k || echo syrk)
  hook "interface/$file.c" "#ifndef COMPLEX
  if (host_update(uplo, trans, &args, $twice)) return;
#endif"
done
hook interface/trsm.c '#ifndef COMPLEX
#ifdef TRMM
  if (host_triangle(0, side, uplo, trans & 1, !unit, &args)) return;
#else
  if (host_triangle(1, side, uplo, trans & 1, !unit, &args)) return;
#endif
#endif'
hook interface/lapack/getrf.c '  if (host_getrf(&args, Info)) return 0;'
hook interface/lapack/zgetrf.c '  if (host_getrf(&args, Info)) return 0;'
hook interface/lapack/getrs.c '  if (host_getrs(trans, &args)) return 0;'
hook interface/lapack/gesv.c '  if (host_gesv(&args, Info)) return 0;'
hook interface/lapack/potrf.c '  if (host_potrf(uplo, &args, Info)) return 0;'
sed -i 's/^#include "host_blas.h"/#define HOST_BLAS_LAPACK\n&/' interface/lapack/{getrf,zgetrf,getrs,gesv,potrf}.c

# Other kernels than those it shares with RISC-V: norms without a division for each element, sums of many numbers in double precision, copies of
# several elements at a time.
other() {  # <file> <its kernel> <kernels that are expected to be that file>
  for name in $3; do
    grep -q "^${name}KERNEL *= ../riscv64/$2\$" kernel/wasm/KERNEL || { echo "OpenBLAS: its $name is not the one expected" >&2; exit 1; }
  done
  cp "$here/$1" "kernel/riscv64/$2"
}
other copy.c copy.c 'SCOPY DCOPY'
other dot.c dot.c 'SDOT DDOT'
other zdot.c zdot.c 'CDOT ZDOT'
other nrm2.c nrm2.c 'SNRM2 DNRM2'
other nrm2.c znrm2.c 'CNRM2 ZNRM2'
