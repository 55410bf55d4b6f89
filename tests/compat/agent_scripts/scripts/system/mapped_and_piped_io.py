import ctypes
import ctypes.util
import fcntl
import io
import mmap
import os
import select
import selectors
import tempfile

with open('records.bin', 'w+b') as f:
    f.write(b'abcdefgh' * 1000)
    f.flush()
    with mmap.mmap(f.fileno(), 0) as m:
        print(len(m), m[8:12], m.find(b'h'), m.size())
        m[0:3] = b'XYZ'
        m.seek(5)
        print(m.read(4), m.flush())
    f.seek(0)
    print(f.read(5), mmap.PAGESIZE)
    with mmap.mmap(f.fileno(), 16, access=mmap.ACCESS_READ) as m:
        try:
            m[0] = 1
        except TypeError as e:
            print('read-only:', e)
    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print('flags', fcntl.fcntl(f, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR)
anonymous = mmap.mmap(-1, 4096)
anonymous.write(b'hi')
print(anonymous[:4])
r, w = os.pipe()
print(select.select([r], [], [], 0.01)[0], bool(select.select([], [w], [], 0)[1]))
os.write(w, b'ready')
print(select.select([r], [], [], 1)[0] == [r], os.read(r, 10))
with selectors.DefaultSelector() as selector:
    selector.register(r, selectors.EVENT_READ, 'pipe')
    os.write(w, b'x')
    print([(key.data, mask) for key, mask in selector.select(1)])
poller = select.poll()
poller.register(r, select.POLLIN)
print(poller.poll(10) == [(r, select.POLLIN)])
os.close(r)
try:
    os.write(w, b'y')
except BrokenPipeError as e:
    print(type(e).__name__, e)
with (
    tempfile.NamedTemporaryFile('w+', suffix='.txt', delete_on_close=False) as t,
    tempfile.SpooledTemporaryFile(10) as s,
):
    print(
        t.name.endswith('.txt'),
        os.path.dirname(t.name) == tempfile.gettempdir(),
        tempfile.gettempdir(),
        s.write(b'spool'),
        s.seek(1),
        s.read(),
    )
libc_name = ctypes.util.find_library('c')
try:
    libc = ctypes.CDLL(libc_name)
    print(libc.abs(-5), libc.strlen(b'hello'), libc.atoi(b'42'))
except (OSError, AttributeError, TypeError) as e:
    print('libc', type(e).__name__, e)
buffer = ctypes.create_string_buffer(b'abc', 8)
numbers = (ctypes.c_int * 3)(1, 2, 3)
print(buffer.raw, list(numbers), ctypes.c_uint8(300).value, ctypes.sizeof(numbers), ctypes.string_at(buffer, 2))
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
print(CALLBACK(lambda x: x * 2)(21), io.DEFAULT_BUFFER_SIZE)
ctypes.CDLL('libdoesnotexist.so')
