# Sourced inside the chroot: the venv's CPython answers sysconfig as wasm32-emscripten would, and
# every build tool is the wrapper of cc.py.
export PATH=/w/venv/bin:/usr/bin:/bin:/usr/sbin:/sbin
export _PYTHON_SYSCONFIGDATA_NAME=_sysconfigdata__emscripten_wasm32-emscripten
export _PYTHON_HOST_PLATFORM=emscripten-5.0.3-wasm32
export PYTHONPATH=/w/sysdata PYODIDE_ROOT=/w/cross/root
export CC=/w/cross/cc CXX=/w/cross/c++ AR=/w/cross/ar RANLIB=/w/cross/ranlib STRIP=/w/cross/strip
export LDSHARED="/w/cross/cc -shared" LDCXXSHARED="/w/cross/c++ -shared"
export SOURCE_DATE_EPOCH=1767225600 PYTHONHASHSEED=0

prefix=/w/cross/prefix   # static libraries
jobs=${JOBS:-2}

# meson_options <build directory>: what every meson-python build is given
meson_options() {
  printf '%s\n' "-Cbuild-dir=$1" -Csetup-args=--cross-file=/w/recipes/chroot/cross.ini \
    -Csetup-args=-Dbuildtype=release -Csetup-args=-Doptimization=2 -Csetup-args=-Ddebug=false \
    -Csetup-args=-Dwerror=false "-Ccompile-args=-j$jobs"
}

# unpack <name-version>: the sdist into /w/<name-version>, patched with <name-version>.patch and then with
# <name-version>-*.patch in order of their names, and change into it
unpack() {
  rm -rf "/w/$1" "/w/${1%-*}-build"
  tar xzf "/w/dl/$1.tar.gz" -C /w --no-same-owner
  cd "/w/$1"
  local file
  for file in "/w/recipes/patches/$1.patch" "/w/recipes/patches/$1"-*.patch; do
    [ ! -e "$file" ] || patch -p1 < "$file"
  done
}

# build_wheel <option ...>: the wheel of the current directory into /w/whl
build_wheel() {
  nice -n 10 python -m build --wheel --no-isolation --skip-dependency-check --outdir /w/whl "$@"
}
