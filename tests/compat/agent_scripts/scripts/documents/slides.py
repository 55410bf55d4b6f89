"""Makes slides and lists what is on them."""

from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Cm, Emu, Inches, Pt

deck = Presentation()
first = deck.slides.add_slide(deck.slide_layouts[0])
first.shapes.title.text, first.placeholders[1].text = 'Title', 'Subtitle'
second = deck.slides.add_slide(deck.slide_layouts[1])
body = second.placeholders[1].text_frame
body.text = 'one'
point = body.add_paragraph()
point.text, point.level, point.font.size = 'two', 1, Pt(20)
third = deck.slides.add_slide(deck.slide_layouts[5])
data = CategoryChartData()
data.categories = ['East', 'West']
data.add_series('Q1', (19.2, 21.4))
third.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(2), Cm(10), Cm(8), data)
table = third.shapes.add_table(2, 2, Inches(6), Inches(2), Inches(3), Inches(1)).table
table.cell(0, 0).text = 'x'
second.notes_slide.notes_text_frame.text = 'say this'
deck.save('deck.pptx')
for number, slide in enumerate(Presentation('deck.pptx').slides, 1):
    print(
        number,
        slide.slide_layout.name,
        [(s.shape_type, s.name, s.has_text_frame and s.text_frame.text) for s in slide.shapes],
        slide.has_notes_slide,
    )
print(
    Inches(1),
    Emu(914400).inches,
    Pt(72).cm,
    len(deck.slide_layouts),
    [layout.name for layout in deck.slide_layouts][:3],
)
try:
    deck.slide_layouts[99]
except IndexError as error:
    print(error)
