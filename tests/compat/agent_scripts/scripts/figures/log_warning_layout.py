import warnings

import matplotlib.pyplot as plt

fig, axes = plt.subplots(3, 3, figsize=(1.5, 1.5))
for ax in axes.flat:
    ax.set_title('A very long title that cannot fit', fontsize=24)
    ax.set_ylabel('y label\nwith lines')
fig.tight_layout()
fig.savefig('small.png')
fig, ax = plt.subplots()
ax.set_xlim(5, 5)
ax.set_xticklabels(['a', 'b'])
ax.legend()
ax.plot([1, 2], [0, -1])
ax.set_yscale('log')
ax.set_ylim(-1, 10)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    for _ in range(21):
        plt.figure()
print(len(caught), caught[0].category.__name__ if caught else '')
plt.close('all')
plt.plot([1, 2], label='_hidden')
plt.title('x' * 10, fontfamily='Comic Sans MS')
plt.savefig('fonts.png')
print(plt.imread('fonts.png').shape)
plt.figure(figsize=(4, 3), constrained_layout=True)
plt.subplot(2, 1, 1)
plt.subplot(212).plot([3, 1])
plt.subplots_adjust(hspace=0.5)
plt.savefig('adjust.png')
plt.show(block=False)
plt.pause(0.01)
try:
    plt.subplot(2, 2, 5)
except ValueError as e:
    print('ValueError:', e)
print(plt.gcf().get_axes().__len__())
plt.plot([1, 2, 3], [1, 2])
