# What the build scripts share; sourced by them, with `recipes` and `root` (the chroot) set.

index=$(cd "$recipes" && python3 -B -c 'import fetch; print(fetch.index_url())')

say() { printf '== %s  %s\n' "$(date +%T)" "$*"; }

in_root() {  # <command ...>, with a clean environment
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PIP_INDEX_URL="$index" PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 \
    JOBS="${JOBS:-2}" chroot "$root" "$@"
}
