import json

import altair as alt
import pandas as pd

df = pd.DataFrame(
    {'month': pd.date_range('2025-01-31', periods=4, freq='ME'), 'sales': [10, 25, 18, 30], 'kind': list('aabb')}
)
base = alt.Chart(df, title='Sales').encode(x='month:T', tooltip=['sales', 'kind'])
chart = base.mark_bar().encode(y=alt.Y('sum(sales):Q', title='Total'), color='kind:N') + base.mark_rule(
    color='red'
).encode(y='mean(sales)')
spec = json.loads(chart.to_json())
print(sorted(spec), [layer['mark'] for layer in spec['layer']])
print(json.dumps(spec['layer'][0]['encoding'], sort_keys=True))
print(len(spec['datasets']), list(spec['datasets'].values())[0][0])
points = alt.Chart(df).mark_point().encode(x='sales', y='kind').properties(width=300, height=200).interactive()
print(points.to_dict()['encoding'], points.to_dict()['width'])
chart.save('chart.html')
print('vega-embed' in open('chart.html').read())
try:
    chart.save('chart.png')
except Exception as e:
    print(type(e).__name__, str(e).splitlines()[0])
for encoding in ({'x': 'nothing'}, {'x': 'sales:Z'}, {'z': 'sales'}):
    try:
        alt.Chart(df).mark_bar().encode(**encoding).to_dict()
        print(encoding, 'fine')
    except Exception as e:
        print(encoding, type(e).__name__, str(e).splitlines()[0])
try:
    alt.Chart(pd.DataFrame({'x': range(6000)})).mark_point().encode(x='x:Q').to_json()
except Exception as e:
    print(type(e).__name__, str(e).split('.')[0])
selection = alt.selection_point(fields=['kind'], name='pick')
picked = points.add_params(selection).transform_filter(alt.datum.sales > 12)
print(picked.to_dict()['transform'], [p['name'] for p in picked.to_dict()['params']])
alt.Chart(df).mark_bar(kolor='red').to_dict()
