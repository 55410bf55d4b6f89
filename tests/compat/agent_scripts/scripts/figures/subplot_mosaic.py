import matplotlib.pyplot as plt
import numpy as np
from matplotlib.gridspec import GridSpec
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, Patch, Rectangle

fig, axd = plt.subplot_mosaic([['top', 'top'], ['left', 'right']], figsize=(6, 5), layout='constrained')
axd['top'].step(range(5), [1, 3, 2, 4, 1], where='mid')
axd['left'].stem([1, 2, 3])
axd['right'].errorbar([1, 2, 3], [2, 3, 5], yerr=[0.2, 0.3, 0.1], fmt='o', capsize=4)
axd['top'].spines[['top', 'right']].set_visible(False)
axd['top'].tick_params(axis='x', labelrotation=30)
print(sorted(axd), {k: len(a.get_children()) for k, a in axd.items()})
inset = axd['right'].inset_axes([0.6, 0.1, 0.3, 0.3])
inset.quiver([0, 1], [0, 1], [1, 0], [0, 1])
axd['left'].add_patch(Rectangle((0, 0), 1, 2, fill=False))
axd['left'].add_patch(Circle((1, 2), 0.5, color='r', alpha=0.4))
axd['left'].add_patch(FancyArrowPatch((0, 0), (2, 3), mutation_scale=10))
axd['left'].legend(
    handles=[Patch(color='r', label='zone'), Line2D([], [], marker='x', label='mark')], ncols=2, frameon=False
)
fig.savefig('mosaic.png')
print(plt.imread('mosaic.png').shape, [type(p).__name__ for p in axd['left'].patches])
fig2 = plt.figure()
gs = GridSpec(3, 3, figure=fig2, hspace=0.4)
big = fig2.add_subplot(gs[:2, :])
small = [fig2.add_subplot(gs[2, i], sharey=None) for i in range(3)]
big.table(cellText=[['1', '2'], ['3', '4']], colLabels=['a', 'b'], loc='center')
big.axis('off')
print(len(fig2.axes), big.get_subplotspec().rowspan, big.axison, len(big.tables))
small[0].stackplot([1, 2, 3], [1, 1, 2], [2, 1, 1], labels=['p', 'q'])
small[1].hexbin(*np.random.default_rng(0).normal(size=(2, 100)), gridsize=8)
small[2].eventplot([[1, 2], [3]])
fig2.savefig('grid.png', facecolor='lightgray')
print(plt.imread('grid.png')[0, 0].round(6))
fig.subplots_adjust(left=0.1)
plt.subplot_mosaic('AAB;ACA')
