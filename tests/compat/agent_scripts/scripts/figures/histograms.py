import matplotlib.pyplot as plt
import numpy as np

plt.style.use('ggplot')
rng = np.random.RandomState(10)
a, b = rng.normal(0, 1, 500), rng.gamma(2, 1.5, 500)
fig, axes = plt.subplots(2, 2, figsize=(9, 7), sharex='col')
n, bins, patches = axes[0, 0].hist(a, bins=15, color='steelblue', edgecolor='white')
axes[0, 1].hist([a, b], bins='auto', stacked=True, label=['normal', 'gamma'])
axes[1, 0].hist(a, bins=bins, density=True, cumulative=True, histtype='step')
h = axes[1, 1].hist2d(a, b, bins=12, cmap='Blues')
axes[0, 1].legend()
axes[0, 0].axvline(a.mean(), color='k', ls='--')
for ax, title in zip(axes.flat, ['simple', 'stacked', 'cumulative', '2d'], strict=True):
    ax.set_title(title)
fig.tight_layout()
fig.savefig('hist.png', dpi=80)
print(n.astype(int), bins.round(4), len(patches))
print(axes.shape, axes[0, 0].get_title(), axes[0, 1].get_legend_handles_labels()[1])
print(h[0].sum(), h[0].shape, plt.rcParams['axes.facecolor'], plt.rcParams['axes.prop_cycle'].by_key()['color'][0])
print(plt.imread('hist.png').shape, sorted(plt.style.available)[:4])
with plt.style.context('dark_background'):
    print(plt.rcParams['figure.facecolor'])
print(axes[0, 0].get_position().bounds[0] > 0, axes[0, 0].get_shared_x_axes().joined(axes[0, 0], axes[1, 0]))
plt.style.use('seaborn')
