import sqlite3
from datetime import date, datetime

con = sqlite3.connect(':memory:', detect_types=sqlite3.PARSE_DECLTYPES)
print(sqlite3.threadsafety, sqlite3.apilevel, sqlite3.paramstyle)
try:
    con.execute('CREATE VIRTUAL TABLE notes USING fts5(title, body)')
    con.executemany(
        'INSERT INTO notes VALUES (?, ?)',
        [('Milk', 'buy milk and bread'), ('Car', 'wash the car'), ('Bread', 'bake bread')],
    )
    for row in con.execute(
        "SELECT title, highlight(notes, 1, '<', '>') FROM notes WHERE notes MATCH 'bread' ORDER BY rank"
    ):
        print(row)
except sqlite3.OperationalError as e:
    print('no fts5:', e)
for module in ('rtree(id, x0, x1)', 'fts4(text)', 'dbstat', 'geopoly()'):
    try:
        con.execute(f'CREATE VIRTUAL TABLE "t_{module[:4]}" USING {module}')
        print(module, 'ok')
    except sqlite3.OperationalError as e:
        print(module, e)
con.execute('CREATE TABLE events (d DATE, ts TIMESTAMP)')
con.execute('INSERT INTO events VALUES (?, ?)', (date(2024, 5, 6), datetime(2024, 5, 6, 7, 8, 9)))
print(con.execute('SELECT * FROM events').fetchone())


class StdDev:
    def __init__(self):
        self.values = []

    def step(self, value):
        self.values.append(value)

    def finalize(self):
        mean = sum(self.values) / len(self.values)
        return (sum((v - mean) ** 2 for v in self.values) / len(self.values)) ** 0.5


con.create_aggregate('stddev', 1, StdDev)
con.create_collation('length', lambda a, b: (len(a) > len(b)) - (len(a) < len(b)))
con.execute(
    'CREATE TABLE nums AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 10) SELECT x FROM c'
)
print(con.execute('SELECT stddev(x), sum(x), group_concat(x) FROM nums').fetchone())
print(con.execute("SELECT * FROM (VALUES ('ccc'), ('a'), ('bb')) ORDER BY 1 COLLATE length").fetchall())
print(
    con.execute(
        "SELECT strftime('%W %j', '2024-05-06'), printf('%08.3f', 3.14159), sqrt(2), unixepoch('2024-01-01')"
    ).fetchone()
)
blob = con.execute("SELECT zeroblob(4), x'00ff', typeof(1e400), 9223372036854775807 + 1").fetchone()
print(blob)
con.commit()
backup = sqlite3.connect('copy.db')
con.backup(backup)
print(backup.execute('SELECT count(*) FROM nums').fetchone(), len(con.serialize()) % 4096)
print(con.execute('SELECT x FROM nums WHERE x > ?', ('5', '6')).fetchall())
