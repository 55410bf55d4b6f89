import warnings

import numpy as np
import pandas as pd
from statsmodels.graphics.tsaplots import plot_acf
from statsmodels.tsa.api import ExponentialSmoothing, SimpleExpSmoothing
from statsmodels.tsa.arima.model import ARIMA
from statsmodels.tsa.seasonal import STL, seasonal_decompose
from statsmodels.tsa.stattools import acf, adfuller, pacf

rng = np.random.default_rng(41)
idx = pd.date_range('2020-01-01', periods=60, freq='MS')
trend = np.linspace(100, 160, 60)
season = 12 * np.sin(2 * np.pi * np.arange(60) / 12)
y = pd.Series(trend + season + rng.normal(0, 3, 60), index=idx, name='passengers')
stat, p, lags, nobs, crit, _ = adfuller(y)
print(f'ADF {stat:.3f} p={p:.3f} lags={lags} stationary={p < 0.05}')
print(acf(y, nlags=4).round(4), pacf(y, nlags=3).round(4))
parts = seasonal_decompose(y, model='additive', period=12)
print(parts.seasonal[:12].round(3).tolist(), parts.trend.isna().sum())
print(STL(y, period=12).fit().trend.iloc[[0, 30, -1]].round(2).tolist())
train, test = y[:-12], y[-12:]
arima = ARIMA(train, order=(1, 1, 1)).fit()
print(arima.params.index.tolist(), arima.model_orders['ar'], arima.nobs)
forecast = arima.get_forecast(3)
print(forecast.predicted_mean.index, forecast.conf_int().shape, forecast.predicted_mean.round(0).tolist())
print(f'AIC about {arima.aic:.0f}')
hw = ExponentialSmoothing(train, trend='add', seasonal='add', seasonal_periods=12).fit()
pred = hw.forecast(12)
print('MAPE below 5%:', (np.abs(pred - test) / test).mean() < 0.05, pred.round(0).tolist()[:3])
print(
    SimpleExpSmoothing(train, initialization_method='estimated')
    .fit(smoothing_level=0.5, optimized=False)
    .forecast(1)
    .round(3)
    .iloc[0]
)
plot_acf(y, lags=20).savefig('acf.png')
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    ARIMA(y.reset_index(drop=True).sample(frac=0.9, random_state=0), order=(1, 0, 0)).fit().forecast(2)
print(sorted({f'{w.category.__name__}: {str(w.message)[:50]}' for w in caught}))
seasonal_decompose(y[:15], period=12)
