"""A small league in SQLite: schema, constraints, windows, full text."""

import sqlite3

db = sqlite3.connect(':memory:', autocommit=False)
db.row_factory = sqlite3.Row
db.execute('PRAGMA foreign_keys = ON')
db.commit()
db.execute('CREATE TABLE team (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT')
db.execute(
    'CREATE TABLE game (home INT REFERENCES team, away INT REFERENCES team, goals_home INT CHECK (goals_home >= 0), goals_away INT, day TEXT)'
)
db.executemany('INSERT INTO team (name) VALUES (?)', [(n,) for n in ('Ajax', 'Bayern', 'Celtic', 'Dynamo')])
games = [
    (h, a, (h * 7 + a) % 5, (h + a * 3) % 4, f'2025-0{h}-1{a}') for h in range(1, 5) for a in range(1, 5) if h != a
]
db.executemany('INSERT INTO game VALUES (?, ?, ?, ?, ?)', games)
db.create_function('points', 2, lambda x, y: 3 if x > y else 1 if x == y else 0, deterministic=True)
TABLE = """
WITH result AS (
  SELECT home AS team, goals_home AS f, goals_away AS a FROM game UNION ALL SELECT away, goals_away, goals_home FROM game
)
SELECT name, count(*) AS played, sum(points(f, a)) AS pts, sum(f) - sum(a) AS diff, rank() OVER (ORDER BY sum(points(f, a)) DESC, sum(f) - sum(a) DESC) AS place
FROM result JOIN team ON team.id = team GROUP BY team ORDER BY place, name
"""
for row in db.execute(TABLE):
    print(dict(row))
print(
    [
        tuple(r)
        for r in db.execute("SELECT day, sum(goals_home) OVER (ORDER BY day ROWS 1 PRECEDING) FROM game WHERE home = 1")
    ]
)
print(
    [
        tuple(r)
        for r in db.execute(
            "SELECT json_group_array(name), group_concat(name, '|'), json_extract('{\"a\": [1, 2]}', '$.a[1]'), strftime('%j', '2025-02-01'), round(2.5), typeof(1 / 2.0) FROM team"
        )
    ]
)
db.execute('CREATE VIRTUAL TABLE note USING fts5(body)')
db.executemany('INSERT INTO note VALUES (?)', [('the quick brown fox',), ('lazy dogs sleep',), ('quick dogs',)])
print(
    [
        r[0]
        for r in db.execute(
            "SELECT highlight(note, 0, '[', ']') FROM note WHERE note MATCH 'quick OR dog*' ORDER BY rank"
        )
    ]
)
for sql, values in (
    ('INSERT INTO team (name) VALUES (?)', ('Ajax',)),
    ('INSERT INTO game VALUES (9, 1, 0, 0, NULL)', ()),
    ('INSERT INTO game VALUES (1, 2, -1, 0, NULL)', ()),
    ('SELEC 1', ()),
    ('SELECT * FROM nope', ()),
    ('SELECT ?', ()),
    ("INSERT INTO team VALUES ('x', 'y')", ()),
):
    try:
        db.execute(sql, values)
    except sqlite3.Error as error:
        print(type(error).__name__, error, getattr(error, 'sqlite_errorname', None))
db.rollback()
print(
    db.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()[0],
    db.in_transaction,
    db.total_changes > 0,
)
with sqlite3.connect(':memory:') as other:
    db.backup(other)
    print(other.execute('PRAGMA integrity_check').fetchone(), other.execute('SELECT 1 AS one').description[0][0])
