#!/bin/bash
# In the chroot: OpenBLAS with LAPACK as one shared side module, /w/blas/libopenblas.so, and what packages need to build
# against it: headers, a pkg-config file, and an archive that configure checks link.
#
# OpenBLAS from Debian's source for WebAssembly with SIMD, one thread. Its own LAPACK kernels are used; the other routines come
# from Debian's reference LAPACK through f2c, as there is no Fortran compiler for this target. Every symbol has one signature:
# WebAssembly types its calls, and C declares LAPACK's subroutines as returning nothing.
#
# With --plain: /w/blas-plain/libopenblas.so, the same kernels compiled without SIMD; for measurements, and nothing is built against it.
set -euo pipefail
plain=0 simd=-msimd128
[ "${1-}" != --plain ] || plain=1 simd=
. /w/recipes/chroot/env.sh
unset CC CXX AR RANLIB LDSHARED LDCXXSHARED
here=/w/recipes/lapack
blas=/w/blas
[ $plain = 0 ] || blas=/w/blas-plain
nm=/usr/lib/llvm-21/bin/llvm-nm
rm -rf "$blas" && mkdir -p "$blas"/{openblas,lapack,f,c,typed,o} /w/debsrc
cd /w/debsrc
# Only the .orig files are needed; a snapshot mirror may lack the others.
for package in openblas lapack; do apt-get source -qq --download-only "$package" || true; done
archives=(openblas_*.orig.tar.xz) && tar xf "${archives[-1]}" -C "$blas/openblas" --strip-components=1 --no-same-owner
archives=(lapack_*.orig.tar.gz) && tar xf "${archives[-1]}" -C "$blas/lapack" --strip-components=1 --no-same-owner

cd "$blas/openblas"
# Its kernels have C beside their intrinsics, and take what the compiler says.
[ $plain = 0 ] || sed -i '/-msimd128/d' Makefile.wasm
bash "$here/host-blas.sh"
sed -i -E 's/^(int|blasint) NAME\(/void NAME(/' interface/lapack/*.c
sed -i -E 's/^int +BLASFUNC\(([sdqczx](getf2|getrf|laswp|getrs|gesv|potf2|potrf|potri|potrs|lauu2|lauum|trti2|trtri|trtrs|larf))\)/void BLASFUNC(\1)/' common_interface.h
sed -i -E 's/^([ ]*)(extern )?int +BLASFUNC\(xerbla\)/\1\2void BLASFUNC(xerbla)/' common_interface.h driver/others/xerbla.c
# Thousands of starts of emcc would take longer than the compilation: the compiler itself, with what emcc would give it.
compile="/usr/lib/llvm-21/bin/clang $(emcc --cflags -fPIC -fwasm-exceptions -sSUPPORT_LONGJMP=wasm -sWASM_LEGACY_EXCEPTIONS=1)"
compile="$compile -fPIC -fwasm-exceptions"
cat > "$blas/cc" <<EOF
#!/bin/sh
case " \$* " in *' -c '*) exec $compile "\$@" ;; esac
exec /w/cross/cc "\$@"
EOF
chmod 755 "$blas/cc"
# Its last step, a shared library, is not for this target: only the archive counts.
nice -n 10 make -j"$jobs" libs TARGET=WASM128_GENERIC CC="$blas/cc" AR=emar RANLIB=emranlib HOSTCC=gcc NOFORTRAN=1 C_LAPACK=1 \
  NO_LAPACKE=1 NO_SHARED=1 USE_THREAD=0 NUM_THREADS=1 USE_LOCKING=0 CROSS=1 BINARY=32 DEBUG= MAX_STACK_ALLOC=2048 NUM_BUFFERS=16 \
  NO_AFFINITY=1 NO_WARMUP=1 COMMON_OPT="-O2 -Wno-return-mismatch -Wno-return-type -Wno-unused-command-line-argument -Wno-deprecated-non-prototype" || true
# make's parallel steps add to its archive in any order: ours has another, and the linker keeps that.
mkdir "$blas/core" && cd "$blas/core"
archives=("$blas"/openblas/lib*-r*.a)
doubled=$(emar t "${archives[0]}" | sort | uniq -d)
[ -z "$doubled" ] || { echo "OpenBLAS: two members of one name: $doubled" >&2; exit 1; }
emar x "${archives[0]}"
emar crs ../core.a *.o

# LAPACK without what OpenBLAS has, what needs extended precision, and what no package here calls.
lapack() {
  cd "$blas"
  python3.14 "$here/fortran.py" f lapack/INSTALL/ilaver.f lapack/SRC/*.f lapack/SRC/DEPRECATED/*.f lapack/INSTALL/lsame.f
  cd f
  rm -f ./*2stage*.f ./*_{he2hb,sy2sb,hb2st,sb2st}.f ./*b2st_kernels.f chla_transtype.f [sdcz]laqz?.f \
    [sdcz]{gges3,ggev3,gesvdx,getsqrhrt,trsyl3}.f [sd]bdsvdx.f ./*svxx.f ./*rfsx*.f \
    [sdcz]la_{syrcond,hercond,porcond,gercond,gbrcond}*.f ./*_extended.f xerbla.f xerbla_array.f lsame.f [sd]lamch.f \
    [sdcz]{getf2,getrf,getrs,gesv,potf2,potrf,lauu2,lauum,trti2,trtri,trtrs,laswp}.f
  for file in *.f; do
    f2c -a -A -R -d../c "$file" >/dev/null 2>&1 || { echo "not converted: $file"; rm -f "../c/${file%.f}.c"; }
  done
  cd "$blas"
  python3.14 "$here/signatures.py" c typed
  python3.14 "$here/loops.py" typed
  cp "$here/f2c.h" "$here/secular.h" "$here/runtime.c" typed/
  cd typed
  compile="/usr/lib/llvm-21/bin/clang $(emcc --cflags) -fPIC -O2 $simd"
  export compile
  printf '%s\n' *.c | nice -n 10 xargs -P"$jobs" -n 40 sh -c \
    'for file; do $compile -c -w -Wno-error=return-mismatch -Wno-return-mismatch -fno-math-errno "$file" -o "../o/${file%.c}.o" || exit 255; done' x
  cd "$blas"
  rm -f lapack.a && emar crs lapack.a o/*.o
}
lapack
cd "$blas"

# What is in both is OpenBLAS's.
defined() { "$nm" --defined-only -g "$1" 2>/dev/null | awk '$2 == "T" { print $3 }' | sort -u; }
mapfile -t doubled < <(comm -12 <(defined core.a | grep '_$') <(defined lapack.a) | sed 's/_$/.o/')
[ ${#doubled[@]} = 0 ] || emar d lapack.a "${doubled[@]}"
emar d core.a z_abs.o c_abs.o
"$nm" --defined-only -g core.a lapack.a 2>/dev/null | awk '$2 ~ /[TWD]/ { print $3 }' |
  grep -E '^([a-z][a-z0-9_]*_|cblas_.*|openblas_.*)$' | grep -vE '^(s_|z_|c_|d_|r_|i_|pow_)' | sort -u > exports
printf -- '-sEXPORTED_FUNCTIONS=%s\n' "$(sed 's/^/_/' exports | paste -sd,)" > link.rsp
emcc -O3 -g0 -sSIDE_MODULE=2 -sWASM_BIGINT -fwasm-exceptions -sSUPPORT_LONGJMP=wasm -sWASM_LEGACY_EXCEPTIONS=1 $simd \
  -Wl,--whole-archive core.a lapack.a -Wl,--no-whole-archive @link.rsp -o libopenblas.so
echo "libopenblas.so: $(wc -l < exports) symbols, $(stat -c %s libopenblas.so) bytes"
[ $plain = 0 ] || exit 0

# openblas_config.h as `make install` would write it.
{
  echo '#ifndef OPENBLAS_CONFIG_H'
  echo '#define OPENBLAS_CONFIG_H'
  awk 'NF { if ($1 == "#define") { printf "#define OPENBLAS_%s", $2; for (i = 3; i <= NF; i++) printf " %s", $i; print "" } }' openblas/config.h
  echo '#define OPENBLAS_VERSION " OpenBLAS 0.3.34 "'
  cat openblas/openblas_config_template.h
  echo '#endif'
} > "$prefix/include/openblas_config.h"
cp openblas/cblas.h "$prefix/include/"
# For configure checks alone: cc leaves it out of side modules, whose symbols are resolved when they are loaded.
cp core.a "$prefix/lib/libopenblas.a"
printf '%s\n' "$PWD"/o/*.o | xargs -n 400 emar q "$prefix/lib/libopenblas.a"
emranlib "$prefix/lib/libopenblas.a"
printf 'Name: openblas\nDescription: OpenBLAS and LAPACK\nVersion: 0.3.34\nLibs: -L%s/lib -lopenblas\nCflags: -I%s/include\n' \
  "$prefix" "$prefix" > "$prefix/lib/pkgconfig/openblas.pc"
mkdir -p "$prefix/licenses/OpenBLAS" "$prefix/licenses/LAPACK"
cp openblas/LICENSE "$prefix/licenses/OpenBLAS/"
cp lapack/LICENSE "$prefix/licenses/LAPACK/"
