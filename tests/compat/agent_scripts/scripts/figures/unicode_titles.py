import matplotlib.pyplot as plt
from matplotlib import font_manager

titles = {
    'chinese': '销售额',
    'arabic': 'المبيعات',
    'hindi': 'बिक्री',
    'emoji': 'Sales 🚀',
    'greek': 'Πωλήσεις',
    'math': r'$\sum_i x_i^2 \leq \sqrt{2}$',
}
fig, axes = plt.subplots(2, 3)
for ax, (name, text) in zip(axes.flat, titles.items(), strict=True):
    ax.plot([1, 2, 3], [2, 1, 3])
    ax.set_title(text)
fig.savefig('titles.png')
print(plt.imread('titles.png').shape, [ax.get_title() for ax in axes.flat])
names = {f.name for f in font_manager.fontManager.ttflist}
print('DejaVu Sans' in names, plt.rcParams['font.family'], plt.rcParams['font.sans-serif'][0])
try:
    font_manager.findfont('No Such Font', fallback_to_default=False)
except ValueError as e:
    print('ValueError:', str(e).split(':')[0])
