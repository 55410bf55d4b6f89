"""One SQLite file and several threads: connections that belong to a thread, locks, transactions, interrupts."""

import contextlib
import sqlite3
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

local = threading.local()
path = Path(tempfile.mkdtemp()) / 'shop.db'


def connection() -> sqlite3.Connection:
    if not hasattr(local, 'connection'):
        local.connection = sqlite3.connect(path, timeout=10)
    return local.connection


def in_thread(function, *args):
    """Gives what the function gave or raised in a thread of its own."""
    result: list[object] = []

    def run() -> None:
        try:
            result.append(function(*args))
        except Exception as e:
            # The numbers of threads change from run to run.
            result.append(f'{type(e).__name__}: {str(e).split(". The object")[0]}')

    t = threading.Thread(target=run)
    t.start()
    t.join()
    return result[0]


main = connection()
main.executescript(
    'PRAGMA journal_mode = DELETE; CREATE TABLE stock(item TEXT PRIMARY KEY, n INT CHECK (n >= 0)); CREATE TABLE log(x)'
)
main.executemany('INSERT INTO stock VALUES (?, ?)', [('apple', 10), ('pear', 5)])
main.commit()
print(sqlite3.threadsafety, sqlite3.apilevel)
cursor = main.execute('SELECT * FROM stock')
for name, function in {
    'execute': lambda: main.execute('SELECT 1'),
    'fetch': cursor.fetchone,
    'close': main.close,
    'commit': main.commit,
    'total_changes': lambda: main.total_changes,
    'interrupt': main.interrupt,
    'own': lambda: connection().execute('SELECT count(*) FROM stock').fetchone(),
}.items():
    print(name, in_thread(function))
try:
    print(cursor.fetchall())
except sqlite3.OperationalError as e:
    print(e, main.in_transaction, main.execute('SELECT * FROM stock').fetchall())


def buy(item: str) -> str:
    db = connection()
    try:
        with db:
            db.execute('BEGIN IMMEDIATE')
            db.execute('UPDATE stock SET n = n - 1 WHERE item = ?', (item,))
            db.execute('INSERT INTO log VALUES (?)', (item,))
    except sqlite3.IntegrityError as e:
        return str(e)
    return 'bought'


with ThreadPoolExecutor(4) as pool:
    results = sorted(pool.map(buy, ['apple', 'pear'] * 8))
print({r: results.count(r) for r in results}, main.execute('SELECT * FROM stock').fetchall())
print(main.execute('SELECT x, count(*) FROM log GROUP BY x').fetchall())

# One connection for all, behind a lock
shared = sqlite3.connect(':memory:', check_same_thread=False, isolation_level=None)
shared.execute('CREATE TABLE counts(thread, n)')
lock = threading.Lock()


def count(name: str) -> None:
    for n in range(20):
        with lock:
            shared.execute('INSERT INTO counts VALUES (?, ?)', (name, n))


threads = [threading.Thread(target=count, args=[f't{n}']) for n in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(shared.execute('SELECT thread, sum(n), count(*) FROM counts GROUP BY 1').fetchall(), shared.total_changes)

# Locked files
first, second = (sqlite3.connect(path, timeout=0.02, autocommit=True) for _ in range(2))
first.execute('BEGIN EXCLUSIVE')
try:
    second.execute('INSERT INTO log VALUES (1)')
except sqlite3.OperationalError as e:
    print(e, e.sqlite_errorname, e.sqlite_errorcode)
release = threading.Event()


def hold() -> str:
    with contextlib.closing(sqlite3.connect(path, autocommit=True)) as db:
        db.execute('BEGIN IMMEDIATE')
        db.execute("INSERT INTO log VALUES ('held')")
        release.wait(5)
        db.execute('COMMIT')
    return 'held'


first.execute('ROLLBACK')
holder = threading.Thread(target=hold)
holder.start()
while True:
    try:
        second.execute('BEGIN IMMEDIATE')
        second.execute('ROLLBACK')
    except sqlite3.OperationalError as e:
        print(e)
        break
threading.Timer(0.02, release.set).start()
with contextlib.closing(sqlite3.connect(path, timeout=5)) as patient:
    with patient:
        print(patient.execute("INSERT INTO log VALUES ('waited')").rowcount)
holder.join()
print(main.execute("SELECT x FROM log WHERE x LIKE '%e%d' ORDER BY 1").fetchall())

# A long query that another thread ends
numbers = 'SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 2000000'
slow = f'WITH RECURSIVE n(x) AS ({numbers}) SELECT count(*) FROM n'
long = sqlite3.connect(':memory:', check_same_thread=False)
timer = threading.Timer(0.02, long.interrupt)
timer.start()
try:
    print(long.execute(slow).fetchone())
except sqlite3.OperationalError as e:
    print(e, e.sqlite_errorname)
timer.join()
steps: list[str] = []
long.set_progress_handler(lambda: steps.append(threading.current_thread().name) or len(steps) > 3, 1000)
print(in_thread(lambda: long.execute(slow).fetchone()), len(steps), steps[0].split('-')[0])
long.set_progress_handler(None, 0)

# Functions and adapters of Python within a query in a thread
long.create_function('fail', 1, lambda x: 1 // x)
long.create_function('who', 0, lambda: threading.current_thread().name.split('-')[0])
long.create_collation('reverse', lambda a, b: (a < b) - (a > b))
print(in_thread(lambda: long.execute('SELECT fail(1), who()').fetchone()))
print(in_thread(lambda: long.execute('SELECT fail(0)').fetchone()))
print(long.execute("SELECT x FROM (SELECT 'a' x UNION SELECT 'b') ORDER BY x COLLATE reverse").fetchall())
copied: list[tuple[int, int, int]] = []


def back_up() -> list[tuple]:
    with contextlib.closing(sqlite3.connect(':memory:')) as target:
        shared.backup(target, pages=1, progress=lambda *state: copied.append(state))
        return target.execute('SELECT count(*) FROM counts').fetchall()


print(in_thread(back_up), len(copied) > 0, copied[-1][0])
for db in (main, shared, first, second, long):
    db.close()
for action in (lambda: main.execute('SELECT 1'), lambda: cursor.fetchone(), main.__enter__, second.interrupt):
    try:
        print(action())
    except Exception as e:
        print(type(e).__name__, e)
print(sorted(p.name for p in path.parent.iterdir()), [t.name for t in threading.enumerate()])
