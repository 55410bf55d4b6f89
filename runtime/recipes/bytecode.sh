#!/bin/bash
# bytecode.sh <work directory>: the part of build-all.sh that needs node alone.
#
# In:  <work>/pyodide (the unpacked npm package), <work>/plain/*.whl (wheels that get their bytecode inside, may be absent),
#      <work>/dl/*.whl and <work>/extensions/*.whl (as published and as built: their bytecode goes into the archive)
# Out: <work>/out/{python_stdlib.zip,pycache-site.zip,wheels/*.whl}
set -euo pipefail
shopt -s nullglob
recipes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(cd "$1" && pwd)
binary=("$work"/plain/*.whl)
others=("$work"/dl/*.whl "$work"/extensions/*.whl)
umask 022
rm -rf "$work/out"
mkdir -p "$work/out/wheels"
run() { nice -n 10 node "$recipes/pyc/pyodide-run.mjs" "$work/pyodide" "$recipes/pyc/$1.py" "${@:2}"; }
run stdlib "$work/pyodide/python_stdlib.zip" "$work/out/python_stdlib.zip"
run pycache "$work/out/pycache-site.zip" "${others[@]}"
run wheel "$work/out/wheels" "${binary[@]}"
cp "${others[@]}" "$work/out/wheels/"
chmod -R u=rwX,go=rX "$work/out"
