import json
from pathlib import Path

import pandas as pd
import plotly.express as px
import plotly.graph_objects as go
from plotly.subplots import make_subplots

df = pd.DataFrame(
    {'year': [2021, 2022, 2023] * 2, 'country': ['PT'] * 3 + ['ES'] * 3, 'gdp': [214, 239, 268, 1430, 1420, 1580]}
)
fig = px.line(df, x='year', y='gdp', color='country', markers=True, title='GDP')
fig.update_layout(template='plotly_white', yaxis_type='log')
data = json.loads(fig.to_json())
print([t['name'] for t in data['data']], data['layout']['title'], data['layout']['yaxis'])
print(data['data'][0]['mode'], data['data'][0]['y'])
fig.write_html('gdp.html', include_plotlyjs='cdn')
text = Path('gdp.html').read_text()
print('<html>' in text, 'cdn.plot.ly' in text, text.count('Plotly.newPlot'))
sub = make_subplots(rows=1, cols=2, subplot_titles=('Bars', 'Pie'), specs=[[{'type': 'xy'}, {'type': 'domain'}]])
sub.add_trace(go.Bar(x=['a', 'b'], y=[1, 3], text=[1, 3]), row=1, col=1)
sub.add_trace(go.Pie(labels=['x', 'y'], values=[2, 1], hole=0.4), row=1, col=2)
print(sub.layout.annotations[0].text, len(sub.data), sub.data[1].hole)
print(go.Figure(go.Scatter(x=[1, 2], y=[3, 4])).to_dict()['data'])
try:
    fig.write_image('gdp.png')
    print('image written')
except Exception as e:
    print(type(e).__name__, str(e).strip().splitlines()[0])
try:
    fig.update_layout(titel='x')
except ValueError as e:
    print('ValueError:', str(e).strip().splitlines()[0])
print(px.bar(df, x='country', y='gdp', barmode='group', hover_data=['year']).data[0].hovertemplate)
px.scatter(df, x='year', y='population')
