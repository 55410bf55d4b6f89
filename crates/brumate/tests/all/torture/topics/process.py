# Topics of the torture test's random programs: files, descriptors, settings and other state of the process.
#
# `#: name` begins a topic. Its first part is run once, the parts after `#-` any number of times in any order. `V_` becomes a prefix
# that belongs to one use of the topic, `N_` a random number from 2 to 97. Nothing that depends on addresses, hashes of texts or
# time is printed.

#: decimal
import decimal
from fractions import Fraction
decimal.getcontext().prec = N_
V_context = decimal.Context(prec=7, rounding=decimal.ROUND_UP, traps=[decimal.DivisionByZero])
V_sum = decimal.Decimal(1)
V_big = 7 ** (N_ * 20)
#-
V_sum = V_sum / 3 + decimal.Decimal("0.N_"); print(V_sum, decimal.getcontext().prec)
#-
print(V_context.divide(2, 3), V_context.flags[decimal.Inexact], decimal.getcontext().flags[decimal.Rounded]); V_context.clear_flags()
#-
decimal.getcontext().rounding = (decimal.ROUND_DOWN, decimal.ROUND_HALF_EVEN)[N_ % 2]; decimal.getcontext().prec = N_ + 2
print(decimal.Decimal(2).sqrt(), V_big % 1000003, Fraction(V_big, 7 ** 20 * N_).denominator)

#: working directory and umask
import os
os.makedirs("/tmp/V_a/b", exist_ok=True)
V_here = os.getcwd(); V_fd = os.open("/tmp/V_a", os.O_RDONLY | os.O_DIRECTORY)
#-
os.chdir("/tmp/V_a/b"); open("relative", "a").write("N_"); V_mask = os.umask(N_ & 0o77); print(oct(V_mask), os.getcwd())
os.close(os.open("V_mode-N_", os.O_CREAT | os.O_WRONLY, 0o666)); print(oct(os.stat("V_mode-N_").st_mode), sorted(os.listdir("."))); os.chdir(V_here)
#-
os.chdir("/tmp/V_a"); print(os.getcwd(), os.path.exists("b/relative"), sorted(os.listdir(V_fd)), os.stat("b", dir_fd=V_fd).st_ino == os.stat("/tmp/V_a/b").st_ino)
os.chdir(V_here)
#-
os.umask(0o22)
with open("/tmp/V_a/here-N_", "w") as V_file:
    print(oct(os.fstat(V_file.fileno()).st_mode))

#: environment
import os, ctypes, time
V_getenv = ctypes.CDLL(None).getenv; V_getenv.restype = ctypes.c_char_p
os.environ["V_fixed"] = "N_"
#-
os.environ["V_x"] = os.environ.get("V_x", "") + "N_"; print(os.environ["V_x"], V_getenv(b"V_x"), V_getenv(b"V_fixed"))
#-
os.environ.pop("V_x", None); print(V_getenv(b"V_x"), sorted(name for name in os.environ if name.startswith("V_")))
#-
os.environ["TZ"] = ("UTC-3", "EST5EDT", "CET-1CEST")[N_ % 3]; ctypes.CDLL(None).tzset(); print(time.localtime(86400 * N_)[:5])

#: descriptors
import os, fcntl
V_a = os.open("V_shared", os.O_RDWR | os.O_CREAT); V_b = os.dup(V_a); V_c = os.open("V_shared", os.O_RDWR | os.O_APPEND)
os.write(V_a, b"0123456789" * 50)
V_unlinked = open("V_unlinked", "w+"); V_unlinked.write("start "); os.unlink("V_unlinked")
V_high = fcntl.fcntl(V_a, fcntl.F_DUPFD, 200 + N_)
V_renamed = open("V_before", "w+"); os.rename("V_before", "V_after"); os.mkdir("V_removed"); V_dir = os.open("V_removed", os.O_RDONLY); os.rmdir("V_removed")
#-
print(os.lseek(V_b, N_, 0), os.read(V_a, 3), os.lseek(V_b, 0, 1), os.lseek(V_high, 0, 1) == os.lseek(V_a, 0, 1))
#-
os.write(V_c, b"N_;"); print(os.fstat(V_a).st_size, os.lseek(V_c, 0, 1), os.pread(V_b, 3, os.fstat(V_a).st_size - 3))
#-
V_unlinked.write("N_ "); V_unlinked.flush(); V_unlinked.seek(0); print(V_unlinked.read(), os.fstat(V_unlinked.fileno()).st_nlink, os.path.exists("V_unlinked"))
#-
print(fcntl.fcntl(V_c, fcntl.F_GETFL) & os.O_APPEND != 0, os.get_inheritable(V_a), V_high >= 200); os.set_inheritable(V_b, not os.get_inheritable(V_b))
#-
V_renamed.write("N_"); V_renamed.flush(); print(open("V_after").read(), os.fstat(V_dir).st_nlink); os.ftruncate(V_a, 300 + N_); print(os.fstat(V_b).st_size)

#: directories and links
import os
os.makedirs("V_d/sub", exist_ok=True)
for V_n in range(30):
    open(f"V_d/f{V_n:02}", "w").write("x" * V_n)
os.symlink("V_d/f08", "V_soft"); os.symlink("V_nowhere", "V_dangling")
V_scan = os.scandir("V_d"); V_seen = [next(V_scan).name]
#-
V_entry = next(V_scan, None); V_seen.append(V_entry.name if V_entry else None); print(len(set(V_seen) - {None}) + V_seen.count(None) == len(V_seen))
#-
V_seen += [entry.name for entry in V_scan]; print(len(set(V_seen) - {None}))
#-
open("V_soft", "a").write("N_"); print(os.stat("V_d/f08").st_size, os.readlink("V_soft"), os.path.lexists("V_dangling"), os.path.exists("V_dangling"))
#-
os.utime("V_soft", ns=(N_ * 10**9 + 5, N_ * 10**9 + 7)); os.chmod("V_d/sub", 0o710 + N_ % 8); print(os.stat("V_d/f08").st_mtime_ns, oct(os.stat("V_d/sub").st_mode))
#-
with open("V_sparse", "ab") as V_file:
    V_file.truncate(V_file.tell() + 100000); V_file.write(b"N_")
print(os.stat("V_sparse").st_size, open("V_sparse", "rb").read().count(0))

#: pipes
import os, select
V_read, V_write = os.pipe(); os.write(V_write, b"first "); V_spare = os.dup(V_write)
os.set_blocking(V_read, False)
#-
print(os.write(V_write, b"N_ " * (N_ % 5 + 1)))
#-
try:
    print(os.read(V_read, 4))
except BlockingIOError as error:
    print("would block")
#-
print(os.get_blocking(V_read), [len(found) for found in select.select([V_read], [V_write], [], 0)])
#-
os.write(V_spare, b"spare"); print(len(os.read(V_read, 10000)))

#: coroutines and event loops
import asyncio
V_queue = asyncio.Queue(); V_done = []
async def V_worker():
    try:
        while True:
            V_done.append(await V_queue.get())
    finally:
        V_done.append("stopped")
async def V_pending():
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        V_done.append("cancelled"); raise
V_task = asyncio.ensure_future(V_worker()); V_wait = asyncio.ensure_future(V_pending())
async def V_numbers():
    try:
        for n in range(1000):
            yield n
    finally:
        V_done.append("closed")
V_async = V_numbers()
await asyncio.sleep(0)
#-
V_queue.put_nowait(N_); await asyncio.sleep(0); await asyncio.sleep(0); print(V_done, V_task.done())
#-
V_wait.cancel(); await asyncio.sleep(0); await asyncio.sleep(0); print(V_wait.cancelled(), V_done[-1:]); V_wait = asyncio.ensure_future(V_pending()); await asyncio.sleep(0)
#-
print(await anext(V_async), await asyncio.gather(asyncio.sleep(0.001, N_), asyncio.sleep(0, 1)))
#-
V_coroutine = V_pending(); V_coroutine.send(None); V_coroutine.close(); V_future = asyncio.get_running_loop().create_future(); V_future.add_done_callback(lambda f: V_done.append(f.result())); V_future.set_result("future N_"); await asyncio.sleep(0); print(V_done[-1])

#: compressors, hashes, decoders
import zlib, bz2, lzma, hashlib, codecs, io, base64, zipfile
V_out = {"z": b"", "b": b"", "l": b""}
V_z, V_b, V_l = zlib.compressobj(6), bz2.BZ2Compressor(), lzma.LZMACompressor(preset=0)
V_inflate = zlib.decompressobj(); V_given = 0
V_hash, V_blake, V_crc = hashlib.sha256(), hashlib.blake2b(key=b"N_"), 0
V_decoder = codecs.getincrementaldecoder("utf-8")(); V_bytes = "ä€𝄞".encode() * 900; V_at = 0
V_zip = zipfile.ZipFile("V_zip", "w", zipfile.ZIP_DEFLATED); V_n = 0
#-
V_data = b"N_ some text" * N_; V_out["z"] += V_z.compress(V_data); V_out["b"] += V_b.compress(V_data); V_out["l"] += V_l.compress(V_data)
print(V_inflate.decompress(V_out["z"][V_given:])[-20:], [zlib.crc32(part) for part in V_out.values()]); V_given = len(V_out["z"])
#-
V_hash.update(b"N_"); V_blake.update(b"N_" * 200); V_crc = zlib.crc32(b"N_", V_crc); print(V_hash.hexdigest()[:20], V_blake.hexdigest()[:20], V_crc)
#-
print([V_decoder.decode(V_bytes[V_at + n:V_at + n + 1]) for n in range(7)]); V_at += 7
#-
V_n += 1; V_zip.writestr(zipfile.ZipInfo(f"V_{V_n}"), "N_" * 100); print([info.CRC for info in V_zip.infolist()])
#-
V_out["z"] += V_z.flush(zlib.Z_SYNC_FLUSH); print(zlib.crc32(zlib.decompressobj().decompress(V_out["z"])))

#: buffers
import array, mmap, io, os, struct
V_array = array.array("d", range(100)); V_bytes = bytearray(range(256)); V_view = memoryview(V_bytes)[10:200:3]
open("V_mapped", "wb").write(bytes(20000)); V_file = open("V_mapped", "r+b"); V_map = mmap.mmap(V_file.fileno(), 20000); V_anonymous = mmap.mmap(-1, 8192)
V_stream = io.BytesIO(b"abc" * 100); V_borrowed = V_stream.getbuffer(); V_unpack = struct.Struct("<hi").iter_unpack(bytes(range(252)))
#-
V_view[N_ % 60] = N_; V_array[N_] += 1
try:
    V_bytes.append(1)
except BufferError as error:
    print(error)
print(sum(V_bytes), sum(V_array))
#-
V_map[N_ * 100] = N_; V_map.flush(); V_anonymous[N_] = N_; print(sum(V_map[:]), sum(open("V_mapped", "rb").read()), sum(V_anonymous[:100]))
#-
V_borrowed[N_] = 65; print(V_stream.read(5), V_stream.tell(), next(V_unpack, None))

#: the interpreter's own settings
import gc, sys, signal, warnings, builtins, locale
V_hits = []
signal.signal(signal.SIGUSR2, lambda number, frame: V_hits.append(number)); V_handler = signal.getsignal(signal.SIGUSR2)
builtins.V_patched = "N_"; sys.V_mark = N_; V_hook = sys.excepthook
sys.setrecursionlimit(600 + N_)
#-
signal.raise_signal(signal.SIGUSR2); print(V_hits[-1:], len(V_hits), callable(signal.getsignal(signal.SIGUSR2)))
#-
gc.disable() if N_ % 2 else gc.enable(); gc.set_threshold(700 + N_); print(gc.isenabled(), gc.get_threshold()[0], sys.getrecursionlimit(), sys.V_mark)
#-
sys.set_int_max_str_digits(1000 + N_); sys.setswitchinterval(1 / N_); print(sys.get_int_max_str_digits(), sys.getswitchinterval(), builtins.V_patched)
#-
warnings.simplefilter(("ignore", "error", "always")[N_ % 3], category=DeprecationWarning)
try:
    with warnings.catch_warnings(record=True) as V_caught:
        warnings.warn("V_", DeprecationWarning)
    print(len(V_caught))
except DeprecationWarning as error:
    print("raised")
warnings.resetwarnings()
#-
print(sys.intern("V_" + "N_" * 3) is sys.intern("V_" + "N_" * 3), locale.setlocale(locale.LC_ALL), sys.getdefaultencoding())

#: managers left open
import contextlib, tempfile, io, os, functools
V_stack = contextlib.ExitStack(); V_log = []
V_stack.callback(V_log.append, "bottom"); V_temporary = V_stack.enter_context(tempfile.TemporaryDirectory())
V_spooled = tempfile.SpooledTemporaryFile(max_size=200); V_named = tempfile.NamedTemporaryFile("w+")
@functools.lru_cache(maxsize=8)
def V_cached(n):
    V_log.append(n)
    return n * 2
V_single = functools.singledispatch(lambda x: "other")
#-
V_stack.callback(V_log.append, "N_"); open(os.path.join(V_temporary, "N_"), "w").close(); print(len(os.listdir(V_temporary)))
#-
V_spooled.write(b"N_" * 20); print(V_spooled._rolled, V_spooled.tell()); V_named.write("N_"); V_named.flush(); print(os.stat(V_named.name).st_size)
#-
print(V_cached(N_ % 12), V_cached.cache_info()); V_single.register((int, str, bytes)[N_ % 3])(lambda x: type(x).__name__); print(V_single(1), V_single("a"), V_single(b""))
#-
V_stack.close(); print(V_log[-3:], os.path.exists(V_temporary)); V_temporary = V_stack.enter_context(tempfile.TemporaryDirectory())

#: clocks
import time, datetime
V_monotonic, V_counter, V_time = time.monotonic(), time.perf_counter(), time.time()
#-
V_now = time.monotonic(); print(V_monotonic <= V_now < V_monotonic + 3600, V_counter <= time.perf_counter() < V_counter + 3600, V_time - 60 <= time.time()); V_monotonic = V_now
#-
print(str(datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=N_)), 0 < time.process_time() < 3600)

#: libraries loaded late
import importlib, sys
V_late = []
#-
import PIL.Image, PIL.ImageDraw
V_image = PIL.Image.new("RGB", (40, 30), (N_, 10, 200)); PIL.ImageDraw.Draw(V_image).ellipse((3, 3, N_ % 30 + 5, 20), fill=(1, 2, 3)); print(sum(V_image.tobytes()), V_image.resize((7, 5)).getpixel((3, 2)))
#-
import contourpy
print(sum(len(line) for line in contourpy.contour_generator(z=[[n * m % N_ for n in range(9)] for m in range(9)]).lines(3)))
#-
import kiwisolver
V_x = kiwisolver.Variable("x"); V_solver = kiwisolver.Solver(); V_solver.addConstraint(V_x >= N_); V_solver.updateVariables(); V_late.append(V_solver); print(V_x.value())
#-
import xml.etree.ElementTree, unicodedata, numpy.fft, numpy.linalg
V_parser = xml.etree.ElementTree.XMLPullParser(["start"]); V_parser.feed("<a><b n='N_'>"); V_late.append(V_parser); print([e.tag for _, e in V_parser.read_events()], unicodedata.name("ä"), abs(float(numpy.fft.fft(numpy.arange(8.0))[1])))
#-
for V_thing in V_late:
    V_thing.feed("<c/>") if hasattr(V_thing, "feed") else V_thing.updateVariables()
print(len(V_late), [len(list(thing.read_events())) for thing in V_late if hasattr(thing, "feed")])

#: standard streams
import sys, io, os
V_old = sys.stdout; V_buffer = io.StringIO()
V_third = os.dup(1)
#-
sys.stdout = V_buffer; print("kept N_"); sys.stdout = V_old; print(V_buffer.getvalue()[-20:])
#-
os.write(V_third, b"third N_\n"); sys.stdout.write("no newline N_"); sys.stdout.flush(); print(sys.stdin.read())
#-
print("error N_", file=sys.stderr, flush=True); sys.stderr.write("partial\n"); sys.stderr.flush()

#: figures
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt, zlib
V_figure, V_axes = plt.subplots(figsize=(2, 1)); V_line, = V_axes.plot([1, N_, 3])
#-
V_line.set_ydata([N_, 2, 5]); V_axes.relim(); V_axes.autoscale(); V_figure.canvas.draw(); print(zlib.crc32(V_figure.canvas.buffer_rgba()), plt.fignum_exists(V_figure.number))
#-
V_axes.plot(range(N_), label="N_"); V_axes.legend(); print(len(V_axes.lines), V_axes.get_xlim(), matplotlib.rcParams["lines.linewidth"])
#-
matplotlib.rcParams["lines.linewidth"] = N_ / 10; V_axes.bar(range(3), [1, N_, 2]); V_figure.canvas.draw(); print(zlib.crc32(V_figure.canvas.buffer_rgba()))
