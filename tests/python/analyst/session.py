"""The steps of the session. Cells are the same for Brumate and for a native kernel; what lies between them is not."""

from __future__ import annotations

import math
import re
from typing import Any


def sales() -> str:
    """A table as it comes from a shop: 240 rows, some without a price, some twice, names in any spelling."""
    lines = ['order,day,region,product,units,price']
    number = 12345
    for order in range(240):
        number = (number * 1103515245 + 12345) % 2**31
        region = ['north', 'South', ' east', 'WEST'][number // 7 % 4]
        product = ['apple', 'pear', 'plum'][number // 29 % 3]
        price = '' if order % 17 == 3 else f'{1 + number % 900 / 100:.2f}'
        lines.append(
            f'{1000 + order},2026-{1 + order // 20:02}-{1 + order % 20:02},{region},{product},{1 + number // 101 % 9},{price}'
        )
        if order % 40 == 7:
            lines.append(lines[-1])
    return '\n'.join(lines) + '\n'


REGIONS = 'region,manager,target\nnorth,Ada,900\nsouth,Grace,850\neast,Alan,800\nwest,Edsger,950\n'

# What happens before the cell of that number, counted from one.
RESTART, KILL, HIBERNATE, FORK = 'restart', 'kill', 'hibernate', 'fork'
BETWEEN = {9: HIBERNATE, 15: RESTART, 22: KILL, 30: FORK, 36: HIBERNATE}
# Cells of the copy that is made before cell 30; the others go on in the first session.
IN_THE_COPY = (32, 33)

CELLS = [
    'import numpy as np\nimport pandas as pd\nimport matplotlib.pyplot as plt\nimport seaborn as sns\nimport plotly.express as px',
    "raw = pd.read_csv('sales.csv')\nraw.shape",
    'raw.head()',
    'raw.dtypes',
    'raw.isna().sum()',
    "clean = raw.drop_duplicates().copy()\nclean['region'] = clean.region.str.strip().str.lower()\nlen(clean), sorted(clean.region.unique())",
    "clean['day'] = pd.to_datetime(clean.day)\nclean['price'] = clean.groupby('product').price.transform(lambda p: p.fillna(p.median()))\nclean.price.describe()",
    "clean['revenue'] = clean.units * clean.price\nprint(f'{clean.revenue.sum():.2f} in all')\nclean.revenue.mean()",
    "by_region = clean.groupby('region').agg(units=('units', 'sum'), revenue=('revenue', 'sum'), orders=('order', 'count'))\nby_region",
    "regions = pd.read_csv('regions.csv')\nmerged = by_region.reset_index().merge(regions, on='region', validate='1:1')\nmerged['reached'] = merged.revenue / merged.target\nmerged[['manager', 'reached']]",
    "pivot = clean.pivot_table(index='region', columns='product', values='revenue', aggfunc='sum', margins=True)\npivot.round(2)",
    "monthly = clean.set_index('day').revenue.resample('MS').sum()\nmonthly",
    "plt.plot(monthly.index, monthly)\nplt.title('Revenue by month')\nplt.savefig('monthly.png')\nplt.show()",
    "sns.barplot(data=clean, x='region', y='revenue', hue='product', errorbar=None)\nplt.show()",
    "float(monthly.std()), int(monthly.idxmax().month), _",
    "px.bar(merged, x='region', y='reached').show()",
    "clean.loc[clean.nosuch > 3]",
    "clean.loc[clean.units > 8, ['order', 'units', 'price']].head(3)",
    "def rolling(window):\n    return monthly.rolling(window).mean().dropna()\nrolling(3).tolist()",
    "with pd.ExcelWriter('report.xlsx', engine='openpyxl') as book:\n    pivot.to_excel(book, sheet_name='pivot')\n    merged.to_excel(book, sheet_name='regions', index=False)\nprint('written')",
    "back = pd.read_excel('report.xlsx', sheet_name=None, index_col=0)\nsorted(back), float((back['pivot'] - pivot).abs().to_numpy().max()) < 1e-9, float(back['pivot'].loc['All', 'All'])",
    "state = rolling(4).sum() + float(back['regions'].revenue.sum())\nfloat(state)",
    "corr = clean[['units', 'price', 'revenue']].corr()\ncorr",
    "q = clean.revenue.quantile([.1, .5, .9])\nq",
    "clean['size'] = pd.cut(clean.units, [0, 3, 6, 9], labels=['small', 'middle', 'large'])\nclean['size'].value_counts().sort_index()",
    "clean.groupby(['region', 'size'], observed=True).revenue.mean().unstack().round(3)",
    "sns.heatmap(corr, annot=True)\nNone",
    "top = clean.nlargest(5, 'revenue')[['order', 'region', 'product', 'revenue']]\nprint(top.to_string(index=False))\ndisplay(top.revenue.sum())",
    "t = np.arange(len(monthly), dtype=float)\ny = monthly.to_numpy()\ndef fit(design):\n    weights, *_ = np.linalg.lstsq(design, y, rcond=None)\n    left = y - design @ weights\n    return weights, float(left @ left)\ny.sum()",
    "model = 'line'\nweights, error = fit(np.column_stack([np.ones_like(t), t]))\nweights, error",
    "model, error, (weights @ [1, 12])",
    "model = 'wave'\nangle = 2 * np.pi * t / 12\nweights, error = fit(np.column_stack([np.ones_like(t), t, np.sin(angle), np.cos(angle)]))\nweights, error",
    "model, error, (weights @ [1, 12, 0, 1])",
    "model, error",
    "import sympy\nx = sympy.symbols('x')\nline = sympy.Rational(3, 2) * x ** 2 - x\nsympy.solve(line - 4, x), sympy.integrate(line, (x, 0, 2))",
    "figure, axes = plt.subplots(1, 2)\naxes[0].scatter(clean.units, clean.revenue)\naxes[1].hist(clean.price)\nplt.show()",
    "np.linalg.eigvalsh(corr.to_numpy()), np.fft.rfft(y).real.round(6)",
    "summary = clean.describe(include='all').loc[['count', 'mean', 'std'], ['units', 'price', 'revenue']].astype(float)\nsummary",
    "summary.to_csv('summary.csv')\nlen(open('summary.csv').read().splitlines()), round(float(summary.to_numpy().sum()), 6)",
    "sorted(name for name in dir() if name in ('raw', 'clean', 'merged', 'pivot', 'monthly', 'back', 'corr', 'model', 'weights', 'rolling', 'fit', 'state', 'top')), "
    "[float(state), float(weights.sum()), float(pivot.loc['All', 'All']), rolling(2).iloc[-1]]",
]

_NUMBER = re.compile(r'[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?')


def difference(found: str | None, expected: str | None) -> str | None:
    """Why two texts do not say the same; numbers may differ by rounding, blanks by what that does to their width."""
    if found is None or expected is None:
        return None if found == expected else f'{found!r} and {expected!r}'
    words = [' '.join(_NUMBER.sub('0', text).split()) for text in (found, expected)]
    if words[0] != words[1]:
        return f'words differ:\n{found}\n--- expected\n{expected}'
    pairs = zip(_NUMBER.findall(found), _NUMBER.findall(expected), strict=True)
    for one, other in pairs:
        if not math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-12):
            return f'{one} is not {other} in:\n{found}\n--- expected\n{expected}'
    return None


def outcome(output: str, result: str | None, error: str | None, pictures: int) -> dict[str, Any]:
    return {'output': output, 'result': result, 'error': error, 'pictures': pictures}
