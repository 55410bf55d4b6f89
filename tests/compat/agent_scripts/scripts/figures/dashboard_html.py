"""A dashboard page with two charts as inline images."""

import base64
import io
import re
from pathlib import Path

import matplotlib.pyplot as plt
from jinja2 import Environment, StrictUndefined

TEMPLATE = """<!doctype html>
<title>{{ title }}</title>
{% for chart in charts %}<figure><img alt="{{ chart.name | e }}" src="data:image/{{ chart.kind }};base64,{{ chart.data }}"></figure>
{% endfor %}<p>{{ charts | length }} charts</p>
"""


def embed(fig: plt.Figure, kind: str) -> str:
    buffer = io.BytesIO()
    fig.savefig(buffer, format=kind, metadata={'Date': None} if kind == 'svg' else None)
    return base64.b64encode(buffer.getvalue()).decode('ascii')


plt.rcParams.update({'font.size': 9, 'svg.hashsalt': 'fixed', 'figure.figsize': (3, 2)})
charts = []
for name, kind, values in [('Visits & clicks', 'png', [5, 3, 8]), ('Errors', 'svg', [1, 0, 2])]:
    fig, ax = plt.subplots()
    ax.plot(values, marker='s')
    ax.set_title(name)
    charts.append({'name': name, 'kind': 'svg+xml' if kind == 'svg' else kind, 'data': embed(fig, kind)})
page = Environment(undefined=StrictUndefined).from_string(TEMPLATE).render(title='Status', charts=charts)
Path('dashboard.html').write_text(page, encoding='utf-8')
print(re.sub(r'base64,[^"]+', 'base64,...', page))
svg = base64.b64decode(charts[1]['data']).decode()
print(re.findall(r'<svg [^>]*?width="([^"]+)"', svg), svg.count('<path'), '<text' in svg, 'Matplotlib v' in svg)
plt.rcParams['svg.fonttype'] = 'none'
print(re.findall(r'<text[^>]*>([^<]+)</text>', base64.b64decode(embed(fig, 'svg')).decode()))
plt.rcParams['figure.figsiz'] = (1, 1)
