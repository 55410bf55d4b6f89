#!/bin/bash
# From nothing to every file of runtime/ that is not itself a published one. See README.md.
#
#     build-all.sh [work directory]          default: target/recipes of this repository
#
# Debian host, root. Result in <work directory>/out; nothing else in the repository is touched.
set -euo pipefail

recipes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
runtime=$(dirname "$recipes")
work=${1:-$(dirname "$runtime")/target/recipes}
mkdir -p "$work"
work=$(cd "$work" && pwd)
root=$work/sid            # the chroot; what it builds in is /w
out=$work/out

need() { command -v "$1" >/dev/null || { echo "$1 is missing: apt-get install $2" >&2; exit 1; }; }
[ "$(id -u)" = 0 ] || { echo "a chroot needs root" >&2; exit 1; }
need debootstrap debootstrap
need python3 python3
need unzip unzip
need node nodejs

# The package sources this host is configured for.
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' |
  awk '$1 == "Debian" && $2 == "Debian" { print $3; exit }')}
: "${mirror:?no Debian mirror in the apt sources; set DEBIAN_MIRROR}"
. "$recipes/in-root.sh"

say sources
python3 "$recipes/fetch.py" "$recipes/sources.sha256" "$work/dl"
rm -rf "$work/pyodide" && mkdir "$work/pyodide"
tar xzf "$runtime"/pyodide-*.tgz -C "$work/pyodide" --strip-components=1

say chroot
trap 'mountpoint -q "$root/proc" && umount "$root/proc"' EXIT
MIRROR=$mirror ROOT=$root bash "$recipes/make-chroot.sh"
rm -rf "$root/w/recipes" "$root/w/whl" "$root/w/fin"
mkdir -p "$root/w/whl" "$root/w/fin" "$root/w/dl" "$root/w/sysdata"
cp -r "$recipes" "$root/w/recipes"
cp "$work"/dl/*.tar.gz "$root/w/dl/"
unzip -qo "$work/pyodide/python_stdlib.zip" '_sysconfigdata_*' -d "$root/w/sysdata"
in_root bash /w/recipes/chroot/cross-env.sh

say OpenBLAS and LAPACK
in_root bash /w/recipes/chroot/build-openblas.sh
say numpy
in_root bash /w/recipes/chroot/build-numpy.sh
say pandas
in_root bash /w/recipes/chroot/build-pandas.sh
say libraries
in_root bash /w/recipes/chroot/build-libs.sh
for package in kiwisolver-1.5.0 contourpy-1.3.3 pillow-12.2.0 matplotlib-3.10.8; do
  say "$package"
  in_root bash /w/recipes/chroot/build-package.sh "$package"
done
for package in markupsafe-3.0.4 pyyaml-6.0.3; do
  say "$package"
  in_root bash /w/recipes/chroot/build-small.sh "$package"
done

say finish
projects=(numpy pandas kiwisolver contourpy pillow matplotlib markupsafe pyyaml)
finish plain -- "${projects[@]}"
finish out-full --keep-tests -- numpy pandas
in_root bash /w/recipes/chroot/record-toolchain.sh > "$work/toolchain.txt"

bash "$recipes/build-extensions.sh" "$work"

say bytecode
bash "$recipes/bytecode.sh" "$work"
say "done: $out"
