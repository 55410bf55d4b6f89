#!/bin/bash
# In the chroot, after build-libs.sh: lxml, with libxml2, libxslt and libexslt from Debian's sources as one shared library that its
# modules name (lxml/.libs/libxml2.so).
set -euo pipefail
. /w/recipes/chroot/env.sh
. /w/recipes/chroot/libs.sh

# exit() would become an import that only JavaScript provides.
source_of libxml2
configure libxml2 -Dexit=_Exit -DLIBXML2_WITH_PROGRAMS=OFF -DLIBXML2_WITH_TESTS=OFF -DLIBXML2_WITH_THREADS=OFF -DLIBXML2_WITH_MODULES=OFF \
  -DLIBXML2_WITH_SCHEMATRON=ON -DLIBXML2_WITH_ZLIB=ON -DZLIB_INCLUDE_DIR="$prefix/include" -DZLIB_LIBRARY="$prefix/lib/libz.a"
build libxml2 install
licences libxml2 libxml2-src/Copyright
source_of libxslt
configure libxslt -Dexit=_Exit -DLIBXSLT_WITH_PROGRAMS=OFF -DLIBXSLT_WITH_TESTS=OFF -DLIBXSLT_WITH_THREADS=OFF -DLIBXSLT_WITH_PYTHON=OFF \
  -DLibXml2_DIR="$(echo "$prefix"/lib/cmake/libxml2*)" -DZLIB_INCLUDE_DIR="$prefix/include" -DZLIB_LIBRARY="$prefix/lib/libz.a"
build libxslt install
licences libxslt libxslt-src/Copyright
# They are parts of the shared one.
set_apart xml2 xslt exslt
for library in xslt exslt; do emar cr "$prefix/lib/lib$library.a"; done
linked xml2 "${archives[@]}"

. /w/recipes/chroot/env.sh
export CFLAGS="-O2 -DNDEBUG" PKG_CONFIG=/w/cross/pkg-config RUNTIME_PATH='$ORIGIN/.libs'
unpack "$1"
build_wheel

linked_for xml2 lxml
