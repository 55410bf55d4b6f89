"""Digests of `hashlib`, `hmac` and `zlib`: prints a line `WORK<tab>SECONDS<tab>CHECK` for each, the best of five.

Bulk is one megabyte at a time; a small message is one of 64 bytes. The check is a number made of the digest."""

import hashlib
import hmac
import time
import zlib

MEGABYTE = bytes(range(256)) * 4096
SMALL = MEGABYTE[:64]
BULK_ROUNDS, SMALL_ROUNDS = 8, 2000


def bulk(name):
    for _ in range(BULK_ROUNDS):
        digest = hashlib.new(name, MEGABYTE).digest()
    return digest


def small(name):
    make = getattr(hashlib, name)
    for _ in range(SMALL_ROUNDS):
        digest = make(SMALL).digest()
    return digest


def small_hmac():
    for _ in range(SMALL_ROUNDS):
        digest = hmac.digest(b"key", SMALL, "sha256")
    return digest


def checksum(function):
    for _ in range(BULK_ROUNDS):
        number = function(MEGABYTE)
    return number.to_bytes(4, "big")


ALGORITHMS = ("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b", "blake2s")
WORKS = {f"{name}, 8 MB": lambda name=name: bulk(name) for name in ALGORITHMS}
WORKS |= {f"{name}, 2,000 messages of 64 bytes": lambda name=name: small(name) for name in ("md5", "sha256", "blake2b")}
WORKS |= {
    "hmac.digest, 2,000 messages of 64 bytes": small_hmac,
    "pbkdf2_hmac, sha256, 100,000 rounds": lambda: hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 100_000),
    "scrypt, n = 16,384": lambda: hashlib.scrypt(b"password", salt=b"salt", n=1 << 14, r=8, p=1),
    "crc32, 8 MB": lambda: checksum(zlib.crc32),
    "adler32, 8 MB": lambda: checksum(zlib.adler32),
}

print("hashes", flush=True)
for name, work in WORKS.items():
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        digest = work()
        seconds.append(time.perf_counter() - start)
    print(name, min(seconds), int.from_bytes(digest[:4], "big"), sep="\t", flush=True)
