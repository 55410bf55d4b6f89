import numpy as np
from scipy import stats

rng = np.random.default_rng(101)
a, b = rng.normal(5.0, 1.2, 30), rng.normal(5.8, 1.0, 35)
tests = {
    't-test': stats.ttest_ind(a, b),
    'welch': stats.ttest_ind(a, b, equal_var=False),
    'mann-whitney': stats.mannwhitneyu(a, b),
    'ks': stats.ks_2samp(a, b),
    'levene': stats.levene(a, b),
    'shapiro': stats.shapiro(a),
    'paired': stats.ttest_rel(a, b[:30]),
    'wilcoxon': stats.wilcoxon(a, b[:30]),
}
for name, result in tests.items():
    print(f'{name:14}{result.statistic:12.5f}{result.pvalue:12.5f}', '*' if result.pvalue < 0.05 else '')
print(
    np.round(stats.pearsonr(a, b[:30]), 5),
    np.round(stats.spearmanr(a, b[:30]), 5),
    np.round(stats.kendalltau(a, b[:30]), 5),
)
chi2, p, dof, expected = stats.chi2_contingency([[20, 15], [30, 10]])
print(round(chi2, 5), round(p, 5), dof, expected)
print(stats.fisher_exact([[8, 2], [1, 5]]).pvalue.round(5), stats.binomtest(7, 20, 0.5).pvalue.__round__(5))
print(stats.describe([1, 2, 3, 4, 10]))
print(stats.norm.ppf([0.025, 0.975]).round(6), stats.t.interval(0.95, df=29, loc=a.mean(), scale=stats.sem(a)))
print(
    stats.poisson.pmf(range(4), 2).round(6),
    stats.binom(10, 0.3).cdf(3).round(6),
    stats.expon.rvs(size=3, random_state=1).round(6),
)
loc, scale = stats.norm.fit(a)
print(round(loc, 5), round(scale, 5), stats.kstest(a, 'norm', args=(loc, scale)).pvalue.round(4))
print(stats.linregress([0, 1, 2, 3], [1, 2.9, 5.2, 7.1]))
kde = stats.gaussian_kde(a)
print(kde([4, 5, 6]).round(5), stats.iqr(a).round(6), stats.mode([1, 2, 2, 3]), stats.zscore([1, 2, 3]).round(5))
boot = stats.bootstrap((a,), np.mean, n_resamples=500, rng=np.random.default_rng(0))
print(boot.confidence_interval.low.round(4), stats.trim_mean([1, 2, 3, 100], 0.25), stats.gmean([1, 10, 100]).round(6))
print(stats.ttest_ind([1, 1, 1], [1, 1, 1]))
print(stats.pearsonr([1, 1], [2, 3]))
stats.shapiro([1, 2])
