#!/bin/sh
# Fills the cache that all tests of a build share: compiled code and images. Quick when nothing is missing.
# Arguments go to `brumate warmup`.
set -eu
target=${CARGO_TARGET_DIR:-target}
brumate=$target/debug/brumate
# A run that needs no program of ours has not built one.
[ -x "$brumate" ] || exit 0
exec "$brumate" warmup --offline --cache-dir "${BRUMATE_TEST_CACHE:-$target/tmp/cache}" "$@"
