#!/bin/bash
# In the chroot, after cross-env.sh: OpenSSL from Debian's source, static, in /w/cross/openssl/usr, for cryptography alone.
set -euo pipefail
. /w/recipes/chroot/libs.sh
. /w/recipes/chroot/env.sh

# The series with long support, by name, in the version of Debian's stable release.
pinned_source_of openssl openssl_3.5.7.orig.tar.gz a8c0d28a529ca480f9f36cf5792e2cd21984552a3c8e4aa11a24aa31aeac98e8 pool/main/o/openssl
cd openssl-src
# An interpreter is forked without being told: each random number begins with entropy from the system.
sed -i '/^int openssl_get_fork_id/,/^}/c\int openssl_get_fork_id(void)\n{\n    static int requests;\n\n    return requests = (requests + 1) \& 0x7fffffff;\n}' crypto/threads_none.c
grep -q 'static int requests' crypto/threads_none.c
CFLAGS="-O2 -DNDEBUG -Dexit=_Exit" ./Configure linux-generic32 --prefix=/usr --libdir=lib --openssldir=/etc/ssl --with-rand-seed=devrandom \
  no-asm no-threads no-shared no-module no-dso no-tests no-apps no-docs no-afalgeng no-async no-secure-memory no-ui-console no-quic
nice -n 10 make -s -j"$jobs" build_libs
rm -rf /w/cross/openssl
make -s install_dev DESTDIR=/w/cross/openssl > /dev/null
cd ..
licences openssl openssl-src/LICENSE.txt
