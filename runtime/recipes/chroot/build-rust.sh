#!/bin/bash
# In the chroot, after rust-env.sh: build-rust.sh rpds_py-2026.9.1 | orjson-3.13.0 | tiktoken-0.14.0 | safetensors-0.8.0 |
# bcrypt-5.0.0 | cryptography-50.0.2 (that after build-cffi.sh and build-openssl.sh). Extension modules in Rust. The standard
# library is built from source, as a part of them: position independent, with the ABI's exceptions, so that a panic unwinds and
# PyO3 makes a Python exception of it.
set -euo pipefail
. /w/recipes/chroot/env.sh
target=wasm32-unknown-emscripten
export CARGO_HOME=/w/cargo CARGO_TARGET_DIR=/w/rust-target CARGO_BUILD_TARGET=$target CARGO_BUILD_JOBS=$jobs
# What builds a standard library needs flags that are not stable; Debian has the stable compiler alone.
export RUSTC_BOOTSTRAP=1
# Build scripts and macros run on this machine.
export CC_x86_64_unknown_linux_gnu=gcc CXX_x86_64_unknown_linux_gnu=g++ AR_x86_64_unknown_linux_gnu=ar
export CFLAGS="-O2 -DNDEBUG" CXXFLAGS="-O2 -DNDEBUG"
name=${1%-*}
manifest=Cargo.toml features=
unpack "$1"
case $name in
  rpds_py | orjson) ;;
  tiktoken) features=python ;;
  safetensors) manifest=bindings/python/Cargo.toml ;;
  bcrypt) manifest=src/_bcrypt/Cargo.toml ;;
  cryptography)
    manifest=src/rust/Cargo.toml
    # The C that cffi writes is a part of the module.
    export PYTHONPATH=$PYTHONPATH:/w/cffi-venv/lib/python3.14/site-packages
    export OPENSSL_STATIC=1 OPENSSL_INCLUDE_DIR=/w/cross/openssl/usr/include OPENSSL_LIB_DIR=/w/cross/openssl/usr/lib
    ;;
  *) echo "no recipe for $name" >&2; exit 1 ;;
esac
# Where the source archive has none.
[ ! -e "/w/recipes/locks/$1.lock" ] || cp "/w/recipes/locks/$1.lock" "$(dirname "$manifest")/Cargo.lock"

# Every crate's source in one place, as the package's Cargo.lock and the standard library's say. The registry is the one that
# cargo is configured for; afterwards there is none.
library=$(rustc --print sysroot)/lib/rustlib/src/rust/library
rm -rf .cargo /w/vendor
nice -n 10 cargo vendor -q --locked --versioned-dirs --respect-source-config --manifest-path "$manifest" \
  --sync "$library/Cargo.toml" /w/vendor > /dev/null
mkdir .cargo
cat > .cargo/config.toml <<EOF
[source.crates-io]
replace-with = "vendored"
[source.vendored]
directory = "/w/vendor"
[unstable]
build-std = ["std", "panic_unwind"]
build-std-features = ["panic-unwind"]
[target.$target]
linker = "/w/cross/rust-linker"
rustflags = [
  "-Crelocation-model=pic", "-Clink-self-contained=no", "-Cllvm-args=-wasm-use-legacy-eh=true",
  "--remap-path-prefix=/w/vendor=/crates", "--remap-path-prefix=${library%/library}=/rust", "--remap-path-prefix=/w=",
]
[profile.release]
codegen-units = 1
debug = false
lto = "fat"
opt-level = 3
panic = "unwind"
strip = true
EOF
export CARGO_NET_OFFLINE=true
python3.14 /w/recipes/chroot/crate_licences.py "$target" "$manifest" "$features" /w/vendor "$library" \
  "$prefix/licenses/$name-crates/rust-crates.txt"
if [[ $name == @(tiktoken|bcrypt) ]]; then
  PYO3_CROSS_LIB_DIR=/w/sysdata PYO3_CROSS_PYTHON_VERSION=3.14 build_wheel
else
  nice -n 10 maturin build --release --locked --offline --target "$target" -i python3.14 --compatibility off -o /w/whl
fi
