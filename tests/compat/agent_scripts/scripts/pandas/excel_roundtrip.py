import os

import pandas as pd

budget = pd.DataFrame({'Dept': ['IT', 'HR', 'Ops'], 'Q1': [1000, 2000.5, 300], 'Q2': [1100, 1900, 450]})
staff = pd.DataFrame(
    {'Name': ['Ann', 'Bob'], 'Start': pd.to_datetime(['2020-02-29', '2023-07-01']), 'Active': [True, False]}
)

for engine in ('openpyxl', 'xlsxwriter'):
    path = f'book_{engine}.xlsx'
    with pd.ExcelWriter(path, engine=engine, datetime_format='YYYY-MM-DD') as writer:
        budget.to_excel(writer, sheet_name='Budget', index=False, startrow=1)
        staff.to_excel(writer, sheet_name='Staff', freeze_panes=(1, 0))
        if engine == 'xlsxwriter':
            sheet = writer.sheets['Budget']
            sheet.write(0, 0, 'Budget 2025', writer.book.add_format({'bold': True}))
            sheet.set_column('B:C', 12)
    sheets = pd.read_excel(path, sheet_name=None, header=0)
    print(engine, os.path.getsize(path) > 4000, list(sheets))
    print(sheets['Budget'])
    print(sheets['Staff'].dtypes)
with pd.ExcelFile('book_openpyxl.xlsx') as book:
    print(book.sheet_names, book.engine)
    print(book.parse('Budget', skiprows=1, index_col=0, usecols='A:B'))
with pd.ExcelWriter('book_openpyxl.xlsx', engine='openpyxl', mode='a', if_sheet_exists='replace') as writer:
    budget.set_index('Dept').sum(axis=1).to_frame('Total').to_excel(writer, sheet_name='Totals')
print(pd.read_excel('book_openpyxl.xlsx', sheet_name='Totals', index_col='Dept'))
try:
    pd.read_excel('book_openpyxl.xlsx', sheet_name='Missing')
except ValueError as e:
    print('ValueError', e)
pd.read_excel('nothing.xlsx')
