#!/bin/bash
# In the chroot, after cross-env.sh: Debian's Rust with the sources of its standard library, and what builds Python packages of
# it. /w/cargo/config.toml is the host's, where it has one: the registry.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
[ -x /usr/bin/cargo ] || nice -n 10 apt-get install -y -q rustc cargo rust-src
nice -n 10 /w/venv/bin/pip install -q -r /w/recipes/chroot/requirements-rust.txt
install -m 755 /w/recipes/chroot/rust_linker.py /w/cross/rust-linker
