"""Writes a workbook with formulas and formats, and reads it back."""

import datetime

import openpyxl
import pandas as pd
import xlsxwriter
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

book = openpyxl.Workbook()
sheet = book.active
sheet.title = 'Sales'
sheet.append(['Month', 'Units', 'Price', 'Total'])
for number, (units, price) in enumerate([(10, 2.5), (7, 3.0), (12, 1.25)], 2):
    sheet.append([datetime.date(2025, number - 1, 1), units, price, f'=B{number}*C{number}'])
sheet['A1'].font = Font(bold=True, color='FF0000')
sheet.freeze_panes = 'A2'
sheet.merge_cells('A6:B6')
chart = BarChart()
chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=4), titles_from_data=True)
sheet.add_chart(chart, 'F2')
book.create_sheet('Notes')['B2'] = 'ünï'
book.save('report.xlsx')
again = openpyxl.load_workbook('report.xlsx')
print(
    again.sheetnames,
    again['Sales'].dimensions,
    again['Sales']['D2'].value,
    again['Sales']['A1'].font.b,
    again['Sales'].merged_cells.ranges,
)
for row in again['Sales'].iter_rows(min_row=2, max_row=3, values_only=True):
    print(row)
print(get_column_letter(703), openpyxl.utils.column_index_from_string('XFD'), len(again['Sales']._charts))
frame = pd.read_excel('report.xlsx', sheet_name='Sales', usecols='A:C')
print(frame, frame.dtypes.to_dict())
with xlsxwriter.Workbook('other.xlsx') as other:
    page = other.add_worksheet('Data')
    page.write_row(0, 0, ['a', 1, 2.5, True])
    page.write_formula('A2', '=SUM(B1:C1)', None, 3.5)
    page.add_table('A4:B6', {'data': [[1, 2], [3, 4]], 'columns': [{'header': 'x'}, {'header': 'y'}]})
print(pd.read_excel('other.xlsx', header=None, nrows=2).values.tolist())
try:
    openpyxl.load_workbook('missing.xlsx')
except FileNotFoundError as error:
    print(type(error).__name__)
try:
    sheet['A1:'] = 1
except Exception as error:
    print(type(error).__name__, error)
