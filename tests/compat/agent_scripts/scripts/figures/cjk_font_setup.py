"""Chooses a font for Chinese labels when one is installed."""

import matplotlib
import matplotlib.pyplot as plt

matplotlib.rcParams['font.sans-serif'] = ['SimHei', 'Noto Sans CJK SC', 'WenQuanYi Zen Hei', 'DejaVu Sans']
matplotlib.rcParams['axes.unicode_minus'] = False
months = ['一月', '二月', '三月']
plt.figure(figsize=(5, 3))
plt.bar(months, [3, -1, 4])
plt.title('月度利润')
plt.xlabel('月份')
plt.tight_layout()
plt.savefig('profit.png', dpi=100)
print([t.get_text() for t in plt.gca().get_xticklabels()], plt.imread('profit.png').shape)
