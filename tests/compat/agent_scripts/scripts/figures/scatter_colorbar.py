import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm

rng = np.random.default_rng(4)
x, y = rng.normal(size=(2, 150))
size = 20 + 200 * rng.random(150)
fig, ax = plt.subplots()
points = ax.scatter(
    x, y, s=size, c=x**2 + y**2 + 0.01, cmap='plasma', norm=LogNorm(), alpha=0.6, marker='o', edgecolors='none'
)
bar = fig.colorbar(points, ax=ax, label='distance')
best = int(np.argmax(y))
ax.annotate(
    'highest', xy=(x[best], y[best]), xytext=(0.5, 0.9), textcoords='axes fraction', arrowprops={'arrowstyle': '->'}
)
ax.text(0.02, 0.02, rf'$\mu={x.mean():.2f},\ \sigma={x.std():.2f}$', transform=ax.transAxes)
m, b = np.polyfit(x, y, 1)
ax.plot(x, m * x + b, color='k', zorder=0)
ax.set_aspect('equal')
fig.savefig('scatter.png', bbox_inches='tight', transparent=True)
print(len(points.get_offsets()), points.get_sizes()[:2].round(4), round(float(points.get_clim()[0]), 6))
print(bar.ax.get_ylabel(), [t.get_text() for t in bar.ax.get_yticklabels()])
print(ax.get_children()[0].__class__.__name__, [t.get_text() for t in ax.texts])
print(plt.cm.plasma(0.5), plt.get_cmap('tab10').N, 'viridis' in plt.colormaps())
print(round(m, 6), round(b, 6), fig.get_size_inches(), fig.dpi)
for call in (
    lambda: ax.scatter([1, 2], [1]),
    lambda: plt.get_cmap('nope'),
    lambda: ax.scatter([1], [1], c=['#12']),
    lambda: ax.plot([1], [1], 'zz'),
):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, e)
