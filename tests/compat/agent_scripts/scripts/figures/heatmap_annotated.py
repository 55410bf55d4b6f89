import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

rng = np.random.default_rng(2)
data = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))
corr = np.corrcoef(data, rowvar=False)
labels = ['alpha', 'beta', 'gamma', 'delta']
fig, (ax1, ax2) = plt.subplots(1, 2, figsize=(10, 4))
im = ax1.imshow(corr, cmap='coolwarm', vmin=-1, vmax=1)
ax1.set_xticks(range(4), labels, rotation=30)
ax1.set_yticks(range(4), labels)
for i in range(4):
    for j in range(4):
        ax1.text(j, i, f'{corr[i, j]:.2f}', ha='center', va='center', color='w' if abs(corr[i, j]) > 0.6 else 'k')
fig.colorbar(im, ax=ax1, shrink=0.8)
sns.heatmap(
    corr,
    annot=True,
    fmt='.1f',
    mask=np.triu(np.ones_like(corr, dtype=bool)),
    xticklabels=labels,
    yticklabels=labels,
    ax=ax2,
    square=True,
)
fig.savefig('heat.png')
print([t.get_text() for t in ax1.texts])
print(len(ax2.texts), [t.get_text() for t in ax2.get_xticklabels()])
print(im.get_array().shape, im.get_extent(), plt.imread('heat.png').shape)
fig2, ax = plt.subplots()
mesh = ax.pcolormesh(np.arange(5), np.arange(5), corr, shading='flat')
cs = ax.contour(corr, levels=[0, 0.5], colors='k')
ax.clabel(cs)
ax.matshow(corr)
print(mesh.get_array().shape, cs.levels, type(ax.contourf(corr)).__name__)
ax.pcolormesh(np.arange(3), np.arange(3), corr, shading='flat')
