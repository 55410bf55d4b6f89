import numpy as np
import pandas as pd
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

rng = np.random.default_rng(77)
normal = rng.normal([50, 30], [5, 3], (200, 2))
odd = np.array([[90, 10], [10, 60], [52, 55], [85, 40]])
X = pd.DataFrame(np.vstack([normal, odd]), columns=['temp', 'pressure']).round(3)
detectors = {
    'isolation forest': IsolationForest(contamination=0.02, random_state=0, n_jobs=-1),
    'lof': LocalOutlierFactor(n_neighbors=15, contamination=0.02),
    'elliptic': EllipticEnvelope(contamination=0.02, random_state=0),
    'svm': OneClassSVM(nu=0.02, gamma='scale'),
}
flags = pd.DataFrame({name: d.fit_predict(X) == -1 for name, d in detectors.items()})
print(flags.sum())
print(flags.tail(4))
z = ((X - X.mean()) / X.std()).abs().max(axis=1)
print('z-score > 3:', z[z > 3].index.tolist())
q1, q3 = X.quantile(0.25), X.quantile(0.75)
iqr = ((X < q1 - 1.5 * (q3 - q1)) | (X > q3 + 1.5 * (q3 - q1))).any(axis=1)
print('IQR:', iqr.sum(), iqr.tail(4).tolist())
votes = flags.sum(axis=1)
print(X[votes >= 3].assign(votes=votes))
forest = detectors['isolation forest']
print(forest.score_samples(X.tail(2)).round(5), forest.offset_.round(5))
forest.predict([[50.0, 30.0]])
forest.predict(X[['pressure', 'temp']])
