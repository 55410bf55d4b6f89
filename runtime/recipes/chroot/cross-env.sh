#!/bin/bash
# In the chroot: the build venv (/w/venv) and the cross environment (/w/cross).
set -euo pipefail
here=/w/recipes/chroot
cross=/w/cross
[ -x /w/venv/bin/python ] || python3.14 -m venv /w/venv
nice -n 10 /w/venv/bin/pip install -q -r "$here/requirements.txt"

# The interpreter's headers: CPython 3.14's own, with the target's pyconfig.h.
rm -rf "$cross"
mkdir -p "$cross/pyinc" "$cross/prefix/include" "$cross/prefix/lib/pkgconfig"
cp -r /usr/include/python3.14/. "$cross/pyinc/"
python3.14 "$here/mkpyconfig.py" /usr/include/x86_64-linux-gnu/python3.14/pyconfig.h \
  /w/sysdata/_sysconfigdata__emscripten_wasm32-emscripten.py > /w/pyconfig.h
mv /w/pyconfig.h "$cross/pyinc/pyconfig.h"
# sysconfigdata names its prefix $PYODIDE_ROOT/cpython/installs/python-3.14.2
install=$cross/root/cpython/installs/python-3.14.2
mkdir -p "$install/lib" "$install/include"
ln -s "$cross/pyinc" "$install/include/python3.14"

install -m 755 "$here/cc.py" "$cross/cc"
for tool in c++ ar ranlib strip; do ln -s cc "$cross/$tool"; done
emcc --cflags -fPIC -fwasm-exceptions -sSUPPORT_LONGJMP=wasm -sWASM_LEGACY_EXCEPTIONS=1 > "$cross/cflags"
cat > "$cross/pkg-config" <<'EOF'
#!/bin/sh
# Sees the cross prefix alone.
export PKG_CONFIG_LIBDIR=/w/cross/prefix/lib/pkgconfig PKG_CONFIG_PATH= PKG_CONFIG_SYSROOT_DIR=
exec /usr/bin/pkg-config "$@"
EOF
chmod 755 "$cross/pkg-config"
