import pickle
from pathlib import Path

import joblib
import numpy as np
from joblib import Memory, Parallel, delayed
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

X, y = load_wine(return_X_y=True)
model = RandomForestClassifier(n_estimators=30, random_state=0, oob_score=True).fit(X, y)
for path, options in [('model.joblib', {}), ('model.pkl.gz', {'compress': 3}), ('model.xz', {'compress': ('xz', 2)})]:
    try:
        written = joblib.dump(model, path, **options)
        loaded = joblib.load(path)
        print(written, (loaded.predict(X) == model.predict(X)).all(), Path(path).stat().st_size > 5000)
    except Exception as e:
        print(path, type(e).__name__, e)
print(round(model.oob_score_, 4), pickle.loads(pickle.dumps(model)).get_params()['n_estimators'])
hist = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y)
print(hist.score(X, y), hist.n_iter_)


def slow_square(v: int) -> int:
    return v * v


memory = Memory('cache', verbose=0)
cached = memory.cache(slow_square)
print(cached(7), cached(7), cached.check_call_in_cache(7), Path('cache/joblib').is_dir())
print(Parallel(n_jobs=1)(delayed(slow_square)(i) for i in range(5)))
print(Parallel(n_jobs=2)(delayed(np.sqrt)(i) for i in (4, 9)))
print(Parallel(n_jobs=-1, prefer='threads')(delayed(slow_square)(i) for i in range(4)))
print(Parallel(n_jobs=2, backend='loky')(delayed(pow)(2, i) for i in range(4)))
print(list(Parallel(n_jobs=2, return_as='generator')(delayed(slow_square)(i) for i in range(3))))
try:
    Parallel(n_jobs=2)(delayed(int)(t) for t in ['1', 'x'])
except ValueError as e:
    print('ValueError:', e)
print(joblib.hash(np.arange(3)), joblib.cpu_count() >= 1)
joblib.load('missing.joblib')
