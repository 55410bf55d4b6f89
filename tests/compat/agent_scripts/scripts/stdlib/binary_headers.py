import struct
import zlib
from array import array
from ctypes import c_int, c_long, c_void_p, sizeof
from io import BytesIO


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))


pixels = b''.join(b'\0' + bytes((x * 16, y * 16, 128)) * 1 for y in range(4) for x in range(1))
header = struct.pack('>IIBBBBB', 1, 4, 8, 2, 0, 0, 0)
png = (
    b'\x89PNG\r\n\x1a\n'
    + png_chunk(b'IHDR', header)
    + png_chunk(b'IDAT', zlib.compress(pixels, 9))
    + png_chunk(b'IEND', b'')
)
print(len(png), png.hex(' ', 4))
stream = BytesIO(png)
stream.seek(8)
while data := stream.read(8):
    length, kind = struct.unpack('>I4s', data)
    stream.seek(length + 4, 1)
    print(f'{kind.decode()} {length:>3} bytes')
for fmt in ('<hiq', '=hiq', '@hiq', '@ci', 'n', 'P', '@l', '<e', '3s?x', '@4d'):
    print(f'{fmt:6} {struct.calcsize(fmt)}')
print(struct.unpack('<4f', struct.pack('<4f', 0.1, -0.0, float('inf'), 1e-45)))
print([struct.pack('<e', v).hex() for v in (1, 65504, 2**-24)])
print([(code, array(code).itemsize) for code in 'bBhHiIlLqQfd'], sizeof(c_int), sizeof(c_long), sizeof(c_void_p))
samples = array('h', range(-3, 4))
samples.byteswap()
print(samples.tobytes().hex(), memoryview(samples).format, memoryview(samples)[2:5].tolist())
print((1234567890123456789).to_bytes(9, 'big', signed=True).hex(), int.from_bytes(b'\xff\xfe', 'little', signed=True))
for fmt, value in (('B', 300), ('<h', 40000), ('f', 1e300), ('i', 'x'), ('<l', 2**40), ('@l', 2**40)):
    try:
        print(struct.pack(fmt, value).hex())
    except (struct.error, OverflowError) as e:
        print(fmt, type(e).__name__, e)
struct.unpack('<I', b'abc')
