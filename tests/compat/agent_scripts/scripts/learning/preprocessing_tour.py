import numpy as np
import pandas as pd
from sklearn import set_config
from sklearn.feature_selection import RFE, SelectKBest, VarianceThreshold, f_classif, mutual_info_classif
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import (
    KBinsDiscretizer,
    LabelEncoder,
    MultiLabelBinarizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    TargetEncoder,
)

set_config(transform_output='pandas')
df = pd.DataFrame({'x': [1.0, 2, np.nan, 4, 100], 'z': [10, 20, 30, 40, 50]})
print(KNNImputer(n_neighbors=2).fit_transform(df))
print(PolynomialFeatures(2, include_bias=False).fit_transform(df.fillna(0)))
print(PowerTransformer().fit_transform(df[['z']]).round(4), QuantileTransformer(n_quantiles=5).fit_transform(df[['z']]))
set_config(transform_output='default')
colors = np.array([['red'], ['green'], ['red'], ['blue']])
enc = OneHotEncoder(drop='first', sparse_output=False).fit(colors)
print(enc.categories_, enc.transform(colors), enc.get_feature_names_out(['color']))
print(OrdinalEncoder(handle_unknown='use_encoded_value', unknown_value=-1).fit(colors).transform([['blue'], ['pink']]))
le = LabelEncoder().fit(['b', 'a', 'c'])
print(le.transform(['c', 'a']), le.inverse_transform([0, 1]), MultiLabelBinarizer().fit_transform([{'a', 'b'}, {'b'}]))
print(
    KBinsDiscretizer(3, encode='ordinal', strategy='uniform').fit_transform([[0], [1], [5], [9]]).ravel(),
    Normalizer().transform([[3, 4]]),
)
print(TargetEncoder(cv=2, random_state=0, smooth=1.0).fit(colors, [1.0, 2, 3, 4]).encodings_[0].round(5))
rng = np.random.default_rng(0)
X = rng.normal(size=(100, 6))
y = (X[:, 1] + 0.5 * X[:, 4] > 0).astype(int)
best = SelectKBest(f_classif, k=2).fit(X, y)
print(best.get_support(indices=True), best.scores_.round(4), mutual_info_classif(X, y, random_state=0).round(4))
print(RFE(LogisticRegression(), n_features_to_select=2).fit(X, y).ranking_, VarianceThreshold(1.0).fit(X).get_support())
print(OneHotEncoder(drop=['red'], handle_unknown='ignore', sparse_output=False).fit(colors).transform([['pink']]))
le.transform(['zebra'])
