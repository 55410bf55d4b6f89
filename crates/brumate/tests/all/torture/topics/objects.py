# Topics of the torture test's random programs: Python objects and libraries.
#
# `#: name` begins a topic. Its first part is run once, the parts after `#-` any number of times in any order. `V_` becomes a prefix
# that belongs to one use of the topic, `N_` a random number from 2 to 97. Nothing that depends on addresses, hashes of texts or
# time is printed.

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
