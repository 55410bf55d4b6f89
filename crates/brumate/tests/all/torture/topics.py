# What the random programs of the torture test are made of.
#
# `#: name` begins a topic: its first part is run once, the parts after `#-` any number of times in any order. `V_` becomes
# a prefix that belongs to one use of the topic, `N_` a random number from 2 to 97. Nothing that depends on addresses,
# hashes of texts or time is printed.

#: numpy arrays and generators
import numpy as np
V_rng = np.random.default_rng(N_)
V_old = np.random.RandomState(N_)
V_array = np.arange(5000.0).reshape(50, 100)
V_view = V_array[::3, ::-2]
V_objects = np.array([{"n": N_}, [N_], None], dtype=object)
V_double = np.frompyfunc(lambda x: x * 2 + N_, 1, 1)
V_walk = np.nditer(np.arange(100), flags=["multi_index"] if N_ % 2 else [])
#-
V_array += V_rng.standard_normal(V_array.shape)
print(float(V_view.sum()), V_view.base is V_array or V_view.base is V_array.base)
#-
print(V_rng.integers(1 << 60), V_old.rand(), V_old.permutation(5).tolist())
#-
V_objects[1].append(len(V_objects[1])); V_objects[0]["n"] += 1
print(V_objects.tolist(), V_double(np.arange(3)).tolist())
#-
print([int(next(V_walk)) if not V_walk.finished and V_walk.iterindex < 98 else None for _ in range(2)])
#-
np.random.seed(N_); V_drawn = np.random.rand(3); V_state = np.random.get_state()[2]
print(V_drawn.tolist(), V_state, np.random.rand())

#: numpy settings and files
import numpy as np
V_settings = np.errstate(divide="raise", over="ignore"); V_settings.__enter__()
V_map = np.memmap("V_map", dtype="i4", mode="w+", shape=(300,))
V_record = np.zeros(5, dtype=[("a", "i4"), ("b", "U3"), ("c", "f8", (2,))])
#-
V_map[N_] += N_; V_map.flush()
print(int(V_map.sum()), int(np.fromfile("V_map", dtype="i4").sum()))
#-
V_record["a"] += N_; V_record["b"][N_ % 5] = chr(0x4e00 + N_); V_record["c"] += 0.5
print(V_record.tolist())
#-
try:
    np.ones(2) / np.zeros(2)
    print("divided", np.geterr()["over"])
except FloatingPointError as error:
    print(error, np.geterr()["over"])

#: pandas
import pandas as pd, numpy as np
V_frame = pd.DataFrame({"k": [n % 7 for n in range(200)], "v": range(200), "s": [f"t{n % 13}" for n in range(200)]})
V_groups = iter(V_frame.groupby("k"))
V_rows = V_frame.itertuples()
V_option = pd.option_context("display.max_rows", N_); V_option.__enter__()
#-
V_frame.loc[N_, "v"] += N_; V_frame["v"] = V_frame["v"].shift(1, fill_value=N_)
print(V_frame.groupby("s")["v"].sum().to_dict(), pd.get_option("display.max_rows"))
#-
print([(key, len(group), int(group.v.sum())) for key, group in [next(V_groups, (None, V_frame))]], tuple(next(V_rows))[:3])
#-
V_dates = pd.Series(range(48), index=pd.date_range("2024-03-01", periods=48, freq="h", tz="Europe/Berlin"))
print(V_dates.resample("6h").sum().tolist(), str(V_dates.index[N_ % 48]))
V_frame = V_frame.sample(frac=1, random_state=N_)
print(V_frame.index[:5].tolist())

#: generators
import contextlib
V_log = []
@contextlib.contextmanager
def V_manager(name):
    V_log.append(f"enter {name}")
    try:
        yield name
    finally:
        V_log.append(f"exit {name}")
def V_generator(start):
    got = None
    for number in range(start, start + 1000):
        try:
            with V_manager(number) as name, open("V_gen", "a") as file:
                file.write(str(name)); file.flush()
                got = yield number, got
        except ValueError as error:
            V_log.append(repr(error))
        finally:
            V_log.append("finally")
def V_outer():
    yield from V_generator(N_)
V_g = V_outer(); next(V_g)
V_spare = V_generator(5); next(V_spare)
#-
print(V_g.send(N_), V_log[-3:], open("V_gen").read()[-9:])
#-
print(V_g.throw(ValueError(N_)), V_log[-4:])
#-
V_spare.close(); print(V_log[-2:]); V_spare = V_generator(N_); print(next(V_spare))
#-
print(V_g.gi_yieldfrom.gi_frame.f_locals["number"], next(V_g)[0])

#: closures and classes
class V_Meta(type):
    def __call__(cls, *args):
        cls.made += 1
        return super().__call__(*args)
class V_Slots(metaclass=V_Meta):
    __slots__ = ("a", "b", "__weakref__")
    made = 0
    def __init__(self, a):
        self.a = a
    @property
    def twice(self):
        return self.a * 2
class V_Child(V_Slots):
    __slots__ = ("c",)
def V_counter(count):
    def step(by):
        nonlocal count
        count += by
        return count
    def look():
        return count
    return step, look
V_step, V_look = V_counter(N_)
V_object = V_Child(N_)
#-
V_object.a += V_step(N_); print(V_object.a, V_look(), V_object.twice)
#-
V_object.c = V_Slots(N_); print(V_Slots.made, V_Child.made, hasattr(V_object, "b"), V_object.c.a)
#-
try:
    V_object.unknown = 1
except AttributeError as error:
    print(error)
V_Slots.twice = property(lambda self, n=N_: self.a * n); print(V_object.twice)

#: open files
V_lines = open("V_lines", "w+")
V_lines.writelines(f"line {n} ä€𝄞\n" for n in range(400)); V_lines.seek(0)
V_binary = open("V_binary", "w+b", buffering=64); V_binary.write(bytes(range(256)) * 9)
V_append = open("V_append", "a"); V_raw = open("V_binary", "rb", buffering=0)
#-
print([V_lines.readline() for _ in range(N_ % 3 + 1)])
#-
V_cookie = V_lines.tell(); V_next = V_lines.readline(); V_lines.seek(V_cookie); print(V_next == V_lines.readline(), V_cookie)
#-
V_append.write(f"{N_};"); print(V_append.tell()); V_append.flush(); print(open("V_append").read())
#-
print(V_binary.seek(N_), V_binary.read(5)); V_binary.write(b"<N_>"); print(V_binary.tell(), V_raw.read(3))
#-
V_append.write("unflushed N_;")

#: exceptions in flight
import sys, traceback
V_saved = []
def V_fail(depth):
    local = depth * N_
    if depth == 0:
        raise KeyError(local)
    try:
        V_fail(depth - 1)
    except KeyError as error:
        raise RuntimeError(depth) from error
try:
    V_fail(3)
except RuntimeError as error:
    V_saved.append(error)
#-
try:
    V_fail(N_ % 4 + 1)
except RuntimeError as error:
    error.add_note("note N_"); V_saved.append(error)
print(len(V_saved))
#-
V_error = V_saved[-1]
while V_error is not None:
    print(type(V_error).__name__, V_error.args, [(f.f_code.co_name, f.f_locals.get("local")) for f, _ in traceback.walk_tb(V_error.__traceback__)][1:])
    V_error = V_error.__cause__
#-
try:
    raise V_saved[0].with_traceback(None)
except RuntimeError as error:
    print(error, error.__cause__, sys.exc_info()[1] is V_saved[0])
#-
V_group = ExceptionGroup("N_", [ValueError(N_), ExceptionGroup("inner", [TypeError(1), *V_saved[:1]])])
V_match, V_rest = V_group.split(TypeError); print(repr(V_match), len(V_rest.exceptions)); V_saved.append(RuntimeError("N_"))

#: sqlite in memory
import sqlite3
V_db = sqlite3.connect(":memory:")
V_db.execute("create table t (n integer primary key, x text)")
V_db.executemany("insert into t (x) values (?)", [(f"x{n}",) for n in range(500)])
V_db.commit()
V_db.create_function("V_f", 1, lambda x: x * N_)
class V_Sum:
    def __init__(self): self.n = 0
    def step(self, x): self.n += x
    def finalize(self): return self.n
V_db.create_aggregate("V_sum", 1, V_Sum)
V_cursor = V_db.execute("select n, V_f(n) from t order by n")
#-
print(V_cursor.fetchmany(2))
#-
V_db.execute("update t set x = x || '!' where n % N_ = 0"); print(V_db.in_transaction, V_db.total_changes)
#-
V_db.rollback(); print(V_db.execute("select V_sum(n), max(length(x)) from t").fetchone()); V_cursor = V_db.execute("select n, V_f(n) from t order by n")
#-
V_db.commit(); V_db.execute("savepoint V_p"); V_db.execute("delete from t where n = N_")
print(V_db.execute("select count(*) from t").fetchone()); V_db.execute("rollback to V_p"); print(V_db.execute("select count(*) from t").fetchone())

#: sqlite on file
import sqlite3, os
V_db = sqlite3.connect("V_db", isolation_level=None)
V_db.execute("pragma journal_mode = " + ("delete", "truncate", "persist", "memory")[N_ % 4])
V_db.execute("create table t (n integer, x blob)")
V_other = sqlite3.connect("V_db", timeout=0)
#-
V_db.execute("begin immediate") if not V_db.in_transaction else None
V_db.execute("insert into t values (N_, zeroblob(20000))"); print(V_db.execute("select count(*), sum(n) from t").fetchone())
#-
try:
    print(V_other.execute("select count(*) from t").fetchone(), os.path.exists("V_db-journal"))
except sqlite3.OperationalError as error:
    print(error)
#-
V_db.execute("commit") if V_db.in_transaction else None
print(V_db.execute("pragma integrity_check").fetchone(), V_db.execute("select count(*) from t").fetchone())
#-
V_db.execute("rollback") if V_db.in_transaction else None
print(V_db.execute("select sum(n) from t").fetchone())

#: ctypes callbacks
import ctypes
V_kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
V_calls = []
def V_compare(a, b):
    V_calls.append(1)
    return (a[0] > b[0]) - (a[0] < b[0])
V_callback = V_kind(V_compare)
V_struct = type("V_struct", (ctypes.Structure,), {"_fields_": [("n", ctypes.c_int), ("d", ctypes.c_double)]})
V_value = V_struct(N_, 0.5); V_pointer = ctypes.pointer(V_value)
V_mixed = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_longlong)(lambda d, n: d * n + V_value.n)
V_again = ctypes.cast(V_mixed, ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_longlong))
V_heap = ctypes.CDLL(None).malloc(4096); ctypes.memset(V_heap, N_, 4096)
#-
V_values = (ctypes.c_int * 20)(*[(n * N_) % 31 for n in range(20)])
ctypes.CDLL(None).qsort(V_values, 20, 4, V_callback); print(list(V_values), len(V_calls) > 19)
#-
V_pointer.contents.n += N_; print(V_value.n, V_mixed(1.5, N_), V_again(0.25, -3))
#-
V_extra = [ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x, n=n: x + n) for n in range(N_)]
print(sum(f(1) for f in V_extra)); del V_extra[::2]
#-
print(ctypes.string_at(V_heap, 3), ctypes.string_at(V_heap + 4093, 3)); ctypes.memset(V_heap, N_ + 1, 2)

#: seeded random
import random
V_random = random.Random(N_)
random.seed(N_)
#-
print(V_random.random(), V_random.gauss(0, 1), V_random.getrandbits(70))
#-
print(random.random(), random.choice(range(1000)), random.gauss(0, 1))
#-
V_state = V_random.getstate(); V_first = V_random.random(); V_random.setstate(V_state); print(V_first == V_random.random())

#: dicts, sets, weak references
import collections, weakref
class V_Node:
    def __init__(self, n): self.n = n; self.me = self
V_gone = []
V_dict = {n: str(n) for n in range(50)}
V_set = {n * 3 for n in range(50)}
V_keys = iter(V_dict.copy())
V_ordered = collections.OrderedDict.fromkeys(range(10))
V_deque = collections.deque(range(20), maxlen=20)
V_weak = weakref.WeakValueDictionary()
V_nodes = {n: V_Node(n) for n in range(20)}
V_weak.update(V_nodes)
for V_n, V_node in V_nodes.items():
    weakref.finalize(V_node, V_gone.append, V_n)
del V_node
#-
V_dict.pop(N_ % 50, None); V_dict[N_] = V_dict; print(len(V_dict), list(V_dict)[-4:], V_dict[N_] is V_dict)
#-
V_set ^= {N_, N_ * 3}; print(sorted(V_set)[:5], len(V_set)); V_set.discard(N_)
#-
V_ordered.move_to_end(N_ % 10, last=bool(N_ % 2)); V_deque.rotate(N_); V_deque.append(N_); print(list(V_ordered), list(V_deque)[:4])
#-
import gc
V_nodes.pop(N_ % 20, None); gc.collect(); print(sorted(V_weak), sorted(V_gone))
#-
print(next(V_keys, None), next(V_keys, None))

#: iterators half consumed
import itertools, csv, io, json, re
V_left, V_right = itertools.tee(n * n for n in itertools.count(N_))
V_cycle = itertools.cycle("abc"); V_slice = itertools.islice(itertools.permutations(range(6)), 3, None, 2)
V_group = itertools.groupby(n // 3 for n in itertools.count()); V_pairs = itertools.pairwise(itertools.accumulate(itertools.count(1)))
V_chain = itertools.chain.from_iterable([n] * n for n in itertools.count(1)); V_zip = zip(map(str, itertools.count()), reversed(range(1000)))
V_csv = csv.reader(io.StringIO("".join(f"{n},\"a\nb{n}\"\r\n" for n in range(900))))
V_json = json.JSONEncoder(indent=1).iterencode({"n": [*range(900)]})
V_found = re.finditer(r"(\d)(?=(\d))", "0123456789" * 90)
V_enumerate = enumerate(memoryview(bytes(range(256)) * 4), N_)
#-
print(next(V_left), next(V_left), next(V_cycle), next(V_zip))
#-
print(next(V_right), next(V_slice), next(V_pairs), next(V_chain), next(V_chain))
#-
V_key, V_members = next(V_group); print(V_key, next(V_members), next(V_csv), next(V_enumerate))
#-
print(next(V_json), next(V_json), next(V_found).groups())

#: modules on disk
import sys, importlib
sys.dont_write_bytecode = True
V_text = "import os\nVALUE = N_\nLOADS = globals().get('LOADS', 0) + 1\ndef f(x):\n    return x * VALUE\n"
open("V_mod.py", "w").write(V_text); "" in sys.path or sys.path.insert(0, "")
sys.path.count(".") or sys.path.append("."); importlib.invalidate_caches()
import V_mod
V_f = V_mod.f
#-
print(V_mod.VALUE, V_mod.LOADS, V_f(3), sys.modules["V_mod"] is V_mod, V_f is V_mod.f)
#-
open("V_mod.py", "w").write(V_text.replace("VALUE = N_", f"VALUE = {'1' * (V_mod.LOADS % 50 + 3)}")); importlib.invalidate_caches(); importlib.reload(V_mod); print(V_mod.f(1), V_mod.LOADS)
#-
del sys.modules["V_mod"]; import V_mod; print(V_mod.LOADS, V_f(2), V_mod.__spec__.name == "V_mod", V_mod.__file__[-3:])

#: locals of threads and contexts
import threading, contextvars
V_local = threading.local(); V_local.n = N_
V_var = contextvars.ContextVar("V_var", default=0)
V_context = contextvars.copy_context()
V_tokens = []
V_lock = threading.RLock(); V_lock.acquire()
#-
V_local.n += N_; print(V_local.n, sorted(vars(V_local)), threading.current_thread().name)
#-
V_context.run(lambda: V_tokens.append(V_var.set(V_var.get() + N_))); print(V_context.get(V_var), len(V_tokens))
#-
if V_tokens:
    V_context.run(V_var.reset, V_tokens.pop())
print(V_context.get(V_var), V_var.get(-1))
#-
print(V_lock.acquire(blocking=False), V_lock._is_owned()); V_lock.release()

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
