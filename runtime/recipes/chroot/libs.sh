# Sourced inside the chroot, after env.sh, or before it where env.sh's compilers are wanted next: static libraries from Debian's
# sources into the prefix, and shared ones for packages of which several modules use one library.
unset CC CXX AR RANLIB STRIP
mkdir -p /w/debsrc && cd /w/debsrc

source_of() {  # <package>: its upstream tarball into <package>-src
  # Only the .orig file is needed; a snapshot mirror may lack the others.
  apt-get source -qq --download-only --only-source "$1" || true
  local orig
  orig=$(printf '%s\n' "$1"_*.orig.tar.?z* | grep -v '[.]asc$' | sort -V | tail -n 1)
  unpack_source "$1" "$orig"
}
pinned_source_of() {  # <package> <upstream tarball> <its SHA-256> <directory of the mirror>: that tarball into <package>-src
  local mirror
  mirror=$(awk '$1 == "deb" { print $2; exit }' /etc/apt/sources.list)
  [ -e "$2" ] || curl -fsS -o "$2" "${mirror%/}/$4/$2"
  echo "$3  $2" | sha256sum -c --quiet
  unpack_source "$1" "$2"
}
unpack_source() {  # <package> <tarball>
  rm -rf "$1-src" "b-$1-src" && mkdir "$1-src"
  tar xf "$2" -C "$1-src" --strip-components=1 --no-same-owner
}
flags="-O2 -g0 -fPIC -fwasm-exceptions -sSUPPORT_LONGJMP=wasm -sWASM_LEGACY_EXCEPTIONS=1"
configure() {  # <package> <more C flags> <option ...>
  local source=$1-src build=b-$1-src c_flags="$flags $2"; shift 2
  cmake -G Ninja -S "$source" -B "$build" \
    -DCMAKE_TOOLCHAIN_FILE=/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
    -DCMAKE_C_FLAGS="${c_flags% }" -DCMAKE_CXX_FLAGS="$flags" \
    -DCMAKE_C_FLAGS_RELEASE=-DNDEBUG -DCMAKE_CXX_FLAGS_RELEASE=-DNDEBUG -DBUILD_SHARED_LIBS=OFF "$@"
}
build() { nice -n 10 ninja -j"$jobs" -C "b-$1-src" "$2"; }
licences() {  # <package> <file ...>
  mkdir -p "$prefix/licenses/$1"
  cp "${@:2}" "$prefix/licenses/$1/"
}
describe() {  # <name> <libraries> <version>: a pkg-config file
  printf 'prefix=%s\nName: %s\nDescription: %s\nVersion: %s\nLibs: -L${prefix}/lib %s\nCflags: -I${prefix}/include\n' \
    "$prefix" "$1" "$1" "$3" "$2" > "$prefix/lib/pkgconfig/$1.pc"
}

# set_apart <name ...>: static libraries out of the prefix, where nothing else finds them then. Sets `archives`.
set_apart() {
  local name
  archives=()
  for name; do
    mv "$prefix/lib/lib$name.a" "b-lib$name.a"
    archives+=("$PWD/b-lib$name.a")
  done
}

# linked <name> <archive ...>: the archives as one side module, $prefix/lib/lib<name>.so. It exports what `symbols` lists, or all.
linked() {
  local name=$1; shift
  local exports=$PWD/$name.exports
  /usr/lib/llvm-21/bin/llvm-nm --defined-only -g "$@" 2>/dev/null | awk '$2 ~ /[TDBVWR]/ { print $3 }' | sort -u > "$exports"
  [ -z "${symbols:-}" ] || { comm -12 "$exports" "$symbols" > "$exports.new" && mv "$exports.new" "$exports"; }
  printf -- '-sEXPORTED_FUNCTIONS=%s\n' "$(sed 's/^/_/' "$exports" | paste -sd,)" > "$name.rsp"
  # shellcheck disable=SC2086
  em++ $flags -sSIDE_MODULE=2 -sWASM_BIGINT -Wl,--whole-archive "$@" -Wl,--no-whole-archive "@$name.rsp" -o "$prefix/lib/lib$name.so"
  echo "lib$name.so: $(wc -l < "$exports") symbols, $(stat -c %s "$prefix/lib/lib$name.so") bytes"
}

# imports <wheel>: what its extension modules take from others, one symbol a line
imports() {
  rm -rf /w/imports && mkdir /w/imports && unzip -qo "$1" '*.so' -d /w/imports
  find /w/imports -name '*.so' -exec wasm-objdump -x -j Import {} \; |
    sed -nE 's/.* <- (env|GOT\.mem|GOT\.func)\.([^ ]+)$/\2/p' | sort -u
}

# linked_for <name> <project>: as `linked`, of `archives`, without what no module of the project's wheel asks for
linked_for() {
  . /w/recipes/chroot/libs.sh
  imports /w/whl/"$2"-*.whl > "/w/$2-imports"
  symbols=/w/$2-imports linked "$1" "${archives[@]}"
}
