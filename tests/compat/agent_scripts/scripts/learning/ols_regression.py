import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.stats.outliers_influence import variance_inflation_factor
from statsmodels.stats.stattools import durbin_watson

rng = np.random.default_rng(17)
n = 80
df = pd.DataFrame(
    {'tv': rng.uniform(0, 300, n), 'radio': rng.uniform(0, 50, n), 'region': rng.choice(['N', 'S', 'W'], n)}
)
df['sales'] = 3 + 0.045 * df['tv'] + 0.19 * df['radio'] + (df['region'] == 'S') * 1.5 + rng.normal(0, 1.2, n)
X = sm.add_constant(df[['tv', 'radio']])
result = sm.OLS(df['sales'], X).fit()
print(result.params.round(4), result.pvalues.round(4), result.conf_int().round(4), sep='\n')
print(f'R2={result.rsquared:.4f} adj={result.rsquared_adj:.4f} F={result.fvalue:.2f} AIC={result.aic:.2f}')
print(result.summary().tables[1])
model = smf.ols('sales ~ tv + radio + C(region)', data=df).fit(cov_type='HC3')
print(model.summary2().tables[1].round(3).to_string())
print(sm.stats.anova_lm(smf.ols('sales ~ tv * radio', df).fit(), typ=2).round(4))
print([round(variance_inflation_factor(X.values, i), 3) for i in range(3)], round(durbin_watson(result.resid), 4))
new = sm.add_constant(pd.DataFrame({'tv': [100.0, 200.0], 'radio': [10.0, 40.0]}))
print(result.get_prediction(new).summary_frame(alpha=0.05).round(3).to_string())
print(result.t_test('tv = 0.045').pvalue.round(4) > 0.05, result.f_test('tv = radio').df_denom)
bp = sm.stats.diagnostic.het_breuschpagan(result.resid, X)
print(np.round(bp, 4))
smf.ols('sales ~ tv + newspaper', data=df).fit()
