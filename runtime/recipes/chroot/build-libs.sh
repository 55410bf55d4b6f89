#!/bin/bash
# In the chroot: static libraries for pillow and matplotlib, from Debian's sources, into the prefix.
# zlib is an empty archive plus headers: its code is in the main module.
set -euo pipefail
. /w/recipes/chroot/env.sh
. /w/recipes/chroot/libs.sh

source_of zlib
cp zlib-src/{zlib,zconf}.h "$prefix/include/"
rm -f "$prefix/lib/libz.a" && emar cr "$prefix/lib/libz.a"
describe zlib -lz 1.3.1

# exit() would become an import that only JavaScript provides.
source_of libjpeg-turbo
configure libjpeg-turbo -Dexit=_Exit -DENABLE_SHARED=0 -DWITH_SIMD=0 -DWITH_TURBOJPEG=0
build libjpeg-turbo jpeg-static
cp b-libjpeg-turbo-src/libjpeg.a "$prefix/lib/"
cp libjpeg-turbo-src/src/j{peglib,morecfg,error}.h b-libjpeg-turbo-src/jconfig.h "$prefix/include/"
licences libjpeg-turbo libjpeg-turbo-src/LICENSE.md libjpeg-turbo-src/README.ijg

source_of freetype
configure freetype "" -DFT_DISABLE_HARFBUZZ=ON -DFT_DISABLE_BZIP2=ON -DFT_DISABLE_PNG=ON \
  -DFT_DISABLE_BROTLI=ON -DFT_DISABLE_ZLIB=ON
build freetype install
licences freetype freetype-src/LICENSE.TXT freetype-src/docs/FTL.TXT

source_of libwebp
tools=()
for tool in ANIM_UTILS CWEBP DWEBP GIF2WEBP IMG2WEBP VWEBP WEBPINFO WEBPMUX EXTRAS; do
  tools+=("-DWEBP_BUILD_$tool=OFF")
done
configure libwebp "" "${tools[@]}" -DWEBP_ENABLE_SIMD=OFF -DWEBP_USE_THREAD=OFF
build libwebp install
# pillow links -lwebp alone, which needs libsharpyuv's objects.
rm -rf b-sharpyuv && mkdir b-sharpyuv && (cd b-sharpyuv && emar x "$prefix/lib/libsharpyuv.a" && emar r "$prefix/lib/libwebp.a" *.o)
licences libwebp libwebp-src/COPYING libwebp-src/PATENTS

source_of qhull
configure qhull -Dexit=_Exit -DBUILD_STATIC_LIBS=ON -DLINK_APPS_SHARED=OFF
build qhull qhullstatic_r
cp b-qhull-src/libqhullstatic_r.a "$prefix/lib/"
mkdir -p "$prefix/include/libqhull_r"
cp qhull-src/src/libqhull_r/*.h "$prefix/include/libqhull_r/"
describe qhull_r -lqhullstatic_r 8.0.2
licences qhull qhull-src/COPYING.txt
