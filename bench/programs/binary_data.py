"""struct, base64, hashlib, zlib, bytearray and memoryview: C code of the standard library and its calls."""

import base64
import binascii
import hashlib
import struct
import zlib

HEADER = struct.Struct("<IHHd8s")


def run():
    records = bytearray()
    for number in range(8000):
        records += HEADER.pack(number, number & 0xFFFF, number % 7, number / 3, b"name%04d" % (number % 10_000))
    total = 0.0
    for identifier, low, rest, value, name in HEADER.iter_unpack(records):
        total += identifier + low + rest + value + name[-1]
    view = memoryview(records)
    digests = hashlib.sha256()
    for start in range(0, len(view), 1024):
        digests.update(hashlib.sha1(view[start : start + 1024]).digest())
        digests.update(hashlib.md5(view[start : start + 1024]).digest())
    text = base64.b64encode(records)
    if base64.b64decode(text) != records or binascii.unhexlify(binascii.hexlify(records)) != records:
        raise AssertionError("an encoding changed the data")
    packed = zlib.compress(bytes(records[:100_000]), 6)
    turned = bytes(byte ^ 0x5A for byte in records[:60_000])
    return [round(total, 3), digests.hexdigest(), len(text), zlib.crc32(turned), zlib.adler32(zlib.decompress(packed))]
