import matplotlib.pyplot as plt
import numpy as np

fig, (ax1, ax2, ax3) = plt.subplots(ncols=3, figsize=(12, 4))
wedges, texts, autotexts = ax1.pie(
    [35, 25, 25, 15],
    labels=['Rent', 'Food', 'Savings', 'Fun'],
    autopct='%1.1f%%',
    startangle=90,
    explode=(0.1, 0, 0, 0),
    shadow=True,
)
print([t.get_text() for t in autotexts], [round(float(w.theta2 - w.theta1), 4) for w in wedges])
rng = np.random.default_rng(6)
groups = [rng.normal(m, s, 40) for m, s in [(10, 1), (12, 3), (9, 2)]]
box = ax2.boxplot(groups, tick_labels=['A', 'B', 'C'], notch=True, patch_artist=True, showmeans=True)
for patch, color in zip(box['boxes'], ['pink', 'lightblue', 'lightgreen'], strict=True):
    patch.set_facecolor(color)
print({k: len(v) for k, v in box.items()})
print([m.get_ydata()[0].round(6) for m in box['medians']])
print([len(f.get_ydata()) for f in box['fliers']])
violin = ax3.violinplot(groups, showmedians=True)
print(sorted(violin), len(violin['bodies']))
ax3.set_xticks([1, 2, 3], labels=list('ABC'))
plt.savefig('pie_box.png')
print(plt.imread('pie_box.png').shape)
donut = plt.figure().add_subplot()
donut.pie([1, 1], wedgeprops={'width': 0.3})
donut.axis('equal')
print(donut.get_aspect(), len(plt.get_fignums()))
try:
    donut.pie([1, -1])
except ValueError as e:
    print('ValueError:', e)
