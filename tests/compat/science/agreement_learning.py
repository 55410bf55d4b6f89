"""Cases of `agreement.py`: scikit-learn and statsmodels."""

import numpy as np

from agreement_case import case, rng


@case(rtol=1e-7, atol=1e-9)
def sklearn_linear():
    from sklearn.datasets import load_iris, make_regression
    from sklearn.linear_model import BayesianRidge, ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge

    x, y = make_regression(200, 12, noise=3, random_state=0)
    models = [LinearRegression(), Ridge(2.0), Lasso(0.5, tol=1e-10), ElasticNet(0.3, tol=1e-10), BayesianRidge()]
    iris, kind = load_iris(return_X_y=True)
    logistic = LogisticRegression(tol=1e-9, max_iter=5000).fit(iris, kind)
    return [
        [m.fit(x, y).coef_ for m in models],
        [m.score(x, y) for m in models],
        logistic.predict_proba(iris[::20]).round(5),
    ]


@case(rtol=1e-7, atol=1e-9)
def sklearn_forests():
    from sklearn.datasets import load_digits, load_iris, make_friedman1
    from sklearn.ensemble import (
        GradientBoostingRegressor,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.tree import DecisionTreeClassifier

    x, y = load_iris(return_X_y=True)
    digits, which = load_digits(return_X_y=True)
    f, g = make_friedman1(200, random_state=1)
    forest = RandomForestClassifier(40, random_state=0).fit(x, y)
    return [
        forest.feature_importances_, forest.predict_proba(x[::15]), RandomForestRegressor(30, random_state=0).fit(f, g).predict(f[:10]),
        GradientBoostingRegressor(random_state=0, n_estimators=40).fit(f, g).predict(f[:10]), DecisionTreeClassifier(random_state=0).fit(digits[:900], which[:900]).score(digits[900:], which[900:]),
        RandomForestClassifier(30, random_state=0).fit(digits[:900], which[:900]).score(digits[900:], which[900:]), HistGradientBoostingClassifier(max_iter=15, random_state=0).fit(x, y).predict_proba(x[::15]),
    ]  # fmt: skip


@case(rtol=1e-7, atol=1e-9)
def sklearn_clusters():
    from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
    from sklearn.datasets import make_blobs
    from sklearn.metrics import adjusted_rand_score, silhouette_score
    from sklearn.mixture import GaussianMixture

    x, y = make_blobs(400, centers=4, random_state=3)
    means = KMeans(4, n_init=4, random_state=0).fit(x)
    return [
        means.inertia_, means.cluster_centers_[np.argsort(means.cluster_centers_[:, 0])], silhouette_score(x, means.labels_), adjusted_rand_score(y, means.labels_),
        DBSCAN(0.8).fit(x).labels_.max(), adjusted_rand_score(y, AgglomerativeClustering(4).fit_predict(x)), np.sort(GaussianMixture(4, random_state=0).fit(x).means_[:, 1]),
    ]  # fmt: skip


@case(rtol=1e-6, atol=1e-8)
def sklearn_decompositions_and_pipelines():
    from sklearn.compose import ColumnTransformer
    from sklearn.datasets import load_breast_cancer, load_digits, load_iris
    from sklearn.decomposition import PCA, TruncatedSVD
    from sklearn.metrics import classification_report, roc_auc_score
    from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC

    x, y = load_breast_cancer(return_X_y=True)
    digits, _ = load_digits(return_X_y=True)
    iris, kind = load_iris(return_X_y=True)
    pca = PCA(5).fit(digits)
    columns = ColumnTransformer([("n", StandardScaler(), [0, 1]), ("c", OneHotEncoder(handle_unknown="ignore"), [2])])
    a, b, c, d = train_test_split(x, y, random_state=0)
    svc = make_pipeline(StandardScaler(), SVC(probability=False)).fit(a, c)
    grid = GridSearchCV(SVC(), {"C": [0.1, 1, 10]}, cv=3).fit(iris, kind)
    report = classification_report(d, svc.predict(b), output_dict=True)
    return [
        pca.explained_variance_ratio_, np.abs(pca.transform(digits[:4])), TruncatedSVD(4, algorithm="arpack", random_state=0).fit(digits).singular_values_,
        cross_val_score(make_pipeline(StandardScaler(), KNeighborsClassifier()), x, y), svc.decision_function(b[:6]).round(4), roc_auc_score(d, svc.decision_function(b)),
        grid.best_params_["C"], grid.best_score_, report["accuracy"], report["1"]["f1-score"], columns.fit_transform(np.c_[iris[:, :2], kind])[:4],
    ]  # fmt: skip


def frame():
    import pandas as pd

    g = rng(0)
    data = pd.DataFrame({"x": g.normal(size=200), "z": g.normal(size=200), "g": g.choice(list("abc"), 200)})
    data["y"] = 2 * data.x - data.z + g.normal(size=200)
    data["n"] = g.poisson(np.exp(0.3 * data.x))
    data["b"] = (data.y > 0).astype(int)
    return data


@case(rtol=1e-7, atol=1e-9)
def statsmodels_ols_and_glm():
    import statsmodels.api as sm
    import statsmodels.formula.api as smf

    data = frame()
    ols = smf.ols("y ~ x + z + C(g)", data).fit()
    wls = smf.wls("y ~ x", data, weights=1 + data.z**2).fit()
    poisson = smf.glm("n ~ x + z", data, family=sm.families.Poisson()).fit(tol=1e-12)
    logit = smf.logit("b ~ x + z", data).fit(disp=0, tol=1e-12)
    gamma = sm.GLM(
        np.exp(data.y), sm.add_constant(data[["x", "z"]]), family=sm.families.Gamma(sm.families.links.Log())
    ).fit(tol=1e-12)
    return [
        ols.params.values, ols.bse.values, ols.pvalues.values, ols.rsquared, ols.fvalue, ols.aic, ols.conf_int().values, wls.params.values,
        poisson.params.values, poisson.deviance, poisson.llf, logit.params.values, logit.prsquared, logit.llf, gamma.params.values, gamma.scale,
        smf.rlm("y ~ x", data).fit().params.values.round(6), smf.quantreg("y ~ x", data).fit(0.5).params.values.round(5),
        ols.get_robustcov_results("HC3").bse, sm.stats.durbin_watson(ols.resid), sm.stats.anova_lm(ols).values[:3],
    ]  # fmt: skip


@case(rtol=1e-5, atol=1e-5)
def statsmodels_time_series():
    """Maximum likelihood by L-BFGS with numeric gradients: the likelihood agrees far better than the parameters at which it ends."""
    import statsmodels.tsa.api as tsa

    g = rng(5)
    noise = g.normal(size=300)
    y = np.cumsum(noise)
    model = tsa.ARIMA(y, order=(1, 1, 1)).fit()
    sarimax = tsa.SARIMAX(y, order=(2, 0, 0)).fit(disp=0)
    season = np.tile(np.sin(np.arange(12)), 25) + 0.1 * noise
    return [
        model.params, model.forecast(3), sarimax.llf, tsa.stattools.acf(y, nlags=8), tsa.stattools.pacf(y, nlags=5), tsa.adfuller(y)[0], tsa.kpss(noise, nlags=5)[0],
        tsa.seasonal_decompose(season, period=12).seasonal[:12], tsa.SimpleExpSmoothing(y).fit(smoothing_level=0.4, optimized=False).forecast(2),
        tsa.VAR(np.c_[noise, np.roll(noise, 1)]).fit(1).params, tsa.AutoReg(y, 2).fit().params, tsa.stattools.coint(y, y + noise)[0], tsa.STL(season, period=12).fit().trend[::30],
        tsa.ExponentialSmoothing(np.abs(y) + 1, trend="add").fit(smoothing_level=0.5, smoothing_trend=0.1, optimized=False).forecast(2),
    ]  # fmt: skip


@case(rtol=1e-10)
def statsmodels_likelihood():
    """The likelihood itself at fixed parameters: the Kalman filter, without the optimiser."""
    import statsmodels.tsa.api as tsa

    y = np.cumsum(rng(5).normal(size=300))
    return [
        tsa.ARIMA(y, order=(1, 1, 1)).loglike([0.2, -0.1, 1.1]),
        tsa.SARIMAX(y, order=(2, 0, 1)).loglike([0.5, 0.3, 0.1, 1.0]),
    ]
