#!/bin/bash
# In the chroot: build-package.sh kiwisolver-1.5.0 | contourpy-1.3.3 | matplotlib-3.10.8 | pillow-12.2.0 | pywavelets-1.9.0
set -euo pipefail
. /w/recipes/chroot/env.sh
name=${1%-*}
unpack "$1"
mapfile -t options < <(meson_options "/w/$name-build")
case $name in
  contourpy | pywavelets) ;;
  kiwisolver)
    export CFLAGS="-O2 -DNDEBUG" CXXFLAGS="-O2 -DNDEBUG"
    options=()
    ;;
  matplotlib)
    options+=(-Csetup-args=-Dsystem-freetype=true -Csetup-args=-Dsystem-qhull=true
      -Csetup-args=-Dmacosx=false -Csetup-args=-Dcpp_args=-Wno-c++11-narrowing)
    ;;
  pillow)
    # exit() would become an import that only JavaScript provides.
    export CFLAGS="-O2 -DNDEBUG -Dexit=_Exit -I$prefix/include -I$prefix/include/freetype2"
    export LDFLAGS="-L$prefix/lib" PKG_CONFIG=/w/cross/pkg-config MAX_CONCURRENCY=$jobs
    options=(-Cplatform-guessing=disable "-Cparallel=$jobs")
    for feature in zlib jpeg freetype webp; do options+=("-C$feature=enable"); done
    for feature in tiff lcms jpeg2000 xcb imagequant raqm avif; do options+=("-C$feature=disable"); done
    ;;
  *) echo "no recipe for $name" >&2; exit 1 ;;
esac
build_wheel "${options[@]}"
