import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

rng = np.random.default_rng(29)
n = 200
df = pd.DataFrame({'hours': rng.uniform(0, 10, n), 'sleep': rng.normal(7, 1, n)})
p = 1 / (1 + np.exp(-(-4 + 0.8 * df['hours'] + 0.1 * df['sleep'])))
df['passed'] = (rng.random(n) < p).astype(int)
df['visits'] = rng.poisson(np.exp(0.2 + 0.15 * df['hours']))
logit = smf.logit('passed ~ hours + sleep', df).fit()
print(logit.summary().tables[1])
print('odds ratios', np.exp(logit.params).round(4).to_dict())
print(f'pseudo R2 {logit.prsquared:.4f} LLR p < 0.001: {logit.llr_pvalue < 0.001}')
print(logit.pred_table())
print(logit.get_margeff().summary_frame().round(4).to_string())
poisson = smf.glm('visits ~ hours', df, family=sm.families.Poisson()).fit()
print(poisson.params.round(4), round(poisson.deviance, 3), poisson.df_resid, type(poisson).__name__)
print(poisson.summary().tables[0].as_text().splitlines()[2])
robust = sm.RLM(df['visits'], sm.add_constant(df['hours']), M=sm.robust.norms.HuberT()).fit()
print(robust.params.round(3).to_dict())
quantile = smf.quantreg('visits ~ hours', df).fit(q=0.5)
print(quantile.params.round(3).to_dict())
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    sm.Logit([0, 0, 1, 1], sm.add_constant([1.0, 2, 3, 4])).fit(disp=False, maxiter=50)
print(
    sorted({w.category.__name__ for w in caught} & {'PerfectSeparationWarning', 'ConvergenceWarning'}),
    PerfectSeparationWarning.__name__,
)
print(sm.OLS([1, 2], [[1, 2]]).fit())
