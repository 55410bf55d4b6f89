#!/bin/bash
# The last step of build-all.sh, in its chroot: the wheels that build upon numpy's, and those of other extension modules, without
# bytecode, in <work directory>/extensions.
#
#     build-extensions.sh [work directory] [project ...]     default: target/recipes of this repository, all projects
set -euo pipefail

recipes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=${1:-$(dirname "$(dirname "$recipes")")/target/recipes}
work=$(cd "$work" && pwd)
root=$work/sid
projects=("${@:2}")
[ ${#projects[@]} -gt 0 ] ||
  projects=(regex zstandard brotli cffi lxml pywavelets fastparquet shapely h5py scipy scikit_learn statsmodels rpds_py orjson tiktoken safetensors bcrypt cryptography brumate_platform)

[ -d "$root/w/cross" ] || { echo "there is no chroot in $work: run build-all.sh first" >&2; exit 1; }
. "$recipes/in-root.sh"

version() {  # <project>: the name of its source archive, without .tar.gz
  awk -v start="$1-" 'index($2, start) == 1 { sub(/\.tar\.gz$/, "", $2); print $2 }' "$recipes/sources.sha256"
}

say "sources of the others"
python3 "$recipes/fetch.py" "$recipes/sources.sha256" "$work/dl"
trap 'mountpoint -q "$root/proc" && umount "$root/proc"' EXIT
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
rm -rf "$root/w/recipes" && cp -r "$recipes" "$root/w/recipes"
cp "$work"/dl/*.tar.gz "$root/w/dl/"
for project in "${projects[@]}"; do
  say "$project"
  rm -f "$root"/w/whl/"$project"[-_]*.whl
  case $project in
    cffi | lxml | shapely | h5py) in_root bash "/w/recipes/chroot/build-$project.sh" "$(version "$project")" ;;
    pywavelets) in_root bash /w/recipes/chroot/build-package.sh "$(version "$project")" ;;
    scipy) in_root bash /w/recipes/chroot/build-scipy.sh ;;
    scikit_learn) in_root bash /w/recipes/chroot/build-sklearn.sh ;;
    statsmodels) in_root bash /w/recipes/chroot/build-statsmodels.sh ;;
    rpds_py | orjson | tiktoken | safetensors | bcrypt | cryptography)
      # Crates come from the registry that cargo is configured for.
      mkdir -p "$root/w/cargo"
      [ ! -e "${CARGO_HOME:-$HOME/.cargo}/config.toml" ] || cp "${CARGO_HOME:-$HOME/.cargo}/config.toml" "$root/w/cargo/"
      in_root bash /w/recipes/chroot/rust-env.sh
      [ "$project" != cryptography ] || in_root bash /w/recipes/chroot/build-openssl.sh
      in_root bash /w/recipes/chroot/build-rust.sh "$(version "$project")"
      ;;
    brumate_platform)
      cp "$recipes"/../../LICENSE-* "$root/w/recipes/platform/"
      in_root bash /w/recipes/chroot/build-platform.sh
      ;;
    *)
      in_root bash /w/recipes/chroot/build-small.sh "$(version "$project")"
      ;;
  esac
  finish extensions -- "$project"
  [ "$project" != cffi ] || finish out-tests -- cffi_sample
done
in_root bash /w/recipes/chroot/record-toolchain.sh > "$work/toolchain.txt"
say "done: $work/extensions"
