import os

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

x = np.linspace(0, 4 * np.pi, 200)
fig, ax = plt.subplots(figsize=(8, 5))
ax.plot(x, np.sin(x), label='sin(x)', color='tab:blue', lw=2)
ax.plot(x, np.cos(x), '--', label='cos(x)', color='tab:orange')
ax.axhline(0, color='gray', linewidth=0.5)
ax.fill_between(x, np.sin(x), alpha=0.2)
ax.set(title='Trigonometric functions', xlabel='x (rad)', ylabel='value', xlim=(0, 13))
ax.legend(loc='upper right')
ax.grid(True, linestyle=':')
plt.tight_layout()
plt.savefig('trig.png', dpi=150)
plt.show()
print('saved', os.path.exists('trig.png'), Image.open('trig.png').size, Image.open('trig.png').mode)
print(len(ax.lines), len(ax.collections), [t.get_text() for t in ax.get_legend().get_texts()])
print([t.get_text() for t in ax.get_xticklabels()], ax.get_ylim())
for kind in ('pdf', 'svg', 'jpg', 'webp', 'eps'):
    fig.savefig(f'trig.{kind}')
    print(kind, os.path.getsize(f'trig.{kind}') > 1000)
plt.close('all')
print(plt.get_fignums(), plt.get_backend())
fig.savefig('trig.bmp2')
