import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt
import numpy as np

languages = ['Python', 'JavaScript', 'Rust', 'Go']
y2024 = [48, 41, 18, 22]
y2025 = [51, 40, 24, 21]
pos = np.arange(len(languages))
fig, (ax1, ax2) = plt.subplots(1, 2, figsize=(11, 4), layout='constrained')
b1 = ax1.bar(pos - 0.2, y2024, 0.4, label='2024')
b2 = ax1.bar(pos + 0.2, y2025, 0.4, label='2025', hatch='//', edgecolor='k')
ax1.set_xticks(pos, languages, rotation=45, ha='right')
ax1.bar_label(b1, padding=3)
ax1.bar_label(b2, fmt='%.1f%%')
ax1.legend(title='Survey')
ax2.barh(languages, y2025, xerr=[2, 1, 3, 2], color=plt.cm.viridis(np.linspace(0, 1, 4)))
ax2.invert_yaxis()
fig.suptitle('Popularity')
fig.savefig('bars.png')
image = plt.imread('bars.png')
print(image.shape, image.dtype, image.max())
print(len(ax1.patches), [p.get_height() for p in b2], [t.get_text() for t in ax1.texts])
print([t.get_text() for t in ax1.get_xticklabels()], ax2.yaxis_inverted())
print([t.get_text() for t in ax2.get_yticklabels()], ax1.get_legend().get_title().get_text())
print(matplotlib.colors.to_hex(ax2.patches[1].get_facecolor()), ax1.get_ylim())
stack = plt.figure().gca()
bottom = np.zeros(4)
for name, part in {'a': [1, 2, 3, 4], 'b': [4, 3, 2, 1]}.items():
    stack.bar(languages, part, bottom=bottom, label=name)
    bottom += part
print(stack.get_ylim(), bottom)
try:
    stack.bar(['x', 'y'], [1, 2, 3])
except ValueError as e:
    print('ValueError:', e)
