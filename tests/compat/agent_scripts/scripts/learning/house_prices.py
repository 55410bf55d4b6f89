from dataclasses import dataclass

import numpy as np
from sklearn.datasets import make_regression
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score, root_mean_squared_error
from sklearn.model_selection import KFold, cross_validate, train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor


@dataclass
class Result:
    name: str
    r2: float
    mae: float
    rmse: float

    def __str__(self) -> str:
        return f'{self.name:<26}{self.r2:8.4f}{self.mae:10.3f}{self.rmse:10.3f}'


X, y = make_regression(n_samples=200, n_features=8, n_informative=5, noise=12, random_state=3)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=3)
models = [LinearRegression(), Ridge(1.0), Lasso(0.5), ElasticNet(alpha=0.1), KNeighborsRegressor(5), SVR(C=100)]
models += [
    DecisionTreeRegressor(max_depth=5, random_state=0),
    RandomForestRegressor(50, random_state=0),
    GradientBoostingRegressor(random_state=0),
]
results = []
for model in models:
    pred = model.fit(X_train, y_train).predict(X_test)
    results.append(
        Result(
            type(model).__name__,
            r2_score(y_test, pred),
            mean_absolute_error(y_test, pred),
            root_mean_squared_error(y_test, pred),
        )
    )
for result in sorted(results, key=lambda r: -r.r2):
    print(result)
cv = cross_validate(
    Ridge(), X, y, cv=KFold(4, shuffle=True, random_state=0), scoring=('r2', 'neg_mean_squared_error'), n_jobs=2
)
print(sorted(cv), cv['test_r2'].round(5))
print('zero coefficients:', int((np.abs(models[2].coef_) < 1e-10).sum()), round(models[0].intercept_, 4))
print(f'{mean_squared_error([1, 2], [1, 4]):.1f}')
Ridge(alpha=-1).fit(X, y)
