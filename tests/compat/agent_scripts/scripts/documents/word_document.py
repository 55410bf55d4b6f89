"""Makes a Word document with headings, a table and styles, and reads it."""

import docx
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.shared import Inches, Pt, RGBColor

document = docx.Document()
document.core_properties.author = 'Ann'
document.add_heading('Report — 2025', 0)
paragraph = document.add_paragraph('Plain, ')
run = paragraph.add_run('bold')
run.bold, run.font.size, run.font.color.rgb = True, Pt(14), RGBColor(0x42, 0x24, 0xE9)
paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER
for text in ('first', 'second'):
    document.add_paragraph(text, style='List Bullet')
table = document.add_table(rows=1, cols=2, style='Table Grid')
table.rows[0].cells[0].text, table.rows[0].cells[1].text = 'Name', 'Value'
for name, value in (('a', 1), ('b', 2.5)):
    cells = table.add_row().cells
    cells[0].text, cells[1].text = name, str(value)
document.add_page_break()
document.sections[0].left_margin = Inches(1.5)
document.save('report.docx')
again = docx.Document('report.docx')
print([(p.style.name, p.text) for p in again.paragraphs])
print([[cell.text for cell in row.cells] for row in again.tables[0].rows], again.core_properties.author)
print(
    [(r.text, r.bold, r.font.size, r.font.color.rgb) for r in again.paragraphs[1].runs],
    again.sections[0].left_margin.inches,
)
try:
    document.add_paragraph('x', style='No Such Style')
except KeyError as error:
    print(type(error).__name__, error)
try:
    docx.Document('report.txt')
except Exception as error:
    print(type(error).__name__, error)
