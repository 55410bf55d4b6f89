import sqlite3

import pandas as pd

rows = [
    ('2025-01-03', 'books', 12.99, 1),
    ('2025-01-04', 'games', 59.90, 1),
    ('2025-01-09', 'books', 7.50, 3),
    ('2025-02-14', 'music', 9.99, 2),
    ('2025-02-20', 'games', None, 1),
]
con = sqlite3.connect('shop.db')
frame = pd.DataFrame(rows, columns=['day', 'category', 'price', 'n'])
print('rows written:', frame.to_sql('sales', con, index=False, if_exists='replace'))
query = """
    SELECT category, COUNT(*) AS orders, ROUND(SUM(price * n), 2) AS revenue
    FROM sales GROUP BY category ORDER BY revenue DESC
"""
print(pd.read_sql(query, con))
print(pd.read_sql_query('SELECT * FROM sales WHERE n > ?', con, params=(1,), parse_dates=['day'], index_col='day'))
for chunk in pd.read_sql('SELECT * FROM sales', con, chunksize=2):
    print(len(chunk), chunk['price'].sum())
try:
    frame.to_sql('sales', con, index=False)
except ValueError as e:
    print('ValueError:', e)
try:
    pd.read_sql('SELECT * FROM nothing', con)
except Exception as e:
    print(type(e).__name__, e)
print(pd.io.sql.get_schema(frame, 'sales'))
with con:
    con.execute('UPDATE sales SET price = 49.5 WHERE price IS NULL')
print(pd.read_sql('SELECT strftime("%m", day) AS month, AVG(price) AS mean FROM sales GROUP BY 1', con))
con.close()
pd.read_sql_table('sales', 'sqlite:///shop.db')
