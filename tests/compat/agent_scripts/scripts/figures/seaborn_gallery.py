import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

sns.set_theme(style='whitegrid', palette='muted')
rng = np.random.default_rng(3)
df = pd.DataFrame(
    {
        'day': rng.choice(['Thu', 'Fri', 'Sat', 'Sun'], 120),
        'sex': rng.choice(['F', 'M'], 120),
        'bill': rng.gamma(4, 5, 120).round(2),
    }
)
df['tip'] = (df['bill'] * 0.15 + rng.normal(0, 0.8, 120)).clip(0.5).round(2)
fig, axes = plt.subplots(2, 3, figsize=(14, 8))
sns.barplot(df, x='day', y='tip', hue='sex', order=['Thu', 'Fri', 'Sat', 'Sun'], seed=0, ax=axes[0, 0])
sns.boxplot(data=df, x='day', y='bill', ax=axes[0, 1])
sns.scatterplot(data=df, x='bill', y='tip', hue='day', size='tip', ax=axes[0, 2])
sns.histplot(df['bill'], kde=True, bins=12, ax=axes[1, 0])
sns.regplot(data=df, x='bill', y='tip', seed=1, ax=axes[1, 1])
sns.countplot(df, y='day', ax=axes[1, 2])
fig.savefig('gallery.png')
print(plt.imread('gallery.png').shape, [len(ax.patches) for ax in axes.flat], [ax.get_xlabel() for ax in axes.flat])
print(axes[0, 2].get_legend_handles_labels()[1])
grid = sns.catplot(data=df, x='sex', y='tip', col='day', kind='violin', height=2, col_wrap=2)
grid.savefig('cat.png')
print(grid.axes.shape, grid.axes[0].get_title(), sns.color_palette().as_hex()[:3])
pair = sns.pairplot(df, hue='sex', diag_kind='kde')
pair.savefig('pair.png', dpi=50)
print(pair.axes.shape, type(sns.jointplot(data=df, x='bill', y='tip')).__name__)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    sns.barplot(df, x='day', y='tip', palette='Set2', ax=plt.figure().gca(), errorbar=None)
print([(w.category.__name__, str(w.message).strip()[:80]) for w in caught])
sns.load_dataset
sns.boxplot(data=df, x='weekday', y='tip')
