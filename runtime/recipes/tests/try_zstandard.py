"""zstandard: frames, dictionaries, streams, several buffers at once; threads that are not there; damaged frames."""

import io

import zstandard

data = b"".join(b"line %d of the text\n" % (n % 97) for n in range(20000))
for level in (-5, 1, 3, 19, 22):
    frame = zstandard.ZstdCompressor(level=level).compress(data)
    assert len(frame) < len(data) // 10 and zstandard.ZstdDecompressor().decompress(frame) == data, level

# A number of threads is accepted; the frame is that of none.
one = zstandard.ZstdCompressor(level=3).compress(data)
for threads in (2, -1):
    assert zstandard.ZstdCompressor(level=3, threads=threads).compress(data) == one
results = zstandard.ZstdCompressor().multi_compress_to_buffer([data, b"b" * 1000], threads=4)
assert [len(zstandard.decompress(bytes(part))) for part in results] == [len(data), 1000]

samples = [b"key=%d&name=brumate&value=%d" % (n, n * n) for n in range(3000)]
dictionary = zstandard.train_dictionary(4096, samples)
with_it = zstandard.ZstdCompressor(dict_data=dictionary).compress(samples[7])
assert len(with_it) < len(zstandard.ZstdCompressor().compress(samples[7]))
assert zstandard.ZstdDecompressor(dict_data=dictionary).decompress(with_it) == samples[7]

target = io.BytesIO()
with zstandard.ZstdCompressor(level=5, write_checksum=True).stream_writer(target, closefd=False) as writer:
    for start in range(0, len(data), 1000):
        writer.write(data[start : start + 1000])
frame = target.getvalue()
with zstandard.open(io.BytesIO(frame), "rt") as text:
    assert sum(1 for _ in text) == 20000
for damaged in (frame[:50] + b"\0\0\0\0" + frame[54:], b"not zstandard at all"):
    try:
        zstandard.ZstdDecompressor().stream_reader(io.BytesIO(damaged)).read()
    except zstandard.ZstdError:
        continue
    raise AssertionError("a damaged frame was read")
print("zstandard: all of it works")
