#!/bin/bash
# In the chroot, after build-sklearn.sh: statsmodels.
set -euo pipefail
. /w/recipes/chroot/env.sh
export PYTHONPATH=$PYTHONPATH:/w/scipy-declarations CFLAGS="-O2 -DNDEBUG" CXXFLAGS="" LDFLAGS=""
unpack statsmodels-0.14.6
build_wheel -C--build-option=build_ext "-C--build-option=-j$jobs"
