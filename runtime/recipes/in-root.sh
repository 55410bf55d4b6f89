# What the build scripts share; sourced by them, with `recipes`, `work` and `root` (the chroot) set.

index=$(cd "$recipes" && python3 -B -c 'import fetch; print(fetch.index_url())')

say() { printf '== %s  %s\n' "$(date +%T)" "$*"; }

in_root() {  # <command ...>, with a clean environment
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PIP_INDEX_URL="$index" PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 \
    JOBS="${JOBS:-2}" chroot "$root" "$@"
}

finish() {  # <directory below the work directory> <options of finish.py> -- <project ...>
  local target=$1 options=() project built; shift
  while [ "$1" != -- ]; do options+=("$1"); shift; done; shift
  mkdir -p "$work/$target"
  for project in "$@"; do
    built=("$root"/w/whl/"$project"-*.whl)
    in_root python3.14 /w/recipes/chroot/finish.py "${built[0]#"$root"}" /w/fin "${options[@]}"
    mv "$root"/w/fin/"$project"-*.whl "$work/$target/"
  done
}
