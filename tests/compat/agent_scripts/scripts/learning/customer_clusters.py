import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import MinMaxScaler

X, truth = make_blobs(n_samples=240, centers=4, cluster_std=0.9, random_state=11)
X = MinMaxScaler().fit_transform(X)
inertias = {}
for k in range(2, 7):
    km = KMeans(n_clusters=k, n_init=10, random_state=0).fit(X)
    inertias[k] = km.inertia_
    print(f'k={k} inertia={km.inertia_:.4f} silhouette={silhouette_score(X, km.labels_):.4f}')
labels = KMeans(4, n_init=10, random_state=0).fit_predict(X)
print('ARI kmeans', round(adjusted_rand_score(truth, labels), 4))
print('ARI ward', round(adjusted_rand_score(truth, AgglomerativeClustering(4).fit_predict(X)), 4))
db = DBSCAN(eps=0.06, min_samples=5).fit(X)
print('DBSCAN', len(set(db.labels_) - {-1}), 'clusters', (db.labels_ == -1).sum(), 'noise')
gm = GaussianMixture(4, random_state=0).fit(X)
print('GMM', gm.converged_, round(gm.bic(X), 2), np.sort(gm.weights_).round(4))
sizes = pd.Series(labels).value_counts().sort_values().tolist()
print(sizes)
fig, ax = plt.subplots()
ax.scatter(*X.T, c=labels, cmap='tab10')
fig.savefig('clusters.png')
KMeans(n_clusters=5).fit(X[:3])
