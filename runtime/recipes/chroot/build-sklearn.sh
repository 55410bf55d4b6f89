#!/bin/bash
# In the chroot, after build-scipy.sh: scikit-learn without OpenMP, which meson would wrongly find.
set -euo pipefail
. /w/recipes/chroot/env.sh
# Cython reads declarations of scipy's.
rm -rf /w/scipy-declarations && mkdir /w/scipy-declarations
unzip -qo /w/whl/scipy-1.18.0-*.whl '*.pxd' '*.py' -x '*/tests/*' -d /w/scipy-declarations
export PYTHONPATH=$PYTHONPATH:/w/scipy-declarations
unpack scikit_learn-1.8.0
sed -i "s/^openmp_dep = dependency('OpenMP'.*/openmp_dep = dependency('', required: false)/" sklearn/meson.build
rm -rf /w/sklearn-build
mapfile -t options < <(meson_options /w/sklearn-build)
build_wheel "${options[@]/cross.ini/..\/..\/scipy.ini}"
