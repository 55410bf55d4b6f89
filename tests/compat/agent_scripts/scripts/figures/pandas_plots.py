from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(21)
df = pd.DataFrame(
    rng.normal(size=(100, 3)).cumsum(axis=0), columns=list('ABC'), index=pd.date_range('2025-01-01', periods=100)
)
ax = df.plot(title='Random walks', figsize=(8, 4), grid=True)
print(type(ax).__name__, len(ax.lines), ax.get_title(), [t.get_text() for t in ax.get_legend().get_texts()])
ax.figure.savefig('walks.png')
ax.figure.canvas.draw()
print([t.get_text() for t in ax.get_xticklabels()], [t.get_text() for t in ax.get_xticklabels(minor=True)])
axes = df.plot(subplots=True, layout=(2, 2), sharex=True, legend=False)
print(axes.shape)
bar = df.resample('ME').mean().plot.bar(stacked=True, rot=0)
print([t.get_text() for t in bar.get_xticklabels()][:2], len(bar.patches))
print(len(df.plot.hist(bins=10, alpha=0.5).patches), df['A'].plot(kind='box').get_xticklabels()[0].get_text())
sc = df.plot.scatter(x='A', y='B', c='C', colormap='viridis')
print(sc.get_xlabel(), len(sc.figure.axes))
matrix = pd.plotting.scatter_matrix(df, diagonal='hist')
print(matrix.shape, len(df.hist(bins=5).flat))
pie = pd.Series([3, 2, 1], index=['x', 'y', 'z'], name='share').plot.pie(autopct='%.0f%%')
print([t.get_text() for t in pie.texts])
df['A'].plot(secondary_y=True)
kde = df['B'].plot.kde()
print(len(kde.lines), df.plot.area(stacked=False).get_ylim()[0] < 0)
buffer = BytesIO()
plt.savefig(buffer, format='png')
print(buffer.getvalue()[:8])
try:
    pd.DataFrame({'t': ['a', 'b']}).plot()
except TypeError as e:
    print('TypeError:', e)
df.plot(kind='line3d')
