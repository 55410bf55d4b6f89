"""Makes PDF files, merges, rotates and encrypts them, and reads their text."""

import io

from pypdf import PdfReader, PdfWriter
from pypdf.errors import PdfReadError
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4, letter
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen import canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

first = io.BytesIO()
page = canvas.Canvas(first, pagesize=A4, invariant=1)
page.setTitle('First')
for number in (1, 2):
    page.drawString(72, 700, f'Page {number} of two')
    page.line(72, 690, 300, 690)
    page.showPage()
page.save()
second = io.BytesIO()
styles = getSampleStyleSheet()
table = Table([['a', 'b'], ['1', '2']], style=TableStyle([('GRID', (0, 0), (-1, -1), 1, colors.black)]))
SimpleDocTemplate(second, pagesize=letter, invariant=1).build(
    [Paragraph('Hello <b>world</b> &amp; all', styles['Title']), Spacer(1, 12), table]
)
writer = PdfWriter()
for data in (first, second):
    writer.append(PdfReader(data))
writer.pages[0].rotate(90)
writer.add_metadata({'/Author': 'Ann', '/Title': 'Both'})
writer.add_outline_item(title='start', page_number=0)
out = io.BytesIO()
writer.write(out)
reader = PdfReader(out)
print(
    len(reader.pages),
    reader.metadata.author,
    reader.metadata.title,
    reader.pages[0].rotation,
    [o.title for o in reader.outline],
)
for number, sheet in enumerate(reader.pages):
    print(number, [float(x) for x in sheet.mediabox[2:]], sheet.extract_text().split('\n'))
locked = PdfWriter(clone_from=PdfReader(first))
locked.encrypt('secret', algorithm='RC4-128')
held = io.BytesIO()
locked.write(held)
closed = PdfReader(held)
print(closed.is_encrypted, closed.decrypt('wrong'), closed.decrypt('secret'), len(closed.pages))
try:
    PdfReader(io.BytesIO(b'no pdf'))
except PdfReadError as error:
    print(type(error).__name__, error)
