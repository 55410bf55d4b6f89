#!/bin/bash
# In the chroot: build-shapely.sh shapely-2.2.0, with GEOS from Debian's source as one shared library that its modules name
# (shapely/.libs/libgeos_c.so): what one of them makes, another one frees.
set -euo pipefail
. /w/recipes/chroot/env.sh
. /w/recipes/chroot/libs.sh

# That of the stable release, by name: sid's is newer than what mirrors have.
pinned_source_of geos geos_3.13.1.orig.tar.bz2 df2c50503295f325e7c8d7b783aca8ba4773919cde984193850cf9e361dfd28c pool/main/g/geos
configure geos "" -DBUILD_TESTING=OFF -DBUILD_BENCHMARKS=OFF -DBUILD_GEOSOP=OFF -DBUILD_DOCUMENTATION=OFF
build geos install
licences geos geos-src/COPYING
version=$("$prefix/bin/geos-config" --version)
set_apart geos_c geos
linked geos_c "${archives[@]}"
describe geos -lgeos_c "$version"

. /w/recipes/chroot/env.sh
export CFLAGS="-O2 -DNDEBUG" PKG_CONFIG=/w/cross/pkg-config RUNTIME_PATH='$ORIGIN/.libs'
unpack "$1"
sed "s|^python = |numpy-config = '/w/venv/bin/numpy-config'\npython = |" /w/recipes/chroot/cross.ini > /w/shapely.ini
mapfile -t options < <(meson_options /w/shapely-build)
build_wheel "${options[@]/cross.ini/..\/..\/shapely.ini}"

linked_for geos_c shapely
