import pandas as pd

df = pd.DataFrame({'metric': ['CTR', 'CPC', 'ROI'], 'jan': [0.0213, 1.25, -0.12], 'feb': [0.0312, 0.98, 0.45]})


def highlight(value: float) -> str:
    return 'color: red' if value < 0 else ''


styler = (
    df.style.format({'jan': '{:.2%}', 'feb': '{:.1f}'})
    .map(highlight, subset=['jan', 'feb'])
    .highlight_max(axis=1, subset=['jan', 'feb'], color='yellow')
    .hide(axis='index')
    .set_caption('Ads')
    .set_uuid('t1')
)
html = styler.to_html()
print(html)
with open('table.html', 'w', encoding='utf-8') as f:
    f.write(html)
print(df.set_index('metric').style.set_uuid('x').bar(color='#d65f5f').to_html()[:600])
try:
    print(df.style.set_uuid('g').background_gradient(cmap='viridis', subset=['jan']).to_html()[:500])
except ImportError as e:
    print('ImportError', e)
print(df.style.format(precision=1).to_latex())
print(pd.read_html('table.html')[0])
