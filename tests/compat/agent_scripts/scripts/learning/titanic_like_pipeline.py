import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

rng = np.random.default_rng(0)
n = 300
df = pd.DataFrame(
    {
        'age': rng.normal(30, 12, n).clip(1).round(),
        'fare': rng.exponential(30, n).round(2),
        'sex': rng.choice(['male', 'female'], n),
        'cabin': rng.choice(['A', 'B', 'C'], n),
    }
)
df['survived'] = ((df['sex'] == 'female') * 1.5 + df['fare'] / 40 + rng.normal(0, 0.7, n) > 1.4).astype(int)
df.loc[rng.choice(n, 30, replace=False), 'age'] = np.nan
numeric, categorical = ['age', 'fare'], ['sex', 'cabin']
prep = ColumnTransformer(
    [
        ('num', Pipeline([('impute', SimpleImputer(strategy='median')), ('scale', StandardScaler())]), numeric),
        ('cat', OneHotEncoder(handle_unknown='ignore', sparse_output=False), categorical),
    ]
)
pipe = Pipeline([('prep', prep), ('clf', RandomForestClassifier(random_state=1, n_jobs=-1))])
X, y = df.drop(columns='survived'), df['survived']
print(cross_val_score(pipe, X, y, cv=5, scoring='roc_auc', n_jobs=1).round(4))
grid = GridSearchCV(
    pipe,
    {'clf__n_estimators': [20, 50], 'clf__max_depth': [3, None]},
    cv=StratifiedKFold(3, shuffle=True, random_state=0),
    n_jobs=-1,
)
grid.fit(X, y)
print(grid.best_params_, round(grid.best_score_, 4))
print(pd.DataFrame(grid.cv_results_)[['params', 'mean_test_score', 'rank_test_score']].round(4).to_string())
names = grid.best_estimator_[:-1].get_feature_names_out()
importance = pd.Series(grid.best_estimator_['clf'].feature_importances_, index=names).sort_values(ascending=False)
print(importance.round(4))
print(pipe)
grid.predict(X.drop(columns='cabin'))
