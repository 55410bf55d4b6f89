#!/bin/bash
# After build-all.sh, in its chroot: OpenBLAS and numpy without WebAssembly's SIMD, in <work directory>/without-simd. For
# `cargo xtask bench --only simd` alone: what SIMD gives is the difference to the bundle's wheel.
#
#     build-plain.sh [work directory]          default: target/recipes of this repository
set -euo pipefail

recipes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=${1:-$(dirname "$(dirname "$recipes")")/target/recipes}
work=$(cd "$work" && pwd)
root=$work/sid

[ -d "$root/w/blas" ] || { echo "there is no chroot in $work: run build-all.sh first" >&2; exit 1; }
. "$recipes/in-root.sh"

trap 'mountpoint -q "$root/proc" && umount "$root/proc"' EXIT
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
rm -rf "$root/w/recipes" "$root/w/whl-plain" && cp -r "$recipes" "$root/w/recipes"
mkdir -p "$root/w/whl-plain" "$work/without-simd"
say OpenBLAS
in_root bash /w/recipes/chroot/build-openblas.sh --plain
say numpy
in_root bash /w/recipes/chroot/build-numpy.sh --plain
built=("$root"/w/whl-plain/numpy-*.whl)
in_root python3.14 /w/recipes/chroot/finish.py "${built[0]#"$root"}" /w/fin --plain
mv "$root"/w/fin/numpy-*.whl "$work/without-simd/"

# No instruction with vectors is left in it.
rm -rf "$root/w/plain-modules" && mkdir "$root/w/plain-modules"
unzip -qo "$work"/without-simd/numpy-*.whl '*.so' -d "$root/w/plain-modules"
in_root bash -c 'cd /w/plain-modules && find . -name "*.so" | while read -r module; do
  ! wasm-objdump -d "$module" | grep -qE "\| *(v128|[if](8|16|32|64)x[0-9]+)\." || { echo "SIMD in $module" >&2; exit 1; }
done'
say "done: $work/without-simd"
