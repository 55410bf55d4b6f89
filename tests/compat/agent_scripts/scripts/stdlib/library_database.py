import sqlite3
from contextlib import closing
from pathlib import Path

DB = Path('library.db')
SCHEMA = """
CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT, year INT CHECK (year > 1400),
                   author_id INT NOT NULL REFERENCES author(id) ON DELETE CASCADE);
CREATE INDEX by_year ON book(year);
"""
with closing(sqlite3.connect(DB)) as db:
    db.row_factory = sqlite3.Row
    db.execute('PRAGMA foreign_keys = ON')
    db.executescript(SCHEMA)
    with db:
        db.executemany('INSERT INTO author(name) VALUES (?)', [('Austen',), ('Borges',), ('Čapek',)])
        db.executemany(
            'INSERT INTO book(title, year, author_id) VALUES (:t, :y, :a)',
            [
                {'t': 'Emma', 'y': 1815, 'a': 1},
                {'t': 'Ficciones', 'y': 1944, 'a': 2},
                {'t': 'R.U.R.', 'y': 1920, 'a': 3},
            ],
        )
    query = """
        WITH ranked AS (
            SELECT b.title, b.year, a.name, row_number() OVER (ORDER BY year DESC) AS rank,
                   lag(year, 1, 0) OVER (ORDER BY year) AS earlier
            FROM book b JOIN author a ON a.id = b.author_id)
        SELECT *, year - earlier AS gap FROM ranked ORDER BY rank"""
    for row in db.execute(query):
        print(dict(row))
    db.create_function('reverse', 1, lambda s: s[::-1], deterministic=True)
    print([r[0] for r in db.execute('SELECT reverse(title) FROM book')])
    print(
        db.execute(
            "SELECT json_extract('{\"a\": [1, 2, {\"b\": 3}]}', '$.a[2].b'), upper('ß'), 7 / 2, 7 % -3"
        ).fetchone()[:]
    )
    for statement in (
        "INSERT INTO author(name) VALUES ('Austen')",
        "INSERT INTO book(title, year, author_id) VALUES ('x', 1000, 1)",
        "INSERT INTO book(title, year, author_id) VALUES ('x', 2000, 99)",
        'SELEC 1',
        'SELECT * FROM nothing',
    ):
        try:
            with db:
                db.execute(statement)
        except sqlite3.Error as e:
            print(f'{type(e).__name__}: {e} ({e.sqlite_errorname})')
    print(db.total_changes, list(db.iterdump())[-2:], DB.stat().st_size)
db.execute('SELECT 1')
