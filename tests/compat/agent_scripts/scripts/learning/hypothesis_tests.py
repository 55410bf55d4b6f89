import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.multicomp import pairwise_tukeyhsd
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import proportion_confint, proportions_ztest
from statsmodels.stats.weightstats import DescrStatsW

rng = np.random.default_rng(50)
groups = {'control': rng.normal(10, 2, 40), 'dose1': rng.normal(11, 2, 40), 'dose2': rng.normal(13, 2, 40)}
df = pd.DataFrame([(name, v) for name, values in groups.items() for v in values], columns=['group', 'value'])
print(df.groupby('group')['value'].agg(['mean', 'std', 'count']).round(3))
f, p = stats.f_oneway(*groups.values())
print(f'ANOVA F={f:.4f} p={p:.3e}')
tukey = pairwise_tukeyhsd(df['value'], df['group'])
print(tukey)
print(tukey.reject)
z, p = proportions_ztest([120, 145], [1000, 1000])
print(f'A/B test: z={z:.4f} p={p:.4f} significant={p < 0.05}')
print(tuple(round(float(v), 5) for v in proportion_confint(120, 1000, method='wilson')))
reject, adjusted, *_ = multipletests([0.01, 0.04, 0.03, 0.5], method='holm')
print(reject, adjusted.round(4))
print('sample size', int(np.ceil(TTestIndPower().solve_power(effect_size=0.5, power=0.8, alpha=0.05))))
print([round(float(v), 4) for v in DescrStatsW(groups['dose1']).tconfint_mean()])
table = sm.stats.Table2x2(np.array([[30, 10], [15, 25]]))
print(round(table.oddsratio, 4), round(table.log_oddsratio_se, 4))
print(sm.stats.stattools.jarque_bera(groups['control'])[0].round(4))
print(sm.stats.lilliefors(groups['dose2'])[0].round(4))
multipletests([0.01], method='magic')
