#!/bin/bash
# In the chroot: pandas for the sandbox.
set -euo pipefail
. /w/recipes/chroot/env.sh
unpack pandas-3.0.2
mapfile -t options < <(meson_options /w/pandas-build)
build_wheel "${options[@]}"
