#!/bin/bash
# In the chroot, after build-libs.sh: build-h5py.sh h5py-3.16.0, with HDF5 from Debian's source as one shared library that its
# modules name (h5py/.libs/libhdf5.so): they share its open files, types and errors.
set -euo pipefail
. /w/recipes/chroot/env.sh
. /w/recipes/chroot/libs.sh

# Version 1.14, by name: sid's is a later one, which mirrors may lack.
pinned_source_of hdf5 hdf5_1.14.6+repack.orig.tar.gz c18bc47d07f76a5c2cfb70773bfe4152857e48ca4c96e7aef2684c96fa0e6a7c pool/main/h/hdf5
# Its settings, which are in the library, name the system of the build and the version of its kernel.
sed -i 's/@CMAKE_HOST_SYSTEM@/@CMAKE_SYSTEM_NAME@/' hdf5-src/src/{libhdf5.settings.cmake,H5build_settings.cmake.c}.in
configure hdf5 "-Dexit=_Exit -DFE_INVALID=0" -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_UTILS=OFF -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_CPP_LIB=OFF \
  -DHDF5_BUILD_HL_LIB=ON -DBUILD_TESTING=OFF -DHDF5_ENABLE_SZIP_SUPPORT=OFF -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DHDF5_ENABLE_THREADSAFE=OFF \
  -DZLIB_INCLUDE_DIR="$prefix/include" -DZLIB_LIBRARY="$prefix/lib/libz.a"
build hdf5 install
licences hdf5 hdf5-src/COPYING
# Both are parts of the shared one.
set_apart hdf5_hl hdf5
emar cr "$prefix/lib/libhdf5_hl.a"
archives=("$PWD"/b-lib{hdf5_hl,hdf5}.a)
linked hdf5 "${archives[@]}"

. /w/recipes/chroot/env.sh
export CFLAGS="-O2 -DNDEBUG" RUNTIME_PATH='$ORIGIN/.libs'
# Otherwise it would load the library to ask it.
export HDF5_DIR=$prefix HDF5_VERSION=1.14.6 H5PY_ROS3=0 H5PY_DIRECT_VFD=0 HDF5_MPI=OFF
unpack "$1"
# RUNTIME_PATH says where the library is.
sed -i "/os.name != 'nt'/{N;d}" setup_build.py
build_wheel

linked_for hdf5 h5py
