"""brotli: all qualities and modes, streams in pieces; damaged streams."""

import brotli

data = b"".join(b"line %d of the text\n" % (n % 97) for n in range(20000))
for quality in (0, 1, 5, 9, 11):
    packed = brotli.compress(data, quality=quality)
    assert len(packed) < len(data) // 5 and brotli.decompress(packed) == data, quality
for mode in (brotli.MODE_GENERIC, brotli.MODE_TEXT, brotli.MODE_FONT):
    assert brotli.decompress(brotli.compress(data, mode=mode, quality=4, lgwin=16)) == data
compressor, pieces = brotli.Compressor(quality=6), []
for start in range(0, len(data), 5000):
    pieces.append(compressor.process(data[start : start + 5000]))
packed = b"".join([*pieces, compressor.flush(), compressor.finish()])
decompressor = brotli.Decompressor()
assert b"".join(decompressor.process(packed[at : at + 100]) for at in range(0, len(packed), 100)) == data
assert decompressor.is_finished()
for damaged in (packed[: len(packed) // 2], b"\xff" * 40):
    try:
        brotli.decompress(damaged)
    except brotli.error:
        continue
    raise AssertionError("a damaged stream was read")
print("brotli: all of it works")
